package mutants

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// code is a type-checked package.
type code struct {
	path    string // import path
	dir     string
	exports map[string]string // export data of its imports, by import path
	files   map[string]*file  // files of the package by path
	info    *types.Info
	fset    *token.FileSet
}

type file struct {
	text []byte
	tree *ast.File
}

// load reads the package in a folder relative to the module's root.
func load(root, folder string) (*code, error) {
	c := &code{dir: filepath.Join(root, folder), exports: map[string]string{}, files: map[string]*file{}, fset: token.NewFileSet()}
	args := append([]string{"list", "-export", "-deps", "-json=ImportPath,Export,Dir,GoFiles", "./" + filepath.ToSlash(folder)}, switchImports...)
	out, err := goCommand(root, args...)
	if err != nil {
		return nil, err
	}
	var names []string
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			ImportPath, Export, Dir string
			GoFiles                 []string
		}
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("list the packages of %s: %w", folder, err)
		}
		c.exports[p.ImportPath] = p.Export
		if p.Dir == c.dir {
			c.path, names = p.ImportPath, p.GoFiles
		}
	}
	for _, name := range names {
		path := filepath.Join(c.dir, name)
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		c.files[path] = &file{text: text}
	}
	for path, f := range c.files {
		if f.tree, err = parser.ParseFile(c.fset, path, f.text, parser.ParseComments|parser.SkipObjectResolution); err != nil {
			return nil, err
		}
	}
	c.info = &types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
	var first error
	c.check(c.fset, c.trees(), c.info, func(err types.Error) { first = errors.Join(first, err) })
	return c, first
}

// trees returns the syntax trees of the files.
func (c *code) trees() []*ast.File {
	var out []*ast.File
	for _, f := range c.files {
		out = append(out, f.tree)
	}
	return out
}

// check type-checks files as this package and calls wrong for each error.
func (c *code) check(fset *token.FileSet, files []*ast.File, info *types.Info, wrong func(types.Error)) {
	open := func(path string) (io.ReadCloser, error) {
		if c.exports[path] == "" {
			return nil, fmt.Errorf("no export data for the import %s", path)
		}
		return os.Open(c.exports[path])
	}
	config := types.Config{
		Importer: importer.ForCompiler(fset, "gc", open),
		Error: func(err error) {
			var e types.Error
			if errors.As(err, &e) {
				wrong(e)
			}
		},
	}
	config.Check(c.path, fset, files, info) // wrong has received the errors
}

// goCommand runs the go command in a directory and returns its output.
func goCommand(dir string, args ...string) ([]byte, error) {
	cmd := exec.Command("go", args...)
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go %s: %w\n%s", args[0], err, stderr.Bytes())
	}
	return out, nil
}

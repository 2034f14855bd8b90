package stdlib

import (
	"embed"
	"slices"
	"strings"
	"sync"

	"github.com/concerto-lang/concerto/ast"
)

// parts contains a file for each .conc file: the syntax trees of its parts, so that a program that
// is compiled for the first time does not wait until the library is parsed. A file is a list of
// pairs, the name of a part and its tree. A module, and a .conc file whose declarations belong
// together, is one part without a name. "make gen" writes them.
//
//go:embed parts
var parts embed.FS

var partTexts sync.Map // a func() string for each file name

// encodedPart returns the encoded tree of a part of a file.
func encodedPart(file, name string) (string, bool) {
	return findText(once(&partTexts, file, func() string {
		all, err := parts.ReadFile(partsFile(file))
		if err != nil {
			panic("stdlib: " + err.Error())
		}
		return string(all)
	}), name)
}

// partsFile returns the name of the file with the parts of a .conc file.
func partsFile(file string) string { return "parts/" + strings.TrimSuffix(file, ".conc") + ".bin" }

// findText returns the second text of the pair with a key.
func findText(pairs, key string) (string, bool) {
	for pairs != "" {
		var first, second string
		first, pairs = cut(pairs)
		second, pairs = cut(pairs)
		if first == key {
			return second, true
		}
	}
	return "", false
}

// cut returns the text at the beginning, after its length in three bytes, and the rest.
func cut(s string) (text, rest string) {
	n := int(s[0])<<16 | int(s[1])<<8 | int(s[2])
	return s[3 : 3+n], s[3+n:]
}

func appendText(to []byte, text string) []byte {
	n := len(text)
	return append(append(to, byte(n>>16), byte(n>>8), byte(n)), text...)
}

// EncodedParts returns the texts of the files in parts by their names.
func EncodedParts() (map[string][]byte, error) {
	entries, err := sources.ReadDir(".")
	if err != nil {
		return nil, err
	}
	out := map[string][]byte{}
	for _, e := range entries {
		row, err := rowOf(e.Name())
		if err != nil {
			return nil, err
		}
		tree := parse(e.Name())
		names := []string{""}
		if row.module == "" && !row.whole {
			names = namesOf(tree)
		}
		var all []byte
		for _, name := range names {
			part := *tree
			if name != "" {
				part.Decls = declarationsOf(tree, name)
			}
			all = appendText(appendText(all, name), ast.Encode(&part))
		}
		out[partsFile(e.Name())] = all
	}
	return out, nil
}

// namesOf returns the names of the declarations of a file and of the methods in it.
func namesOf(tree *ast.File) (names []string) {
	add := func(name string) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, d := range tree.Decls {
		impl, ok := d.(*ast.ImplDecl)
		if !ok {
			add(d.Head().Name.Name)
			continue
		}
		for _, m := range impl.Methods {
			add(m.Name.Name)
		}
	}
	return names
}

// declarationsOf returns the declarations with a name, and the impls of the methods with it.
func declarationsOf(tree *ast.File, name string) (decls []ast.Decl) {
	for _, d := range tree.Decls {
		impl, ok := d.(*ast.ImplDecl)
		if !ok {
			if d.Head().Name.Name == name {
				decls = append(decls, d)
			}
			continue
		}
		part := *impl
		part.Methods = slices.DeleteFunc(slices.Clone(impl.Methods), func(m *ast.FnDecl) bool { return m.Name.Name != name })
		if len(part.Methods) > 0 {
			decls = append(decls, &part)
		}
	}
	return decls
}

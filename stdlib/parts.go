package stdlib

import (
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/ast"
)

// partsFile returns the name of the file with the parts of a .conc file.
func partsFile(file string) string { return "parts/" + strings.TrimSuffix(file, ".conc") + ".bin" }

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

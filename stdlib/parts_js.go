package stdlib

import "github.com/concerto-lang/concerto/ast"

// readPart returns the tree of a part of a file, or nil if there is no such part. The playground
// parses the library: its module has no room for the encoded trees.
func readPart(file, name string) *ast.File {
	if name == "" {
		return parse(file)
	}
	part := *load(file, "")
	if part.Decls = declarationsOf(&part, name); part.Decls == nil {
		return nil
	}
	return &part
}

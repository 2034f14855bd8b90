//go:build !js

package stdlib

import (
	"embed"
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

// readPart returns the tree of a part of a file, or nil if there is no such part.
func readPart(file, name string) *ast.File {
	data, ok := encodedPart(file, name)
	if !ok {
		return nil
	}
	return ast.Decode(data, textOf(file))
}

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

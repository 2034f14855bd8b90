package stdlib

import (
	"github.com/concerto-lang/concerto/parser"
	"github.com/concerto-lang/concerto/source"
)

// Parsers gives a function for each library file that parses it anew.
func Parsers() []func() {
	var all []func()
	for i := range files {
		all = append(all, func() { parser.Parse(source.NewFile(files[i].name, textOf(files[i].name).all)) })
	}
	return all
}

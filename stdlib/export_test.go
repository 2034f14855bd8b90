package stdlib

import "github.com/concerto-lang/concerto/parser"

// Parsers returns one function for each library file. The function parses the file again.
func Parsers() []func() {
	var all []func()
	for i := range files {
		all = append(all, func() { parser.Parse(textOf(files[i].name)) })
	}
	return all
}

// Command lexemes generates the JavaScript module with the keywords and operators of the language.
// The parts that highlight programs import the module. Its source is the lexer's table.
package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/lexer"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: lexemes FILE.js")
		os.Exit(2)
	}
	if err := os.WriteFile(os.Args[1], []byte(module()), 0o666); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// module returns the table as a JavaScript module.
func module() string {
	var keywords, operators []string
	for k := range lexer.NumKinds {
		switch info := k.Info(); info.Class {
		case lexer.Keyword:
			keywords = append(keywords, info.Text)
		case lexer.Operator:
			operators = append(operators, info.Text)
		}
	}
	// longer operators come first, because they may begin with shorter ones
	slices.SortStableFunc(operators, func(a, b string) int { return len(b) - len(a) })
	return "// The keywords and operators of the language. Generated from the lexer's table by `make gen`.\n" +
		"export const comment = \"//\";\n" + list("keywords", keywords) + list("operators", operators)
}

func list(name string, texts []string) string {
	for i, s := range texts {
		texts[i] = fmt.Sprintf("%q", s)
	}
	return fmt.Sprintf("export const %s = [%s];\n", name, strings.Join(texts, ", "))
}

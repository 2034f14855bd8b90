// Command lexemes writes what the lexer knows of the language for the parts that show
// programs: keywords and operators, from its table of kinds.
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

// module is the table as a module of JavaScript.
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
	// A long one first: it begins with a short one.
	slices.SortStableFunc(operators, func(a, b string) int { return len(b) - len(a) })
	return "// What the lexer knows of the language: `make gen` writes this.\n" +
		"export const comment = \"//\";\n" + list("keywords", keywords) + list("operators", operators)
}

func list(name string, texts []string) string {
	for i, s := range texts {
		texts[i] = fmt.Sprintf("%q", s)
	}
	return fmt.Sprintf("export const %s = [%s];\n", name, strings.Join(texts, ", "))
}

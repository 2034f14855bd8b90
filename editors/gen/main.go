// Command gen generates the word lists of editors: the TextMate grammar of VS Code and the word
// lists of the other editors. It reads the lexer's table of kinds. For a new reserved word, it
// fails until sorts contains the word. It also generates the JSON Schema of Concerto.toml from the
// table of its keys.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/lexer"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: gen DIRECTORY")
		os.Exit(2)
	}
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func write(dir string) error {
	w, err := sortWords()
	if err != nil {
		return err
	}
	for name, text := range map[string]func(words) ([]byte, error){
		"vscode/syntaxes/concerto.tmLanguage.json": grammar,
		"vscode/schemas/manifest.json":             schema,
		"emacs/concerto-words.el":                  lisp,
		"nvim/syntax/concerto.vim":                 vim,
	} {
		b, err := text(w)
		if err != nil {
			return err
		}
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			return err
		}
		if err := os.WriteFile(file, b, 0o666); err != nil {
			return err
		}
	}
	return nil
}

// words contains the reserved words by sort, and the words that are keywords only in certain
// positions.
type words struct {
	declaration, control, modifier, constant, self []string
}

// sorts maps reserved words to their sort.
var sorts = map[lexer.Kind]string{
	lexer.Let: "declaration", lexer.Const: "declaration", lexer.Fn: "declaration", lexer.Agent: "declaration", lexer.Host: "declaration",
	lexer.Tool: "declaration", lexer.Mcp: "declaration", lexer.Schema: "declaration", lexer.Struct: "declaration", lexer.Enum: "declaration",
	lexer.Trait: "declaration", lexer.Impl: "declaration", lexer.Type: "declaration", lexer.Use: "declaration", lexer.Mod: "declaration",
	lexer.Pipeline: "declaration", lexer.Stage: "declaration", lexer.HashMap: "declaration", lexer.Ledger: "declaration", lexer.Memory: "declaration",
	lexer.If: "control", lexer.Else: "control", lexer.Match: "control", lexer.For: "control", lexer.In: "control", lexer.While: "control",
	lexer.Loop: "control", lexer.Break: "control", lexer.Continue: "control", lexer.Return: "control", lexer.Try: "control",
	lexer.Catch: "control", lexer.Throw: "control", lexer.Await: "control", lexer.Emit: "control", lexer.Listen: "control", lexer.As: "control",
	lexer.Mut: "modifier", lexer.Pub: "modifier", lexer.Async: "modifier",
	lexer.True: "constant", lexer.False: "constant", lexer.Nil: "constant",
	lexer.Self: "self", lexer.SelfType: "self",
}

func sortWords() (w words, err error) {
	of := map[string]*[]string{"declaration": &w.declaration, "control": &w.control, "modifier": &w.modifier, "constant": &w.constant, "self": &w.self}
	for k := range lexer.NumKinds {
		if !k.IsKeyword() {
			continue
		}
		list := of[sorts[k]]
		if list == nil {
			return w, fmt.Errorf("sorts has no entry for the keyword `%s`", k.Info().Text)
		}
		*list = append(*list, k.Info().Text)
	}
	return w, nil
}

// reserved returns all reserved words.
func (w words) reserved() []string {
	return slices.Concat(w.declaration, w.control, w.modifier, w.constant, w.self)
}

// either returns a regular expression that matches any of the words.
func either(all []string) string { return `\b(?:` + strings.Join(all, "|") + `)\b` }

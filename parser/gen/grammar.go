package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/lexer"
)

// leaf is what the package reads by hand wherever a form has a field of a type.
type leaf struct {
	read  string // the expression that reads it
	word  string // what a message calls it
	first string // the condition under which one starts, for those that may be left out
}

var leaves = map[string]leaf{
	"ast.Type":  {read: "p.typ()", word: "a type"},
	"ast.Expr":  {read: "p.expr()", word: "an expression"},
	"paramList": {read: "paramList{p.params(true)}", word: "a parameter"},
	"arguments": {read: "arguments{p.argsUntilParen()}", word: "an argument"},
	"payload":   {read: "p.payload()", first: "p.k == lexer.LParen || p.k == lexer.LBrace"},
	"*bound":    {read: "(*bound)(p.bound())", word: "a name"},
}

// wholeWord is the word of messages for a word that is to stand before `:`.
const wholeWord = "<word>"

// grammar is the forms by their names.
type grammar map[string]*form

// own is the form that a field of type typ holds, nil for a leaf.
func (g grammar) own(typ string) *form { return g[strings.TrimLeft(typ, "[]*")] }

// first gives the condition under which a term of f starts at the current
// token. No test occurs twice in it.
func (g grammar) first(f *form, t *term) string {
	var tests []string
	g.tests(f, t, &tests)
	return strings.Join(tests, " || ")
}

func (g grammar) tests(f *form, t *term, tests *[]string) {
	add := func(test string) {
		if !slices.Contains(*tests, test) {
			*tests = append(*tests, test)
		}
	}
	switch {
	case t.Text != "":
		add(textTest(t.Text))
	case t.Token == "Name":
		add("p.k == lexer.Ident")
	case t.Token == "Word":
		add("p.namesField(p.i)")
	case t.Group != nil:
		for _, s := range t.Group.List {
			g.sequenceTests(f, s, tests)
		}
	case t.Own:
		if own := g.own(f.field(t).typ); own != nil {
			for _, s := range own.rule.List {
				g.sequenceTests(own, s, tests)
			}
		} else {
			add(leaves[f.field(t).typ].first)
		}
	}
}

func (g grammar) sequenceTests(f *form, s *sequence, tests *[]string) {
	for _, t := range s.Terms {
		g.tests(f, t, tests)
		if t.Times == "" {
			return
		}
	}
}

// textTest is the condition under which the current token is a fixed text.
func textTest(quoted string) string {
	text := strings.Trim(quoted, "'")
	if k, ok := lexer.Lookup(text); ok {
		return "p.k == lexer." + k.Info().Name
	}
	return fmt.Sprintf("p.isWord(%q)", text) // a contextual word
}

// wants gives what a message names as expected before these terms of f: what
// may start them, up to the first that cannot be left out.
func (g grammar) wants(f *form, terms []*term) (words []string) {
	for _, t := range terms {
		for _, w := range g.words(f, t) {
			if !slices.Contains(words, w) {
				words = append(words, w)
			}
		}
		if t.Times == "" {
			break
		}
	}
	return words
}

func (g grammar) words(f *form, t *term) (words []string) {
	switch {
	case t.Text != "":
		return []string{"`" + strings.Trim(t.Text, "'") + "`"}
	case t.Token == "Name":
		return []string{"a name"}
	case t.Token == "Word":
		return []string{wholeWord}
	case t.Group != nil:
		for _, s := range t.Group.List {
			words = append(words, g.wants(f, s.Terms)...)
		}
		return words
	}
	if g.own(f.field(t).typ) != nil {
		return []string{"a name"} // with which every form starts that another needs
	}
	return []string{leaves[f.field(t).typ].word}
}

// reaches says whether a form from occurs in itself.
func (g grammar) reaches(from, to *form) bool {
	seen := map[*form]bool{}
	var in func(f *form) bool
	in = func(f *form) bool {
		for _, fd := range f.fields {
			own := g.own(fd.typ)
			if own == nil || seen[own] {
				continue
			}
			seen[own] = true
			if own == to || in(own) {
				return true
			}
		}
		return false
	}
	return from == to || in(from)
}

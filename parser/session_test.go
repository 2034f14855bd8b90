package parser

import (
	"slices"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/source"
)

// An alternative that is only a lookahead makes participle panic while it
// parses (its issue 284).
type lookahead struct {
	Head fixed `parser:"( (?= 'fn') | 'mod' )"`
}

// Whatever participle panics with becomes a diagnostic.
func TestParticiplePanics(t *testing.T) {
	p := open(source.NewFile("main.conc", []byte("fn f() {}")))
	defer p.close()
	var g production[lookahead]
	if p.guard(func() { run(p, &g) }) {
		t.Error("the form was read")
	}
	if ds := p.diags.Sorted(); len(ds) != 1 || ds[0].Message != "unexpected `fn`" || p.nesting != 0 {
		t.Errorf("nesting %d, %s", p.nesting, render(ds))
	}
}

// A panic of ours within a hook is a bug and stays one.
func TestHookPanics(t *testing.T) {
	p := open(source.NewFile("main.conc", []byte("const a = 1;")))
	defer func() {
		if r := recover(); r != "ours" || p.nesting != 0 {
			t.Errorf("recovered %v, nesting %d", r, p.nesting)
		}
	}()
	p.guard(func() {
		run(p, &p.grammar.constant)
		panic("ours")
	})
}

func TestExpectation(t *testing.T) {
	for ebnf, want := range map[string]string{
		`":" TypeExpr`:                      "`:`",
		`(":" TypeExpr)? ("=" X)? ")"`:      "`:` `=` `)`",
		`<name> Generics?`:                  "<name>",
		`("a" | <name> | B) "c"`:            "`a` <name> B",
		`"a"* "b"+ "c"`:                     "`a` `b`",
		`("a"? | "b") "c"`:                  "`a` `b` `c`",
		`(("(" A ")") | ("{" B? "}"))? ";"`: "`(` `{` `;`",
		`"`:                                 "``",
		``:                                  "",
	} {
		got := expectation(`unexpected token "x" (expected ` + ebnf + `)`)
		if !slices.Equal(got, strings.Fields(want)) {
			t.Errorf("%s starts with %q", ebnf, got)
		}
	}
	if got := expectation("something else"); got != nil {
		t.Errorf("no expectation gives %q", got)
	}
}

package spec_test

import (
	"strings"
	"testing"
)

// TestPagesAreRead checks the errors for invalid blocks of a page. Each error contains the line of
// the block.
func TestPagesAreRead(t *testing.T) {
	for text, want := range map[string]string{
		"```concerto\n":                                    "p.md:1: the block is never closed",
		"\n```concreto\n```\n":                             `p.md:2: unknown kind of block "concreto"`,
		"```concerto eror=E0301\n```\n":                    `p.md:1: unknown mark "eror=E0301"`,
		"```concerto error=\n```\n":                        `p.md:1: unknown mark "error="`,
		"```output\n```\n":                                 "p.md:1: there is no program above this output",
		"```concerto norun\n```\n```output\n```\n":         "p.md:3: the program above this block is not run",
		"```concerto\n```\n```output\n```\n```output\n```": "p.md:5: the program has a second block of kind output",
		"```concerto fragment\n```\n```diagnostics\n```\n": "p.md:3: a fragment's lines are counted otherwise: write the function around it",
		"```concerto file=a.conc\n```\n":                   "p.md: no program follows the last files or hosts",
		"```host\n```\n":                                   "p.md:1: write `host NAME`",
		"```toml eror=E0801\n```\n":                        `p.md:1: unknown mark "eror=E0801"`,
		"```json x\n```\n":                                 `p.md:1: unknown mark "x"`,
	} {
		if _, err := parsePage("p.md", text); err == nil || err.Error() != want {
			t.Errorf("parsePage of %q: error %v, want %s", text, err, want)
		}
	}
}

// TestPagesAreCut checks which blocks belong to a program: the files, hosts and manifest above the
// program, and the blocks below it up to the next program.
func TestPagesAreCut(t *testing.T) {
	p, err := parsePage("p.md", strings.ReplaceAll(`
'''toml
a = 1
'''
'''toml page
b = 2
'''
'''concerto file=util.conc
pub fn f() {}
'''
'''host worker
< x
'''
'''concerto fragment warn=W0220
f();
'''
'''output
x
'''
'''console
$ concerto check
'''
'''concerto error=E0301,E0201
'''
'''toml
c = 3
'''
`, "'''", "```"))
	if err != nil || len(p.programs) != 3 {
		t.Fatal(err, len(p.programs))
	}
	a, b, c := p.programs[0], p.programs[1], p.programs[2]
	if a.files["Concerto.toml"] != "a = 1\n" || a.files["util.conc"] == "" || a.hosts["worker"] != "< x\n" ||
		a.files["main.conc"] != "fn main() {\nf();\n}\n" || a.output.text != "x\n" || len(a.consoles) != 1 || a.codes[0] != "W0220" {
		t.Errorf("first program = %+v", a)
	}
	if b.files["Concerto.toml"] != "b = 2\n" || len(b.hosts) > 0 || strings.Join(b.codes, " ") != "E0201 E0301" {
		t.Errorf("second program = %+v", b)
	}
	if !c.manifest || c.files["Concerto.toml"] != "c = 3\n" {
		t.Errorf("third program = %+v", c)
	}
}

// TestElided checks the meaning of `…` on a page. Within a line it matches any part of the line,
// and alone on a line it matches any number of lines. All other text matches only itself.
func TestElided(t *testing.T) {
	for _, x := range []struct {
		shown, printed string
		fits           bool
	}{
		{"a … c\n", "a b c\n", true},
		{"a … c\n", "a b\nc\n", false},
		{"a\n…\nd\n", "a\nb\nc\nd\n", true},
		{"a\n…\nd\n", "a\nd\n", true},
		{"a\n…\nd\n", "a\nb\nc\n", false},
		{"a.c\n", "abc\n", false},
		{"a\n", "a\nb\n", false},
	} {
		if fits := elided(x.shown).MatchString(x.printed); fits != x.fits {
			t.Errorf("elided(%q) matches %q: %v", x.shown, x.printed, fits)
		}
	}
	if got := elide("took …\nid r_…\n", "took 3 ms\nid r_7\nnew\n"); got != "took …\nid r_…\nnew\n" {
		t.Errorf("elide = %q", got)
	}
}

// TestAsTerminal checks that events which a terminal does not print as lines are dropped.
func TestAsTerminal(t *testing.T) {
	printed := `[pipeline:stage_start] Build: test starts
[host:progress] 50 % halfway
[host:decided] Coder: allowed: Bash: ls
[run:progress] 1 of 2 (50 %)
[result] {"host":"Coder"}
`
	if got, want := asTerminal(printed), "[host:decided] Coder: allowed: Bash: ls\n[result] {\"host\":\"Coder\"}\n"; got != want {
		t.Errorf("asTerminal = %q, want %q", got, want)
	}
}

package vm

import (
	"regexp"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/toolname"
	"github.com/concerto-lang/concerto/ir"
)

// TestNamesForModels checks that functions of a server have distinct names that every provider
// accepts, whatever the server calls them: 10 kB, `..`, names that differ only in invisible
// characters, and one that is equal to the name of another for models.
func TestNamesForModels(t *testing.T) {
	long := strings.Repeat("x", 10_000)
	own := []string{long, long + "y", strings.Repeat("é", 5000), "..", "../..", "a\u200bb", "a\u200cb", "a\u2060b", "ab", "a b", "a/b", "a\x00b", "a\xffb", "",
		strings.TrimPrefix(toolname.ForModel("S_.."), "S_")}
	x := &Tool{decl: &toolDecl{info: &ir.Tool{Name: "S"}}}
	for _, name := range own {
		x.Added = append(x.Added, effect.ToolSpec{Name: name})
	}
	valid, names := regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`), map[string]string{}
	all := NamedFunctions([]*Tool{x})
	for i, o := range all {
		if other, found := names[o.Name]; found || !valid.MatchString(o.Name) {
			t.Errorf("the name of %.20q for models is %q, and of %.20q too", own[i], o.Name, other)
		}
		names[o.Name] = own[i]
		for j := range all {
			if all[j].Calls(o.Name) != (i == j) {
				t.Errorf("a call of %q reaches %.20q", o.Name, own[j])
			}
		}
	}
	if len(names) != len(own) {
		t.Errorf("%d names for %d functions", len(names), len(own))
	}
}

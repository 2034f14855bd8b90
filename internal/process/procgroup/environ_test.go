package procgroup

import (
	"os"
	"slices"
	"strings"
	"testing"
)

func TestInherit(t *testing.T) {
	run := []string{
		"PATH=/bin", "LC_ALL=C", "LCD=x", "XDG_RUNTIME_DIR=/run", "http_proxy=p", "SECRET=s", "SECRET_TOO=s", "CONCERTO_LOG=1",
		"CONCERTO_RELAY_SOCK=/s", "CONCERTO_KEY=k", "OTHER=o", "broken", "=C:=x", "EMPTY=",
	}
	keys := map[string]bool{"SECRET": true, "CONCERTO_KEY": true}
	base := []string{"PATH=/bin", "LC_ALL=C", "XDG_RUNTIME_DIR=/run", "http_proxy=p", "CONCERTO_LOG=1"}
	for _, c := range []struct {
		pass   []string
		more   []string // variables that are passed in addition to base
		others []string
	}{
		{nil, nil, []string{"CONCERTO_KEY", "CONCERTO_RELAY_SOCK", "EMPTY", "LCD", "OTHER", "SECRET", "SECRET_TOO"}},
		{[]string{"OTHER"}, []string{"OTHER=o"}, []string{"CONCERTO_KEY", "CONCERTO_RELAY_SOCK", "EMPTY", "LCD", "SECRET", "SECRET_TOO"}},
		{[]string{"SECRET*"}, []string{"SECRET_TOO=s"}, []string{"CONCERTO_KEY", "CONCERTO_RELAY_SOCK", "EMPTY", "LCD", "OTHER", "SECRET"}},
		{[]string{"SECRET*", "SECRET"}, []string{"SECRET=s", "SECRET_TOO=s"}, []string{"CONCERTO_KEY", "CONCERTO_RELAY_SOCK", "EMPTY", "LCD", "OTHER"}},
		{[]string{"*"}, []string{"LCD=x", "SECRET_TOO=s", "OTHER=o", "EMPTY="}, []string{"CONCERTO_KEY", "CONCERTO_RELAY_SOCK", "SECRET"}},
		{[]string{"CONCERTO_RELAY_SOCK", "CONCERTO_KEY"}, []string{"CONCERTO_KEY=k"}, []string{"CONCERTO_RELAY_SOCK", "EMPTY", "LCD", "OTHER", "SECRET", "SECRET_TOO"}},
		{[]string{"*E*T*"}, []string{"SECRET_TOO=s", "EMPTY="}, []string{"CONCERTO_KEY", "CONCERTO_RELAY_SOCK", "LCD", "OTHER", "SECRET"}},
	} {
		passed, others := Inherit{Pass: c.pass, Keys: keys}.Of(run)
		want := slices.DeleteFunc(slices.Clone(run), func(kv string) bool { return !slices.Contains(base, kv) && !slices.Contains(c.more, kv) })
		if !slices.Equal(passed, want) || !slices.Equal(others, c.others) {
			t.Errorf("with Pass %q: passed %q, want %q; withheld %q, want %q", c.pass, passed, want, others, c.others)
		}
	}
}

func TestCovers(t *testing.T) {
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"A", "A", true}, {"A", "AB", false}, {"A*", "A", true}, {"A*", "BA", false}, {"*", "", true}, {"*A", "BA", true},
		{"*A", "AB", false}, {"A*A", "A", false}, {"A*A", "AA", true}, {"A*B*C", "AxBxBxC", true}, {"A*B*C", "AxCxB", false}, {"**", "x", true},
	} {
		if got := matchesPattern(c.pattern, c.name); got != c.want {
			t.Errorf("matchesPattern(%q, %q) = %v", c.pattern, c.name, got)
		}
	}
}

// TestManualListsInherited compares the manual's list of inherited variables with the code.
func TestManualListsInherited(t *testing.T) {
	text, err := os.ReadFile("../../../spec/08-hosts.md")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(text), "inherits these variables of the run's environment:")
	list, without, _ := strings.Cut(list, "It does not inherit ")
	var named []string
	for i, part := range strings.Split(list, "`") {
		if i%2 == 1 {
			named = append(named, part)
			if strings.HasSuffix(part, "_PROXY") {
				named = append(named, strings.ToLower(part))
			}
		}
	}
	slices.Sort(named)
	want := slices.Sorted(slices.Values(inherited))
	if !slices.Equal(named, want) {
		t.Errorf("the manual lists\n%q, want\n%q", named, want)
	}
	for _, name := range neverInherited {
		if before, _, _ := strings.Cut(without, "."); !strings.Contains(before, "`"+name+"`") {
			t.Errorf("the manual does not mention that %s is withheld", name)
		}
	}
}

package toolname

import (
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	for _, name := range []string{"x", "_", "find-text", "Db_2", strings.Repeat("a", 64)} {
		if err := Check(name); err != nil {
			t.Errorf("Check(%q) = %v", name, err)
		}
	}
	for name, want := range map[string]string{
		"":                      "a tool's name is empty",
		"2x":                    `"2x" is no name of a tool: it must match [A-Za-z_][A-Za-z0-9_-]{0,63}`,
		"-x":                    `"-x" is no name of a tool: it must match [A-Za-z_][A-Za-z0-9_-]{0,63}`,
		"a.b":                   `"a.b" is no name of a tool: it must match [A-Za-z_][A-Za-z0-9_-]{0,63}`,
		"é":                     `"é" is no name of a tool: it must match [A-Za-z_][A-Za-z0-9_-]{0,63}`,
		strings.Repeat("a", 65): `the name "aaaaaaaaaaaaaaaa"… has 65 characters, and a tool's name has at most 64`,
	} {
		if err := Check(name); err == nil || err.Error() != want {
			t.Errorf("Check(%q) = %v, want %s", name, err, want)
		}
	}
}

func TestParseRef(t *testing.T) {
	for text, want := range map[string]Ref{"x": {"x", 0}, "x@1": {"x", 1}, "x@20": {"x", 20}} {
		if got, err := ParseRef(text); got != want || err != nil || got.String() != text {
			t.Errorf("ParseRef(%q) = %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"x@", "x@0", "x@01", "x@-1", "x@1.0", "x@a", "@1", "", "x@99999999999999999999"} {
		if got, err := ParseRef(text); err == nil {
			t.Errorf("ParseRef(%q) = %v", text, got)
		}
	}
}

func TestChooses(t *testing.T) {
	for _, c := range []struct {
		filter string
		want   bool
	}{
		{"query", true}, {"query@2", true}, {"query@1", false}, {"Query", false}, {"category:db", true}, {"category:d", false},
		{"category:", false}, {"que", false}, {"", false},
	} {
		if got := Chooses(c.filter, "query", 2, "db"); got != c.want {
			t.Errorf("Chooses(%q) = %v", c.filter, got)
		}
		if bad := CheckFilter(c.filter) != nil; bad != (c.filter == "" || c.filter == "category:") {
			t.Errorf("CheckFilter(%q) = %v", c.filter, bad)
		}
	}
}

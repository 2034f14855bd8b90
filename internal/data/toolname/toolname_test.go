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
		"2x":                    `"2x" is not a valid tool name: it must match [A-Za-z_][A-Za-z0-9_-]{0,63}`,
		"-x":                    `"-x" is not a valid tool name: it must match [A-Za-z_][A-Za-z0-9_-]{0,63}`,
		"a.b":                   `"a.b" is not a valid tool name: it must match [A-Za-z_][A-Za-z0-9_-]{0,63}`,
		"é":                     `"é" is not a valid tool name: it must match [A-Za-z_][A-Za-z0-9_-]{0,63}`,
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

func TestCheckFilter(t *testing.T) {
	for filter, ok := range map[string]bool{"query": true, "query@2": true, "category:db": true, "category:a b": true,
		"": false, "category:": false, "query@0": false, "a b": false, "Category:db": false} {
		if err := CheckFilter(filter); (err == nil) != ok {
			t.Errorf("CheckFilter(%q) = %v", filter, err)
		}
	}
}

package repl

import "testing"

func TestOpen(t *testing.T) {
	for text, want := range map[string]bool{
		"": false, "1 + 2": false, "f(": true, "f(1)": false, "fn f() {": true, "fn f() { [1, }": true, `"("`: false, "// (": false, "/* a": true, `"""` + "\na": true,
		"/// A doc comment.": true, "/// A doc comment.\nfn f() {}": false, "@retry(3)": true, "@retry(3)\nfn f() {}": false, "}": false, "x // (": false,
		`"a`: true, `f("a`: true, "\"a\nb\"": false, `'a b`: true, "'a\nb'": false, `r"a`: true, "r#\"a\"\n\"#": false, `'a: 1`: false, `"a\"`: true, "\"\"\"\na\n\"\"\"": false,
	} {
		if got := IsIncomplete(text); got != want {
			t.Errorf("IsIncomplete(%q) = %v", text, got)
		}
	}
}

func TestRead(t *testing.T) {
	for _, c := range []struct {
		text  string
		decls int
		names string
		tail  bool
	}{
		{"1 + 2", 0, "", true},
		{"let a = 1; a", 0, "a", true},
		{"let (a, Some(b)) = x", 0, "ab", false},
		{"fn f() {} let a = 1;", 1, "a", false},
		{"use std::math; math::sqrt(2.0)", 1, "", true},
		{"for i in xs { f(i); }", 0, "", false},
		{"x = 5", 0, "", false},
		{"agent A uses b { } host H { }", 2, "", false},
	} {
		in := read(Name, c.text)
		names := ""
		for _, n := range in.names {
			names += n
		}
		if len(in.decls) != c.decls || names != c.names || in.tail >= 0 != c.tail {
			t.Errorf("read(%q): %d declarations, names %q, tail %d", c.text, len(in.decls), names, in.tail)
		}
	}
}

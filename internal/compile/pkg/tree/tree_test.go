package tree

import (
	"fmt"
	"strings"
	"testing"
)

// TestTree checks each refusal of a package's content.
func TestTree(t *testing.T) {
	many := make([]Entry, MaxFiles+1)
	large := make([]Entry, 5)
	for i := range many {
		many[i].Name = fmt.Sprintf("f%d", i)
	}
	for i := range large {
		large[i] = Entry{Name: fmt.Sprintf("f%d", i), Size: MaxFileBytes}
	}
	files := func(names ...string) (out []Entry) {
		for _, n := range names {
			out = append(out, Entry{Name: n})
		}
		return out
	}
	for _, c := range []struct {
		entries []Entry
		want    string
	}{
		{files("lib.conc", "Concerto.toml", "a/b.conc", ".github/x", "con1", "nulls.txt", "ä.conc"), ""},
		{[]Entry{{Name: "lib/x.conc", Kind: SymbolicLink}}, "it contains a symbolic link: lib/x.conc"},
		{[]Entry{{Name: "x", Kind: Submodule}}, "it contains a submodule: x"},
		{many, "it contains more than 10,000 files"},
		{many[1:], ""},
		{[]Entry{{Name: "big.bin", Size: MaxFileBytes + 1}}, "big.bin is larger than 16 MiB"},
		{large, "it is larger than 64 MiB"},
		{large[1:], ""},
		{files("README.md", "readme.md"), "README.md and readme.md differ only in case"},
		{files("Lib/a", "lib/b"), "Lib and lib differ only in case"},
		{files("stra\u00dfe", "STRASSE"), "STRASSE and stra\u00dfe differ only in case"},
		{files("\u00e4", "a\u0308"), "a\u0308 and \u00e4 differ only in the Unicode form of their letters"},
	} {
		if got := Check(c.entries); got != c.want {
			t.Errorf("%v: %q, want %q", c.entries[:1], got, c.want)
		}
	}
	for _, name := range []string{"con", "CON", "nul.txt", "a/aux.conc", "com1", "lpt9.x", "com\u00b9", "a\\b", "a\x01", "a\x7f", "a<b", "a>b", "a:b", "a\"b", "a|b", "a?b", "a*b", "a//b", "/a", "a/", "./a", "a/../b", ".git/x", "a/.GIT", "a.", "a ", "\xff", strings.Repeat("x", 241), "con .txt"} {
		if got := Check(files(name)); !strings.HasPrefix(got, "it contains a file name that is not portable: ") {
			t.Errorf("%q: %q", name, got)
		}
	}
}

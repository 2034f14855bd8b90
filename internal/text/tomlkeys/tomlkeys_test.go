package tomlkeys

import (
	"testing"

	"github.com/BurntSushi/toml"
)

func TestDecode(t *testing.T) {
	for text, want := range map[string]string{
		// the library loses a value or merges tables
		"a.b = 1\na = 7\n":                                               "`a` is already defined",
		"a = 7\na.b = 1\n":                                               "`a` is already defined",
		"[p.q]\nz = 1\n[p]\nq.y = 2\n":                                   "`q` is already defined",
		"[[p.q]]\nz = 1\n[p]\nq.y = 2\n":                                 "`q` is already defined",
		"[f]\nc.d = 1\n[f.c]\ne = 2\n":                                   "`f.c` is already defined",
		"a.b.c = 1\n[a]\nd = 1\n":                                        "`a` is already defined",
		"a.b = 1\n[a.b]\n":                                               "`a.b` is already defined",
		"t = {a = 1}\nt.b = 2\n":                                         "`t` is already defined",
		"t = {a = {b = 1}, a.c = 2}\n":                                   "`a` is already defined",
		"t = {a.b = 1, a.b.c = 2}\n":                                     "`a.b` is already defined",
		"t = {a = 1}\n[t.b]\n":                                           "`t` is already defined",
		"l = [{a = 1}]\n[[l]]\n":                                         "`l` is already defined",
		"[a.\"b\\u0020c\"]\n[a.'b c']\n":                                 "`a.\"b c\"` is already defined",
		"d = 1985-06-18T17:04:07+12:60\n":                                `invalid datetime: "1985-06-18T17:04:07+12:60"`,
		"d = [1, 1985-06-18 17:04:07-24:00] # a\n":                       `invalid datetime: "1985-06-18 17:04:07-24:00"`,
		"a.b = 1\na.c = 2\n[x]\ny.z = 1\ny.w = 2\n":                      "",
		"[a.b]\nc = 1\n[a]\nd = 1\n[a.e]\n":                              "",
		"[f]\nc.d = 1\n[f.c.e]\ng = 2\n":                                 "",
		"[[l]]\na.b = 1\n[l.t]\nx = 1\n[[l]]\na.b = 1\n[l.t]\nx = 1\n":   "",
		"[[l.m]]\n[[l.m.n]]\na = 1\n[[l.m]]\n[[l.m.n]]\na = 2\n":         "",
		"s = \"\"\"\na = 1\n\\\"\"\"\"\"\"\na = '''\nb = 1''''\n":        "",
		"a = [ # c = 1 ]\n [1, 2], # ]\n {a = 1}, {a = 2} ]\nb = 1\n":    "",
		"t = {\n a = 1, # x\n b.c = 2,\n}\nd = 1985-06-18T17:04+12:59\n": "",
		"\"a.b\" = 1\na.b = 2\n'' = 1\n":                                 "",
	} {
		var data map[string]any
		if _, err := toml.Decode(text, &data); err != nil && want == "" {
			t.Errorf("%q: the library returns %v", text, err)
		}
		got := ""
		if _, err := check(text); err != nil {
			got = err.(ParseError).Message
		}
		if got != want {
			t.Errorf("%q: error %q, want %q", text, got, want)
		}
	}
}

// FuzzDecode checks that every text is read to its end, and that a text has no violation if each of
// its keys is defined on its own by the library's encoder.
func FuzzDecode(f *testing.F) {
	f.Add("[a.b]\nc = [{x = 1}, 'y']\n[[d]]\n\"\" = '''z'''\n")
	f.Fuzz(func(t *testing.T, text string) {
		_, _ = check(text)
		var data map[string]any
		if _, err := toml.Decode(text, &data); err != nil {
			return
		}
		again, err := toml.Marshal(data)
		if err != nil {
			return
		}
		if _, err := check(string(again)); err != nil {
			t.Fatalf("%q: %v", again, err)
		}
	})
}

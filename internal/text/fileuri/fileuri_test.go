package fileuri

import (
	"net/url"
	"strings"
	"testing"
)

func TestPath(t *testing.T) {
	for _, c := range []struct{ system, uri, want string }{
		{"linux", "file:///x/main.conc", "/x/main.conc"},
		{"linux", "file:///x/a%20b/../main.conc", "/x/main.conc"},
		{"linux", "file://localhost/x", "/x"},
		{"linux", "file://server/share/x", ""},
		{"linux", "file:///c%3A/x", "/c:/x"},
		{"linux", "untitled:Untitled-1", ""},
		{"linux", "file:x", ""},
		{"darwin", "file:///x/caf%C3%A9", "/x/café"},
		{"windows", "file:///c%3A/x/main.conc", `C:\x\main.conc`},
		{"windows", "file:///C:/x/main.conc", `C:\x\main.conc`},
		{"windows", "file:///d%3A", `D:\`},
		{"windows", "file:///d%3A/", `D:\`},
		{"windows", "file:///c%3A/x/./a%20b/", `C:\x\a b`},
		{"windows", "file://server/share/x", `\\server\share\x`},
		{"windows", "file:///x/main.conc", ""},
		{"windows", "file:///1%3A/x", ""},
		{"windows", "file:///c%3Ax", ""},
	} {
		got, ok := Path(c.uri, c.system)
		if ok != (c.want != "") || ok && got != c.want {
			t.Errorf("%s: path of %s = %q, %v, want %q", c.system, c.uri, got, ok, c.want)
		}
	}
}

func TestOf(t *testing.T) {
	for _, c := range []struct{ system, path, want string }{
		{"linux", "/x/a b#c?d%.conc", "file:///x/a%20b%23c%3Fd%25.conc"},
		{"linux", "x", ""},
		{"windows", `C:\x\main.conc`, "file:///c%3A/x/main.conc"},
		{"windows", `c:/x`, "file:///c%3A/x"},
		{"windows", `\\server\share\a b`, "file://server/share/a%20b"},
		{"windows", `\x`, ""},
		{"windows", `x\y`, ""},
		{"windows", `\\`, ""},
	} {
		got, ok := Of(c.path, c.system)
		if ok != (c.want != "") || ok && got != c.want {
			t.Errorf("%s: URI of %s = %q, %v, want %q", c.system, c.path, got, ok, c.want)
		}
	}
}

// FuzzPath checks that the URI of a path leads to the same path.
func FuzzPath(f *testing.F) {
	for _, uri := range []string{"file:///x/a%20b", "file:///c%3A/x", "file://server/share/%25", "file:////x", "file:///c%3A", "file://h%20/x"} {
		f.Add(uri)
	}
	f.Fuzz(func(t *testing.T, uri string) {
		for _, system := range []string{"linux", "windows"} {
			file, ok := Path(uri, system)
			if plain, err := url.PathUnescape(uri); !ok || err != nil || system == windows && strings.Contains(plain, `\`) {
				continue // in a name on Windows, a backslash cannot be distinguished from a separator
			}
			again, ok := Of(file, system)
			if !ok {
				t.Fatalf("%s: %q has the path %q, which has no URI", system, uri, file)
			}
			if back, ok := Path(again, system); !ok || back != file {
				t.Errorf("%s: %q → %q → %q → %q, %v", system, uri, file, again, back, ok)
			}
		}
	})
}

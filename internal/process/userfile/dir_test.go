package userfile

import "testing"

// TestUserDir checks where files of a user are on each system.
func TestUserDir(t *testing.T) {
	for _, c := range []struct {
		system    string
		variables map[string]string
		want      string
	}{
		{"linux", map[string]string{"HOME": "/h"}, "/h/.local/state"},
		{"linux", map[string]string{"HOME": "/h", "XDG_STATE_HOME": "/s"}, "/s"},
		{"linux", map[string]string{"HOME": "/h", "XDG_STATE_HOME": "relative"}, "/h/.local/state"},
		{"linux", map[string]string{"HOME": "relative"}, ""},
		{"darwin", nil, ""},
		{"windows", map[string]string{"LocalAppData": `C:\Users\ada\AppData\Local`, "HOME": "/h"}, `C:\Users\ada\AppData\Local`},
		{"windows", map[string]string{"LocalAppData": `C:\x`, "XDG_STATE_HOME": `D:\s`}, `D:\s`},
		{"windows", nil, ""},
	} {
		if got := userDir(c.system, func(n string) string { return c.variables[n] }, "XDG_STATE_HOME", ".local/state"); got != c.want {
			t.Errorf("%s with %v: %q, want %q", c.system, c.variables, got, c.want)
		}
	}
}

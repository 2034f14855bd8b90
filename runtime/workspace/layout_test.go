package workspace

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRestoreLink checks which files .git are replaced by the file that leads to the repository.
func TestRestoreLink(t *testing.T) {
	dir := t.TempDir()
	l := &Layout{Top: filepath.Join(dir, "top"), Admin: filepath.Join(dir, "admin")}
	mkdir(t, l.Top)
	whole := linkPrefix + l.Admin + "\n"
	for _, c := range []struct {
		name, text string
		restored   bool
	}{
		{"whole", whole, false},
		{"relative", linkPrefix + "../admin\n", false},
		{"other", linkPrefix + dir + "\n", true},
		{"large", linkPrefix + l.Admin + strings.Repeat("/.", maxLink) + "\n", true},
	} {
		write(t, l.Link(), c.text)
		restored, err := l.RestoreLink()
		if err != nil || restored != c.restored {
			t.Errorf("%s: RestoreLink returns %v (error %v), want %v", c.name, restored, err, c.restored)
		}
		want := c.text
		if c.restored {
			want = whole
		}
		if got, err := os.ReadFile(l.Link()); err != nil || string(got) != want {
			t.Errorf("%s: the file contains %.100q (error %v), want %.100q", c.name, got, err, want)
		}
	}
}

package golden

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// recorder is a testing.TB that stores errors instead of failing.
type recorder struct {
	testing.TB
	errors []string
}

func (r *recorder) Helper() {}
func (r *recorder) Errorf(format string, args ...any) {
	r.errors = append(r.errors, format)
}
func (r *recorder) Logf(string, ...any) {}

func archive(t *testing.T, text string) (*Archive, *recorder, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.txtar")
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	r := &recorder{TB: t}
	return Open(r, path), r, path
}

const text = "about\n-- main.conc --\nfn main() {}\n-- ast --\nold\n"

func TestCheck(t *testing.T) {
	a, r, _ := archive(t, text)
	if a.Comment() != "about\n" || a.Input("main.conc") != "fn main() {}\n" || len(a.Sections(".conc")) != 1 {
		t.Errorf("comment, input and sections = %q, %q, %q", a.Comment(), a.Input("main.conc"), a.Sections(".conc"))
	}
	a.Check("ast", "old")
	a.Check("diagnostics", "")
	a.CheckIfPresent("tokens", "something")
	if len(r.errors) != 0 {
		t.Errorf("Check of equal texts reported %q", r.errors)
	}
	a.Check("ast", "new")
	a.Check("diagnostics", "one")
	if len(r.errors) != 2 {
		t.Errorf("Check of two different texts reported %q", r.errors)
	}
}

func TestUpdate(t *testing.T) {
	defer func(old bool) { *update = old }(*update)
	*update = true
	a, r, path := archive(t, text)
	a.Check("ast", "new")
	a.Check("diagnostics", "one")
	a.Close()
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if want := strings.Replace(text, "old", "new", 1) + "-- diagnostics --\none\n"; string(got) != want || len(r.errors) != 0 {
		t.Errorf("archive after -update = %q (errors %q), want %q", got, r.errors, want)
	}
	a = Open(r, path)
	a.Check("diagnostics", "")
	a.Close()
	if a.Has("diagnostics") {
		t.Error("Close did not remove a section without text")
	}
}

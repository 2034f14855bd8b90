package manifest

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto/internal/text/source"
)

// TestEdits checks that an edit changes one line of a manifest and leaves the rest.
func TestEdits(t *testing.T) {
	text := &Dependency{Name: "text", Git: "https://h/text", Tag: "v1.2.0", Version: "v1.2.0"}
	named := func(name string) func(m *Manifest) *Dependency {
		return func(m *Manifest) *Dependency {
			return m.Dependencies[slices.IndexFunc(m.Dependencies, func(d *Dependency) bool { return d.Name == name })]
		}
	}
	add := func(in []byte, _ *Manifest) ([]byte, error) { return AddDependency(in, text) }
	remove := func(name string) func([]byte, *Manifest) ([]byte, error) {
		return func(in []byte, m *Manifest) ([]byte, error) { return RemoveDependency(in, named(name)(m)) }
	}
	set := func(key, value string) func([]byte, *Manifest) ([]byte, error) {
		return func(in []byte, m *Manifest) ([]byte, error) {
			return SetVersion(in, named("text")(m), key, value)
		}
	}
	commit := strings.Repeat("ab", 20)
	line := `text = { git = "https://h/text", tag = "v1.2.0" }`
	for _, c := range []struct {
		name, in string
		edit     func(in []byte, m *Manifest) ([]byte, error)
		want     string
	}{
		{"empty", "", add, "[dependencies]\n" + line + "\n"},
		{"no section", "[project]\nname = \"x\"", add, "[project]\nname = \"x\"\n\n[dependencies]\n" + line + "\n"},
		{"after the last entry", "[dependencies] # ours\n# first\na = { path = \"a\" } # why\n\n# about hosts\n[hosts.x]\ncommand = \"c\"\n", add,
			"[dependencies] # ours\n# first\na = { path = \"a\" } # why\n" + line + "\n\n# about hosts\n[hosts.x]\ncommand = \"c\"\n"},
		{"empty section", "[dependencies]\n\n[project]\nname = \"x\"\n", add, "[dependencies]\n" + line + "\n\n[project]\nname = \"x\"\n"},
		{"no line break at the end", "[dependencies]\na = { path = \"a\" }", add, "[dependencies]\na = { path = \"a\" }\n" + line + "\n"},
		{"CRLF", "[project]\r\nname = \"x\"\r\n[dependencies]\r\na = { path = \"a\" }\r\n", add, "[project]\r\nname = \"x\"\r\n[dependencies]\r\na = { path = \"a\" }\r\n" + line + "\r\n"},
		{"remove", "[dependencies]\n# about a\na = { path = \"a\" } # why\n" + line + "\nb = { path = \"b\" }\n", remove("text"), "[dependencies]\n# about a\na = { path = \"a\" } # why\nb = { path = \"b\" }\n"},
		{"remove the last", "[dependencies]\n" + line, remove("text"), "[dependencies]\n"},
		{"set the tag", "[dependencies]\ntext = { tag = 'v1.2.0', git = \"https://h/text\" } # keep\n", set("tag", "v1.3.0"), "[dependencies]\ntext = { tag = \"v1.3.0\", git = \"https://h/text\" } # keep\n"},
		{"set a commit", "[dependencies]\n" + line + "\n", set("commit", commit), "[dependencies]\ntext = { git = \"https://h/text\", commit = \"" + commit + "\" }\n"},
		{"a section of its own", "[dependencies.text]\ngit = \"https://h/text\"\ntag = \"v1.2.0\" # now\n", set("tag", "v1.3.0"), "[dependencies.text]\ngit = \"https://h/text\"\ntag = \"v1.3.0\" # now\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, _ := Parse(source.NewFile(FileName, []byte(c.in)))
			out, err := c.edit([]byte(c.in), m)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, string(out)); d != "" {
				t.Error(d)
			}
		})
	}
	for _, in := range []string{"dependencies = { a = { path = \"a\" } }\n", "[dependencies.a]\npath = \"a\"\n[dependencies.b]\npath = \"b\"\n"} {
		out, err := AddDependency([]byte(in), text)
		var refused *EditError
		if err == nil {
			if _, l := Parse(source.NewFile(FileName, out)); l.HasErrors() {
				t.Errorf("%q becomes %q, which has errors", in, out)
			}
		} else if !errors.As(err, &refused) || !strings.Contains(err.Error(), "change Concerto.toml yourself") {
			t.Errorf("%q: %v", in, err)
		}
	}
}

// FuzzEdit checks that an edit of any manifest either is refused, or changes only the dependency.
func FuzzEdit(f *testing.F) {
	f.Add("[dependencies]\na = { path = \"a\" }\n")
	f.Add("[project]\nname = \"x\"\n[dependencies.a]\npath = \"a\"\n")
	f.Add("x = '''\n[dependencies]\n'''\n")
	f.Fuzz(func(t *testing.T, text string) {
		m, l := Parse(source.NewFile(FileName, []byte(text)))
		if l.HasErrors() {
			return
		}
		d := &Dependency{Name: "added", Path: "../added"}
		if slices.ContainsFunc(m.Dependencies, func(o *Dependency) bool { return o.Name == d.Name || o.Path == d.Path }) {
			return
		}
		out, err := AddDependency([]byte(text), d)
		if err != nil {
			return
		}
		after, found := Parse(source.NewFile(FileName, out))
		if found.HasErrors() || len(after.Dependencies) != len(m.Dependencies)+1 {
			t.Fatalf("%q becomes %q", text, out)
		}
		i := slices.IndexFunc(after.Dependencies, func(o *Dependency) bool { return o.Name == d.Name })
		if back, err := RemoveDependency(out, after.Dependencies[i]); err == nil {
			if again, _ := Parse(source.NewFile(FileName, back)); len(again.Dependencies) != len(m.Dependencies) {
				t.Fatalf("%q, then %q: the dependency was not removed", text, back)
			}
		}
	})
}

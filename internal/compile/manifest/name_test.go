package manifest

import (
	"testing"

	"github.com/concerto-lang/concerto/internal/compile/repair"
	"github.com/concerto-lang/concerto/internal/text/source"
)

// A section whose name is a key in it is read under that name, and its fix puts the name into the
// header.
func TestNameKeyInSection(t *testing.T) {
	text := "[connections]\nname = \"main\"\nprovider = \"scripted\"\nreplies = [{ text = \"ok\" }]\n"
	f := source.NewFile("Concerto.toml", []byte(text))
	m, found := Parse(f)
	if len(m.Connections) != 1 || m.Connections[0].Name != "main" || m.Nameless {
		t.Errorf("read %v, nameless %v", m.Connections, m.Nameless)
	}
	all := found.Sorted()
	if len(all) != 1 || len(all[0].Fixes) != 1 {
		t.Fatalf("found %v", all)
	}
	want := "[connections.main]\nprovider = \"scripted\"\nreplies = [{ text = \"ok\" }]\n"
	if got := string(repair.Apply(f, all[0].Fixes[0].Edits)); got != want {
		t.Errorf("mended\n%s\nwant\n%s", got, want)
	}
	if m, _ := Parse(source.NewFile("Concerto.toml", []byte("[hosts]\ncommand = \"x\"\n"))); !m.Nameless || len(m.Hosts) != 0 {
		t.Errorf("without any name: %v, nameless %v", m.Hosts, m.Nameless)
	}
}

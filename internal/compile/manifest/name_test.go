package manifest

import (
	"testing"

	"github.com/concerto-lang/concerto/internal/compile/repair"
	"github.com/concerto-lang/concerto/internal/text/source"
)

// TestNameKeyInSection parses the section [connections] with a key name. The connection gets that
// name, and the fix moves the name into the section's header.
func TestNameKeyInSection(t *testing.T) {
	text := "[connections]\nname = \"main\"\nprovider = \"scripted\"\nreplies = [{ text = \"ok\" }]\n"
	f := source.NewFile("Concerto.toml", []byte(text))
	m, found := Parse(f)
	if len(m.Connections) != 1 || m.Connections[0].Name != "main" || m.Nameless {
		t.Errorf("connections = %v, nameless = %v; want one named main", m.Connections, m.Nameless)
	}
	all := found.Sorted()
	if len(all) != 1 || len(all[0].Fixes) != 1 {
		t.Fatalf("diagnostics = %v, want one with one fix", all)
	}
	want := "[connections.main]\nprovider = \"scripted\"\nreplies = [{ text = \"ok\" }]\n"
	if got := string(repair.Apply(f, all[0].Fixes[0].Edits)); got != want {
		t.Errorf("text after the fix\n%s\nwant\n%s", got, want)
	}
	if m, _ := Parse(source.NewFile("Concerto.toml", []byte("[hosts]\ncommand = \"x\"\n"))); !m.Nameless || len(m.Hosts) != 0 {
		t.Errorf("without a key name: hosts = %v, nameless = %v; want none and true", m.Hosts, m.Nameless)
	}
}

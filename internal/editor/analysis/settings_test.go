package analysis

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/text/source"
)

// TestEffectiveSettings checks that the hover of an agent or a host shows the model and the
// timeout, and where each of them is set.
func TestEffectiveSettings(t *testing.T) {
	const manifest = `[connections.rules]
provider = "scripted"
default_model = "usual"
timeout = 30
replies = [{ text = "x" }]

[connections.rules.models]
big = "m-large"

[connections.plain]
provider = "scripted"
replies = [{ text = "x" }]

[hosts.worker]
command = "./w"
timeout = 7
`
	const text = `agent Usual uses rules { }
agent Big uses rules { model: "big", timeout: 5 }
agent Plain uses plain { model: "m" }
host Worker { connector: worker }
fn main() { }
`
	dir := writeTree(t, "-- Concerto.toml --\n"+manifest+"-- main.conc --\n"+text)
	s := New(Options{Folders: []string{dir}}).Snapshot()
	for name, rows := range map[string][]string{
		"Usual":  {"| provider | `scripted` | [connections.rules] |", "| model | `usual` | [connections.rules] |", "| timeout | `30` | [connections.rules] |"},
		"Big":    {"| model | `m-large` | source, by `big` of [connections.rules.models] |", "| timeout | `5` | source |"},
		"Plain":  {"| model | `\"m\"` | source |", "| timeout | `600` | default |"},
		"Worker": {"| timeout | `7` | [hosts.worker] |"},
	} {
		h := s.Hover(context.Background(), filepath.Join(dir, "main.conc"), source.Pos(strings.Index(text, name)))
		for _, row := range rows {
			if h == nil || !strings.Contains(h.Text, row+"\n") && !strings.HasSuffix(h.Text, row) {
				t.Errorf("hover of %s: no row %s in %+v", name, row, h)
			}
		}
	}
}

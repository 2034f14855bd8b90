package runs

import (
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/engine/live"
	"github.com/concerto-lang/concerto/internal/term/terminal"
)

// TestDrawTable checks that no row is wider than the terminal, that texts are cut first, that
// columns are left out from the right, and that control characters are escaped.
func TestDrawTable(t *testing.T) {
	all := []live.State{
		{Run: "r_0123456789abcdef", Program: "triage", State: live.Running, Seconds: 3725, Usage: live.Usage{CostUSD: "0.25"}, Lines: []string{"a line \x1b[2J of the output that is long enough to be cut at 120 columns, as this is"}},
		{Run: "r_2", Program: "世界", State: live.Waiting, Seconds: 7, Pending: []live.Pending{{Type: "question", Channel: "host:question", Text: "Which one?"}}},
	}
	for width := 1; width < 220; width++ {
		rows := drawTable(all, columns, width)
		for _, row := range rows {
			if terminal.Width(row) > width || strings.ContainsRune(row, '\x1b') {
				t.Fatalf("width %d: %q has %d cells", width, row, terminal.Width(row))
			}
		}
		names := strings.Fields(rows[0])
		for i, name := range names {
			if width > 20 && name != columns[i].name {
				t.Errorf("width %d: column %d is %s", width, i, name)
			}
		}
	}
	rows := drawTable(all, columns, 120)
	if !strings.Contains(rows[1], "…  1h02m") || !strings.Contains(rows[2], "Which one?") || !strings.HasSuffix(rows[0], "TOKENS") {
		t.Errorf("rows:\n%s", strings.Join(rows, "\n"))
	}
	if got := drawTable(all, columns, 30); strings.Contains(got[0], "PENDING") || !strings.Contains(got[0], "STATE") {
		t.Errorf("rows in 30 columns:\n%s", strings.Join(got, "\n"))
	}
}

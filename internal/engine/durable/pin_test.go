package durable

import (
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

// TestPinnedBy checks which kinds of effects make a run stay on its machine.
func TestPinnedBy(t *testing.T) {
	var local, shared []string
	for _, row := range effect.Table() {
		q := row.Request()
		if s, ok := q.(interface{ At() *effect.Store }); ok {
			s.At().File = "s.db"
		}
		if pinnedBy(q, false) != "" {
			local = append(local, string(row.Kind))
		}
		if pinnedBy(q, true) != "" {
			shared = append(shared, string(row.Kind))
		}
	}
	if got := strings.Join(shared, " "); got != "exchange.open work.open work.list work.diff work.commit work.run work.remove merge.submit merge.list merge.finish merge.open" {
		t.Errorf("with shared files: %s", got)
	}
	want := "exchange.open fs.write fs.remove fs.make_dir fs.copy fs.move store.read store.write store.add store.delete store.list store.len store.clear store.expire ledger.put ledger.delete ledger.find memory.append memory.list queue.add queue.claim queue.update queue.get queue.wait work.open work.list work.diff work.commit work.run work.remove merge.submit merge.list merge.finish merge.open"
	if got := strings.Join(local, " "); got != want {
		t.Errorf("with local files:\n%s\nwant\n%s", got, want)
	}
	for q, want := range map[effect.Request]string{
		&effect.ExchangeOpen{Host: "claude"}:                    "host claude",
		&effect.WorkCommit{Name: "fix"}:                         "workspace fix",
		&effect.WriteFile{Path: "notes.txt"}:                    "file notes.txt",
		&effect.StoreWrite{Store: effect.Store{File: "s.db"}}:   "store s.db",
		&effect.StoreWrite{Store: effect.Store{Name: "memory"}}: "",
		&effect.QueueWait{Until: 1}:                             "",
		&effect.ReadFile{Path: "notes.txt"}:                     "",
	} {
		if got := pinnedBy(q, false); got != want {
			t.Errorf("%T: %q, want %q", q, got, want)
		}
	}
}

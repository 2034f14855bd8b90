package serve_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/concerto-lang/concerto/internal/record/audit"
)

// TestPagesOfTheAudit checks that a page of the audit log begins where the previous page has ended.
// The server does not read earlier records again, so it does not detect that they were modified; a
// query from the start detects it. A filter counts only the records that match.
func TestPagesOfTheAudit(t *testing.T) {
	file := filepath.Join(t.TempDir(), "audit.log")
	log, err := audit.Open(file, audit.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	for i := range 5 {
		if _, err := log.Append(audit.Record{Run: fmt.Sprintf("r%d", i%2), Kind: "call", Actor: audit.Actor{Type: "agent", Name: "A"}, Subject: []byte(`{}`), Data: []byte(`{}`)}); err != nil {
			t.Fatal(err)
		}
	}
	c := config(t, nil)
	c.Audit = log
	p := connect(t, c)
	p.play(hello + `
→ {"jsonrpc":"2.0","id":2,"method":"audit/query","params":{"limit":2}}
← {"jsonrpc":"2.0","id":2,"result":{"lines":["…\"kind\":\"open\"…","…\"seq\":2,…"],"head":{"seq":6,"hash":"$head"},"next":2}}
→ {"jsonrpc":"2.0","id":3,"method":"audit/query","params":{"limit":2,"session_id":"r0"}}
← {"jsonrpc":"2.0","id":3,"result":{"lines":["…\"seq\":2,…","…\"seq\":4,…"],"head":{"seq":6,"hash":"$head"},"next":4}}
`)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(file, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	if _, err := f.WriteAt([]byte("#"), 0); err != nil {
		t.Fatal(err)
	}
	p.play(`
→ {"jsonrpc":"2.0","id":4,"method":"audit/query","params":{"limit":2,"after":2}}
← {"jsonrpc":"2.0","id":4,"result":{"lines":["…\"seq\":3,…","…\"seq\":4,…"],"head":{"seq":6,"hash":"$head"},"next":4}}
→ {"jsonrpc":"2.0","id":5,"method":"audit/query","params":{"after":4,"session_id":"r0"}}
← {"jsonrpc":"2.0","id":5,"result":{"lines":["…\"seq\":6,…"],"head":{"seq":6,"hash":"$head"}}}
→ {"jsonrpc":"2.0","id":6,"method":"audit/query","params":{"after":3}}
← {"jsonrpc":"2.0","id":6,"error":{"code":-32603,"message":"…:1: seq 1: …"}}
`)
	if _, err := f.WriteAt(text[:1], 0); err != nil {
		t.Fatal(err)
	}
	p.play(`
→ {"jsonrpc":"2.0","id":7,"method":"audit/query","params":{"after":5}}
← {"jsonrpc":"2.0","id":7,"result":{"lines":["…\"seq\":6,…"],"head":{"seq":6,"hash":"$head"}}}
`)
}

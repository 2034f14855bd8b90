package ingest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/relay/protocol"
)

// TestProgramExitsAtOnce runs a program that exits before hostd has committed its events, and that
// reads no acknowledgements. All its events and its exit must be recorded.
func TestProgramExitsAtOnce(t *testing.T) {
	h := start(t, t.TempDir())
	defer h.close()
	const n = 9000
	begin, err := json.Marshal(started)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "POST /source HTTP/1.1\r\nHost: hostd\r\nConnection: Upgrade\r\nUpgrade: %s\r\n%s: 1\r\n\r\n", protocol.SourceUpgrade, protocol.SourceCounts)
	fmt.Fprintf(&b, `{"event":"run.started","data":%s}`+"\n", begin)
	for i := range n {
		fmt.Fprintf(&b, `{"event":"run.emit","data":{"channel":"n","payload":%d,"awaited":false}}`+"\n", i)
	}
	b.WriteString(`{"event":"run.exited","data":{"exit_code":3,"reason":"exited"}}` + "\n")
	c, err := net.Dial("unix", filepath.Join(h.dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Write(b.Bytes()); err != nil {
		t.Fatal(err)
	}
	c.Close()
	_, all := h.waitForText(t, "run.exited")
	if lines := strings.Split(strings.TrimSpace(all), "\n"); len(lines) != n+2 || !strings.Contains(lines[n], fmt.Sprintf(`"payload":%d,`, n-1)) || !strings.Contains(lines[n+1], `"exit_code":3`) {
		t.Errorf("number of events = %d, last event = %q", len(lines), lines[len(lines)-1])
	}
}

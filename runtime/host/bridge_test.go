package host

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/process/procgroup"
	"github.com/concerto-lang/concerto/runtime/host/adapter"
)

// bridgedHost opens the tool bridge of a host. remarks receives the lines that are logged.
func bridgedHost(t *testing.T) (p *process, remarks chan string) {
	t.Helper()
	remarks = make(chan string, 16)
	h := New(Options{Run: &procgroup.Run{Executable: "concerto"}, Log: func(level, line string) { remarks <- level + ": " + line }})
	p = newProcess(h, &Config{Name: "Coder", MaxLine: 1 << 20})
	p.translation = &translation{adapter: adapter.Protocols[adapter.TransportACP].New(adapter.Config{})}
	if err := p.openBridge(""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.bridge.closeBridge)
	return p, remarks
}

// dialBridge connects to a bridge.
func dialBridge(t *testing.T, e *adapter.BridgeEntry) net.Conn {
	t.Helper()
	conn, err := net.Dial("unix", e.Path())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// ping returns a request with the given ID whose answer has about size bytes.
func ping(id, size int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"%s"}`+"\n", id, strings.Repeat("x", size))
}

// TestBridgeDeafClient checks that a client that does not read its answers is disconnected, that
// the disconnection is logged, and that other clients are not affected.
func TestBridgeDeafClient(t *testing.T) {
	p, remarks := bridgedHost(t)
	deaf, other := dialBridge(t, p.bridgeEntry), dialBridge(t, p.bridgeEntry)
	const unreadLimit = 4 << 20
	sent := 0
	for ; ; sent++ {
		if _, err := io.WriteString(deaf, ping(sent, 32<<10)); err != nil {
			break
		}
		if sent<<15 > 8*unreadLimit {
			t.Fatalf("the bridge accepted %d requests of a client that reads no answer, want a closed connection", sent)
		}
	}
	if sent<<15 < unreadLimit {
		t.Errorf("the bridge closed the connection after only %d requests", sent)
	}
	if got := <-remarks; got != "warn: host 'Coder' does not read the answers of its tools; their connection was closed" {
		t.Errorf("log line = %q, want the warning about the closed connection", got)
	}
	io.WriteString(other, ping(7, 1))
	if got, err := bufio.NewReader(other).ReadString('\n'); err != nil || !strings.Contains(got, `"id":7,`) {
		t.Errorf("answer to the other client = %q (error %v), want id 7", got, err)
	}
	p.bridge.closeBridge()
	if _, err := os.Stat(filepath.Dir(p.bridgeEntry.Path())); !os.IsNotExist(err) {
		t.Errorf("the bridge's directory exists after closing: %v", err)
	}
}

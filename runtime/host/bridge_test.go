package host

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/procgroup"
)

// bridgedHost opens a bridge to the tools of a host, whose remarks it hands on.
func bridgedHost(t *testing.T) (b *bridge, remarks chan string) {
	t.Helper()
	remarks = make(chan string, 16)
	h := New(Options{Run: &procgroup.Run{Executable: "concerto"}, Remark: func(level, line string) { remarks <- level + ": " + line }})
	p := newProcess(h, &Config{Name: "Coder", MaxLine: 1 << 20})
	p.words = &translation{a: newACP(vendor{})}
	b, err := h.newBridge(p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.end)
	return b, remarks
}

func (b *bridge) dial(t *testing.T) net.Conn {
	t.Helper()
	conn, err := net.Dial("unix", b.path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// ping is a request whose answer is as long as it is.
func ping(id, size int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"%s"}`+"\n", id, strings.Repeat("x", size))
}

// TestBridgeKeepsOrder: answers come in the order of what they answer, and those that
// were asked for before the asker's last word come all.
func TestBridgeKeepsOrder(t *testing.T) {
	b, _ := bridgedHost(t)
	conn := b.dial(t)
	const asked = 3000
	go func() {
		for i := range asked {
			io.WriteString(conn, ping(i, 1))
		}
		conn.(*net.UnixConn).CloseWrite()
	}()
	in, i := bufio.NewScanner(conn), 0
	for ; in.Scan(); i++ {
		if !strings.Contains(in.Text(), fmt.Sprintf(`"id":%d,`, i)) {
			t.Fatalf("answer %d is %s", i, in.Text())
		}
	}
	if i != asked || in.Err() != nil {
		t.Errorf("%d answers, %v", i, in.Err())
	}
}

// TestBridgeDeafClient: one who leaves its answers unread loses its connection, which is
// said; others do not notice.
func TestBridgeDeafClient(t *testing.T) {
	b, remarks := bridgedHost(t)
	deaf, other := b.dial(t), b.dial(t)
	sent := 0
	for ; ; sent++ {
		if _, err := io.WriteString(deaf, ping(sent, 32<<10)); err != nil {
			break
		}
		if sent<<15 > 8*bridgeLimit {
			t.Fatalf("%d requests are taken, and no answer was read", sent)
		}
	}
	if sent<<15 < bridgeLimit {
		t.Errorf("closed after %d requests", sent)
	}
	if got := <-remarks; got != "warn: host 'Coder' leaves the answers of its tools unread; its connection to them is closed" {
		t.Error(got)
	}
	io.WriteString(other, ping(7, 1))
	if got, err := bufio.NewReader(other).ReadString('\n'); err != nil || !strings.Contains(got, `"id":7,`) {
		t.Error(got, err)
	}
	b.end()
	if _, err := os.Stat(b.dir); !os.IsNotExist(err) {
		t.Errorf("the bridge's directory is left: %v", err)
	}
}

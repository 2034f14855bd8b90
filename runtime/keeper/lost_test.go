//go:build unix

package keeper_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/concerto-lang/concerto/runtime/keeper"
)

// TestKilledWhileStarting kills the first keeper before it is ready. Start must start another one.
func TestKilledWhileStarting(t *testing.T) {
	dir := t.TempDir()
	mark := filepath.Join(dir, "killed")
	c := client(t, dir, 1, func(o *keeper.Options) { o.Env = append(o.Env, "KILLED_ONCE="+mark) })
	conn := start(t, c, 1)
	sendLine(t, conn, keeper.KindSent, "say hello")
	expectLines(t, conn, "hello")
	if _, err := os.Stat(mark); err != nil {
		t.Errorf("no keeper was killed: %v", err)
	}
	if err := c.End(); err != nil {
		t.Error(err)
	}
}

// TestKilledWhileAttaching connects to a keeper that exits after its first message. The run has no
// keeper then, which is not an error of the run: Attach must return no processes and ErrNone, or
// succeed if the loss is only noticed later.
func TestKilledWhileAttaching(t *testing.T) {
	dir := t.TempDir()
	c := client(t, dir, 1)
	start(t, c, 1)
	c.Leave()
	address := filepath.Join(dir, "keeper.json") // of the real keeper, with this machine's boot id
	text, err := os.ReadFile(address)
	if err != nil {
		t.Fatal(err)
	}
	if err := keeper.EndAt(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(address, text, 0o600); err != nil {
		t.Fatal(err)
	}
	var at struct{ Socket string }
	if err := json.Unmarshal(text, &at); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir) // a socket's path has few bytes
	if err := os.Remove(at.Socket); err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", at.Socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			if _, err := bufio.NewReader(conn).ReadString('\n'); err == nil {
				_, _ = conn.Write([]byte(`{"processes":[{"host":"worker","k":7}]}` + "\n"))
			}
			conn.Close()
		}
	}()
	for range 200 {
		all, err := client(t, dir, 2).Attach()
		switch {
		case err == nil:
		case !errors.Is(err, keeper.ErrNone):
			t.Fatalf("Attach() = %v, want ErrNone", err)
		case len(all) == 1 && all[0].K == 7:
			t.Fatalf("Attach() returned %v, a process of the keeper that has exited", all[0].ID)
		}
	}
}

package cli

import (
	"bufio"
	"bytes"
	"net"
	"strings"
	"testing"
)

// TestDapAttach checks that a program started on the command line waits for an editor to attach.
// After the editor detaches, the program continues.
func TestDapAttach(t *testing.T) {
	t.Parallel()
	dir := programs(t, map[string]string{"main.conc": debugged})
	c := command(dir, "run", "--debug", "127.0.0.1:0", "main.conc")
	var out bytes.Buffer
	c.Stdout = &out
	stderr, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stderr)
	lines.Scan()
	_, address, ok := strings.Cut(lines.Text(), "waiting for a debugger on ")
	if !ok {
		t.Fatal(lines.Text())
	}
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	d := &debugger{t: t, dir: dir, in: conn}
	d.readMessages(conn)
	d.ask("initialize", map[string]any{"adapterID": "concerto", "linesStartAt1": true, "columnsStartAt1": true})
	d.event("initialized")
	d.ask("attach", map[string]any{})
	d.refused("launch", map[string]any{"program": "main.conc"})
	d.at(line(place(t, debugged, "call")))
	d.begin()
	d.stops()
	d.ask("evaluate", map[string]any{"expression": "sum = 50", "context": "repl"})
	d.ask("disconnect", nil)
	if err := c.Wait(); err != nil || out.String() != "50 6 a\"b 50 3\n" {
		t.Errorf("exit error %v, output %q", err, out.String())
	}
}

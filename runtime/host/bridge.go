package host

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"github.com/concerto-lang/concerto/internal/ndjson"
)

// bridge is where an agent that takes MCP servers as programs reaches the program's
// tools: a socket in a directory that only this user can enter. `concerto host bridge`
// passes lines on between it and the agent.
type bridge struct {
	p    *process
	dir  string
	at   net.Listener
	path string

	mu      sync.Mutex
	running sync.WaitGroup
	ended   bool
	clients map[int]*bridgeClient
	came    int // how many there were
}

const (
	// socketPath is how long the path of a socket may be, everywhere.
	socketPath = 100
	// bridgeClients is how many may be there at once.
	bridgeClients = 32
)

// newBridge opens a bridge to a process's adapter.
func (h *Hosts) newBridge(p *process) (*bridge, error) {
	switch {
	case runtime.GOOS == "windows":
		return nil, p.cfg.failure("cannot be given its tools: there is no bridge to them on Windows; leave out its tools")
	case h.executable() == "":
		return nil, p.cfg.failure("cannot be given its tools: that needs the program concerto, and its path is not known here: set Options.Executable")
	}
	dir, err := socketDir()
	if err != nil {
		return nil, p.cfg.failure("cannot be given its tools: %v", err)
	}
	b := &bridge{p: p, dir: dir, path: filepath.Join(dir, "tools"), clients: map[int]*bridgeClient{}}
	if b.at, err = net.Listen("unix", b.path); err != nil {
		os.RemoveAll(dir)
		return nil, p.cfg.failure("cannot be given its tools: %v", err)
	}
	b.running.Go(b.accept)
	return b, nil
}

// socketDir makes a directory for a socket, which only this user may enter.
func socketDir() (string, error) {
	dir, err := os.MkdirTemp("", "concerto-")
	if err == nil && len(dir) > socketPath-len("/tools") {
		os.RemoveAll(dir)
		dir, err = os.MkdirTemp("/tmp", "concerto-")
	}
	if err != nil {
		return "", err
	}
	return dir, os.Chmod(dir, 0o700)
}

// executable is the program concerto; "" where it is not known.
func (h *Hosts) executable() string {
	if h.opts.Run == nil {
		return ""
	}
	return h.opts.Run.Executable
}

// entry is how an agent gets there.
func (b *bridge) entry() *bridgeEntry {
	return &bridgeEntry{command: b.p.hosts.executable(), args: []string{"host", "bridge", b.path}}
}

// shown is a line as it is recorded: where the bridge is, is another place each time.
func (b *bridge) shown(line string) string {
	if b == nil {
		return line
	}
	return strings.NewReplacer(b.path, "***CONCERTO_BRIDGE***", b.p.hosts.executable(), "***CONCERTO***").Replace(line)
}

func (b *bridge) accept() {
	for {
		conn, err := b.at.Accept()
		if err != nil {
			return
		}
		b.mu.Lock()
		if b.ended || len(b.clients) >= bridgeClients {
			b.mu.Unlock()
			conn.Close()
			continue
		}
		b.came++
		id, c := b.came, newBridgeClient(conn)
		b.clients[id] = c
		b.running.Go(func() { b.read(id, c) })
		b.running.Go(func() { b.write(id, c) })
		b.mu.Unlock()
	}
}

// read hears what one says until it goes.
func (b *bridge) read(id int, c *bridgeClient) {
	in := ndjson.NewReader(c.conn, b.p.cfg.MaxLine)
	for {
		l, err := in.Next()
		if err != nil {
			break
		}
		b.do(func(a *acp) said { return a.overBridge(id, l.Text) })
	}
	c.finish()
	b.do(func(a *acp) said { return a.leftBridge(id) })
}

// write answers one until it has gone, or leaves too much unread.
func (b *bridge) write(id int, c *bridgeClient) {
	if !c.write() {
		b.unread()
	}
	b.mu.Lock()
	delete(b.clients, id)
	b.mu.Unlock()
}

// do has the adapter translate something, and does what that leads to.
func (b *bridge) do(translate func(a *acp) said) {
	s := b.translated(translate)
	for _, line := range s.ours {
		// Who begins an exchange holds the process and wants the adapter.
		if problem := b.p.inject(line); problem != "" {
			b.translated(func(a *acp) said { return a.refuseBridged(idOf(line), problem) })
		}
	}
}

func (b *bridge) translated(translate func(a *acp) said) said {
	t := b.p.words
	t.mu.Lock()
	defer t.mu.Unlock()
	s := translate(t.a.(*acp))
	b.answer(s.bridged)
	return s
}

// answer sends lines to those who have come. It does not wait for them to be read: who
// leaves too many unread is sent away.
func (b *bridge) answer(all []bridged) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, x := range all {
		if c := b.clients[x.client]; c != nil && !b.ended && !c.put(x.line) {
			delete(b.clients, x.client)
			c.conn.Close() // read and write hear of it
			b.unread()
		}
	}
}

// unread tells that one was sent away.
func (b *bridge) unread() {
	b.p.hosts.remark("warn", b.p.cfg, "leaves the answers of its tools unread; its connection to them is closed")
}

// end closes the bridge, and waits until nobody is on it.
func (b *bridge) end() {
	if b == nil {
		return
	}
	b.mu.Lock()
	b.ended = true
	for _, c := range b.clients {
		c.conn.Close()
	}
	b.mu.Unlock()
	b.at.Close()
	b.running.Wait()
	os.RemoveAll(b.dir)
}

// inject adds a message of ours to the exchange that runs, as if the host had said it.
// It gives why it could not.
func (p *process) inject(line []byte) (problem string) {
	p.mu.Lock()
	in, t := p.cur, p.turn.Load()
	p.mu.Unlock()
	if in == nil || t == nil || t.one || in.refuses() {
		return "no exchange is running"
	}
	var b batch
	m := b.room()
	if err := decode(m, line, nil); err != nil {
		return fmt.Sprintf("the call cannot be read: %v", err)
	}
	b.keep()
	in.put(b, false)
	p.read.role.wake()
	return ""
}

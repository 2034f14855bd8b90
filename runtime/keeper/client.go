package keeper

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/internal/process/holder"
	"github.com/concerto-lang/concerto/internal/process/lockfile"
)

// Options is what New needs.
type Options struct {
	Dir        string        // the run's directory
	Run        string        // its id
	Owner      int64         // which of the run's processes, one after the other, this is: n of its start or resume record
	Executable string        // the program concerto
	Args       []string      // by which it is the keeper; nil: "keeper"
	Env        []string      // of the keeper; for tests
	Orphan     time.Duration // how long the hosts of a run wait for its next process; 0: DefaultOrphan
	Secrets    []Secret      // what is not to stand in its files
}

// Client is a run's end of its keeper. Safe for concurrent use.
type Client struct {
	opts Options

	mu      sync.Mutex
	link    *link // nil: none yet, or it was lost
	left    bool
	secrets []Secret
	lastNumbers    map[string]int64 // the highest number of a host's process, whoever kept it
}

// New makes a client; it starts nothing. The first process starts the keeper.
func New(o Options) *Client {
	if o.Orphan <= 0 {
		o.Orphan = DefaultOrphan
	}
	if o.Args == nil {
		o.Args = []string{"keeper"}
	}
	c := &Client{opts: o, secrets: slices.Clone(o.Secrets), lastNumbers: map[string]int64{}}
	dirs, _ := os.ReadDir(filepath.Join(o.Dir, hostsDir))
	for _, dir := range dirs {
		if id, ok := parseID(dir.Name()); ok {
			c.lastNumbers[id.Host] = max(c.lastNumbers[id.Host], id.K)
		}
	}
	return c
}

// parseID reads what ID.String writes.
func parseID(text string) (id ID, ok bool) {
	at := strings.LastIndexByte(text, '.')
	if at < 0 {
		return id, false
	}
	k, err := strconv.ParseInt(text[at+1:], 10, 64)
	return ID{text[:at], k}, err == nil
}

// Last is the highest number of a host's process so far in the run; 0 when there was none.
func (c *Client) Last(host string) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lastNumbers[host]
}

// Secret tells of one that is found only now.
func (c *Client) Secret(s Secret) {
	c.mu.Lock()
	c.secrets = append(c.secrets, s)
	l := c.link
	c.mu.Unlock()
	if l != nil {
		_ = l.Send(request{Op: opSecrets, Secrets: []Secret{s}}) // a keeper that is lost writes no file
	}
}

// Attach connects to the keeper that the run has, and gives what it keeps. The error is ErrNone when there is
// none any more, ErrFenced, or says why it cannot be reached. What has ended in order, together with its
// keeper, is among the processes given with ErrNone.
func (c *Client) Attach() ([]Process, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l, w, err := c.attachLocked()
	if errors.Is(err, ErrNone) {
		sweepBridges(c.opts.Dir)
		for _, e := range readEnds(c.opts.Dir) {
			w.Processes = append(w.Processes, e.Process)
		}
	}
	if err != nil {
		return w.Processes, err
	}
	c.link = l
	return w.Processes, nil
}

// attachLocked is called with mu.
func (c *Client) attachLocked() (*link, welcome, error) {
	a, err := readAddress(c.opts.Dir)
	if err != nil {
		return nil, welcome{}, err
	}
	conn, w, err := greetConn(c.opts.Dir, a, hello{Token: a.Token, Owner: c.opts.Owner})
	if err != nil {
		return nil, w, err
	}
	for _, p := range w.Processes { // one may have been started after New
		c.lastNumbers[p.Host] = max(c.lastNumbers[p.Host], p.K)
	}
	l := newLink(c, a, conn)
	if err := l.Send(request{Op: opSecrets, Secrets: c.secrets}); err != nil {
		return nil, w, err
	}
	return l, w, nil
}

// readAddress finds the keeper; ErrNone when it cannot be there any more.
func readAddress(dir string) (a address, err error) {
	text, err := os.ReadFile(filepath.Join(dir, addressFile))
	if errors.Is(err, fs.ErrNotExist) {
		return a, ErrNone
	}
	if err == nil {
		err = json.Unmarshal(text, &a)
	}
	if err != nil {
		return a, fmt.Errorf("read %s: %w", filepath.Join(dir, addressFile), err)
	}
	if a.Boot != bootID() {
		return a, ErrNone
	}
	return a, nil
}

// startKeeper starts the keeper, and connects to it. It is called with mu.
func (c *Client) startKeeper() (*link, error) {
	for end := time.Now().Add(firstConnectTimeout); ; time.Sleep(pollInterval) {
		err := launchKeeper(&c.opts, config{Dir: c.opts.Dir, Run: c.opts.Run, Executable: c.opts.Executable, OrphanMS: c.opts.Orphan.Milliseconds(), Owner: c.opts.Owner, Token: newToken()})
		if err != nil && !errors.Is(err, errRunning) {
			return nil, err
		}
		// One that a process before this one has started may be on its way, or about to end.
		l, _, err := c.attachLocked()
		if err == nil || !errors.Is(err, ErrNone) || time.Now().After(end) {
			return l, err
		}
	}
}

// launchKeeper starts the keeper's process, and returns when it can be reached. It has no more of our environment than it
// needs.
func launchKeeper(o *Options, c config) error {
	cmd := &exec.Cmd{Path: o.Executable, Args: append([]string{"concerto"}, o.Args...), Env: append([]string{"GOMAXPROCS=2"}, o.Env...)}
	var r ready
	err := holder.Launch(cmd, filepath.Join(o.Dir, logFile), c, &r)
	switch {
	case err != nil:
		return err
	case r.Held:
		return errRunning
	case r.Error != "":
		return errors.New(r.Error)
	}
	return nil
}

// pollInterval is when it is looked again for a keeper.
const pollInterval = 5 * time.Millisecond

// errRunning says that there is a keeper, or one that is on its way.
var errRunning = errors.New("there is a keeper already")

// ensureLink gives the connection to the keeper, which is started when there is none.
func (c *Client) ensureLink() (*link, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.left:
		return nil, ErrLeft
	case c.link != nil && !c.link.IsLost():
		return c.link, nil
	}
	l, err := c.startKeeper()
	if err != nil {
		return nil, fmt.Errorf("start the keeper of the run's hosts: %w", err)
	}
	c.link = l
	return l, nil
}

// Start starts a process, unless the keeper was told of it before, and connects to it.
// stderr takes the lines of its standard error, from one goroutine; nil drops them.
func (c *Client) Start(spec Spec, stderr func(line string)) (*Conn, error) {
	l, err := c.ensureLink()
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	c.lastNumbers[spec.Host] = max(c.lastNumbers[spec.Host], spec.K)
	c.mu.Unlock()
	conn := l.registerConn(spec.ID, stderr) // it may say something at once
	if _, err := l.request(request{Op: opStart, Spec: &spec}); err != nil {
		l.unregisterConn(conn)
		return nil, err
	}
	return l.openData(conn, 1, spec.LongLine)
}

// Connect connects to a process that is kept, from a line on: 0 for the first that is not
// journaled. longLine is as in a Spec, stderr as for Start. Of a process that has ended with its keeper there are the files. The error is
// ErrNone when nothing is known of it.
func (c *Client) Connect(id ID, from int64, longLine int, stderr func(line string)) (*Conn, error) {
	c.mu.Lock()
	l := c.link
	c.mu.Unlock()
	if l != nil {
		return l.openData(l.registerConn(id, stderr), from, longLine)
	}
	for _, e := range readEnds(c.opts.Dir) {
		if e.ID == id {
			return c.openEnded(e, from, longLine)
		}
	}
	return nil, ErrNone
}

// Processes are those that the keeper of the run in a directory has, or those that have ended with it. It
// disturbs nobody.
func Processes(dir string) ([]Process, error) {
	a, err := readAddress(dir)
	if err == nil {
		conn, w, greeted := greetConn(dir, a, hello{Token: a.Token, Look: true})
		if err = greeted; err == nil {
			return w.Processes, conn.Close()
		}
	}
	if !errors.Is(err, ErrNone) {
		return nil, err
	}
	var all []Process
	for _, e := range readEnds(dir) {
		all = append(all, e.Process)
	}
	return all, nil
}

// EndAt ends the keeper of the run in a directory, whoever started it, and the hosts with it, and returns
// when they are gone. It does nothing when there is none. No other can start one there any more.
func EndAt(dir string) error {
	c := New(Options{Dir: dir, Owner: math.MaxInt64})
	if _, err := c.Attach(); errors.Is(err, ErrNone) {
		return nil
	} else if err != nil {
		return err
	}
	return c.End()
}

// Leave leaves the hosts with the keeper: all connections end, and nothing is started any more.
func (c *Client) Leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.left = true
	if c.link != nil {
		c.link.closeAll()
	}
}

// End ends the keeper, and with it the hosts that are left; it returns when they are gone. It does nothing when
// there is none, or after Leave.
func (c *Client) End() error {
	c.mu.Lock()
	l, left := c.link, c.left
	c.left = true
	c.mu.Unlock()
	if l == nil || left {
		return nil
	}
	if err := l.Send(request{Op: opBye}); err != nil && !errors.Is(err, ErrLost) {
		return err
	}
	<-l.Lost()
	for end := time.Now().Add(grace); time.Now().Before(end); time.Sleep(pollInterval) { // it writes down how they ended
		if unlock, err := lockfile.Lock(filepath.Join(c.opts.Dir, lockFile)); err == nil {
			return unlock()
		}
	}
	return nil
}

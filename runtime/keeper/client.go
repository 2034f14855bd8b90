package keeper

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/internal/process/disk"
	"github.com/concerto-lang/concerto/internal/process/holder"
)

// Options configures New.
type Options struct {
	Dir        string   // directory of the run
	Run        string   // ID of the run
	Owner      int64    // number of this process among the owners of the run: n of its start or resume record
	Executable string   // path of the concerto program
	Args       []string // arguments that start the keeper; nil means "keeper"
	Env        []string // additional environment of the keeper; used by tests
	// how long the hosts wait for the next owner of the run; 0 means DefaultOrphan
	Orphan  time.Duration
	Secrets []Secret // secrets that must not appear in the keeper's files
	System  System   // nil means the real one
}

// Client is the connection of a run to its keeper. It is safe for concurrent use.
type Client struct {
	opts  Options
	files disk.Files // in the directory of the run
	// connecting contains a value while a goroutine connects to the keeper or leaves it. No mutex
	// is locked then, because a keeper may have to be started.
	connecting chan struct{}

	mu          sync.Mutex
	link        *link // nil before the first connection
	left        bool
	secrets     []Secret
	lastNumbers map[string]int64 // highest process number in the run, by host
}

// New returns a Client. The first Start starts the keeper.
func New(o Options) *Client {
	if o.Orphan <= 0 {
		o.Orphan = DefaultOrphan
	}
	if o.Args == nil {
		o.Args = []string{"keeper"}
	}
	if o.System == nil {
		o.System = OS()
	}
	c := &Client{opts: o, files: o.System.Files(o.Dir), connecting: make(chan struct{}, 1), secrets: slices.Clone(o.Secrets), lastNumbers: map[string]int64{}}
	names, _ := c.files.List(hostsDir)
	for _, name := range names {
		if id, ok := parseID(name); ok {
			c.lastNumbers[id.Host] = max(c.lastNumbers[id.Host], id.K)
		}
	}
	return c
}

// parseID parses the output of ID.String.
func parseID(text string) (id ID, ok bool) {
	at := strings.LastIndexByte(text, '.')
	if at < 0 {
		return id, false
	}
	k, err := strconv.ParseInt(text[at+1:], 10, 64)
	return ID{text[:at], k}, err == nil
}

// Last returns the highest process number of a host in the run, or 0 if the host has no process.
func (c *Client) Last(host string) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lastNumbers[host]
}

// Secret adds a secret that became known during the run.
func (c *Client) Secret(s Secret) {
	c.mu.Lock()
	c.secrets = append(c.secrets, s)
	l := c.link
	c.mu.Unlock()
	if l != nil {
		_ = l.Send(request{Op: opSecrets, Secrets: []Secret{s}}) // a lost keeper writes no files
	}
}

// Attach connects to the keeper of the run and returns the keeper's processes. The error is ErrNone
// if the run has no keeper, ErrFenced, or the reason why the keeper cannot be reached. With
// ErrNone, Attach returns the processes for which a keeper that exited normally has written end
// records.
func (c *Client) Attach() ([]Process, error) {
	c.connecting <- struct{}{}
	defer func() { <-c.connecting }()
	w, err := c.attach()
	if errors.Is(err, ErrNone) {
		sweepBridges(c.files)
		for _, e := range readEnds(c.files) {
			w.Processes = append(w.Processes, e.Process)
		}
	}
	return w.Processes, err
}

// attach connects to the keeper of the run. The caller must have filled connecting.
func (c *Client) attach() (welcome, error) {
	a, err := c.readAddress()
	if err != nil {
		return welcome{}, err
	}
	conn, w, err := c.greetConn(a, hello{Token: a.Token, Owner: c.opts.Owner})
	if err != nil {
		return w, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range w.Processes { // an earlier owner of the run may have started processes after New was called
		c.lastNumbers[p.Host] = max(c.lastNumbers[p.Host], p.K)
	}
	l := newLink(c, a, conn)
	if err := l.Send(request{Op: opSecrets, Secrets: c.secrets}); err != nil { // it has just exited
		return welcome{}, errors.Join(ErrNone, err)
	}
	c.link = l
	return w, nil
}

// readAddress reads the address of the keeper. It returns ErrNone if the keeper cannot be running.
func (c *Client) readAddress() (a address, err error) {
	text, err := c.files.Read(addressFile)
	if errors.Is(err, fs.ErrNotExist) {
		return a, ErrNone
	}
	if err == nil {
		err = json.Unmarshal(text, &a)
	}
	if err != nil {
		return a, fmt.Errorf("read %s: %w", c.files.Path(addressFile), err)
	}
	if a.Boot != c.opts.System.Boot() {
		return a, ErrNone
	}
	return a, nil
}

// startKeeper starts the keeper and connects to it. The caller must have filled connecting.
func (c *Client) startKeeper() error {
	for end := time.Now().Add(firstConnectTimeout); ; time.Sleep(pollInterval) {
		err := launchKeeper(&c.opts, config{Dir: c.opts.Dir, Run: c.opts.Run, Executable: c.opts.Executable, OrphanMS: c.opts.Orphan.Milliseconds(), Owner: c.opts.Owner, Token: newToken()})
		switch {
		case errors.Is(err, holder.ErrKilled) && time.Now().Before(end):
			continue
		case err != nil && !errors.Is(err, errRunning):
			return err
		}
		// A keeper that an earlier owner started may be starting or exiting.
		_, err = c.attach()
		if err == nil || !errors.Is(err, ErrNone) || time.Now().After(end) {
			return err
		}
	}
}

// launchKeeper starts the keeper process and returns when it accepts connections.
func launchKeeper(o *Options, c config) error {
	var r ready
	err := o.System.Launch(o, c, &r)
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

// pollInterval is the delay between attempts to connect to a keeper.
const pollInterval = 5 * time.Millisecond

// errRunning means that a keeper is running or starting.
var errRunning = errors.New("a keeper is already running")

// ensureLink returns the connection to the keeper. If the run has no keeper, it starts one.
func (c *Client) ensureLink() (*link, error) {
	c.connecting <- struct{}{}
	defer func() { <-c.connecting }()
	switch l, left := c.currentLink(); {
	case left:
		return nil, ErrLeft
	case l != nil && !l.IsLost():
		return l, nil
	}
	if err := c.startKeeper(); err != nil {
		return nil, fmt.Errorf("could not start the keeper of the run's hosts: %w", err)
	}
	l, _ := c.currentLink()
	return l, nil
}

// currentLink returns the connection to the keeper, or nil, and whether the client has left it.
func (c *Client) currentLink() (l *link, left bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.link, c.left
}

// Start starts a process, unless the keeper has already started it, and connects to it. One
// goroutine calls stderr with the lines of its standard error; nil discards them.
func (c *Client) Start(spec Spec, stderr func(line []byte)) (*Conn, error) {
	l, err := c.ensureLink()
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	c.lastNumbers[spec.Host] = max(c.lastNumbers[spec.Host], spec.K)
	c.mu.Unlock()
	conn := l.registerConn(spec.ID, stderr) // registered before the request, because events may arrive immediately
	if _, err := l.request(request{Op: opStart, Spec: &spec}); err != nil {
		l.unregisterConn(conn)
		return nil, err
	}
	return l.openData(conn, 1, spec.LongLine)
}

// Connect connects to a process of the keeper. It reads the output from the given line; 0 means the
// first line that is not journaled. longLine has the meaning of Spec.LongLine. stderr is used as in
// Start. If the process and the keeper have exited, the output is read from files. For an unknown
// process the error is ErrNone.
func (c *Client) Connect(id ID, from int64, longLine int, stderr func(line []byte)) (*Conn, error) {
	if l, _ := c.currentLink(); l != nil {
		return l.openData(l.registerConn(id, stderr), from, longLine)
	}
	for _, e := range readEnds(c.files) {
		if e.ID == id {
			return c.openEnded(e, from, longLine)
		}
	}
	return nil, ErrNone
}

// Processes returns the processes of the keeper of the run in dir. If the keeper has exited, it
// returns the processes in the end records. It does not affect a connected client.
func Processes(dir string) ([]Process, error) {
	c := New(Options{Dir: dir})
	a, err := c.readAddress()
	if err == nil {
		conn, w, greeted := c.greetConn(a, hello{Token: a.Token, Look: true})
		if err = greeted; err == nil {
			return w.Processes, conn.Close()
		}
	}
	if !errors.Is(err, ErrNone) {
		return nil, err
	}
	var all []Process
	for _, e := range readEnds(c.files) {
		all = append(all, e.Process)
	}
	return all, nil
}

// EndAt ends the keeper of the run in dir together with its hosts, and waits until they have
// exited. If the run has no keeper, EndAt does nothing. Afterwards no keeper can be started there.
func EndAt(dir string) error {
	c := New(Options{Dir: dir, Owner: math.MaxInt64})
	if _, err := c.Attach(); errors.Is(err, ErrNone) {
		return nil
	} else if err != nil {
		return err
	}
	return c.End()
}

// Leave closes all connections, and leaves the hosts running under the keeper, with their output in
// its files. Afterwards no process can be started.
func (c *Client) Leave() {
	c.connecting <- struct{}{}
	defer func() { <-c.connecting }()
	c.mu.Lock()
	l := c.link
	c.left = true
	c.mu.Unlock()
	if l != nil {
		ctx, cancel := context.WithTimeout(context.Background(), storeTimeout)
		defer cancel()
		l.releaseOutputs()
		// without an answer, the keeper stores the output when the connection ends
		_, _ = l.Ask(ctx, func(n int64) any { return request{I: n, Op: opStore} })
		l.closeAll()
	}
}

// storeTimeout limits the wait for a keeper that stores the output of its hosts.
const storeTimeout = time.Second

// End ends the keeper and its hosts, and waits until they have exited. Without a keeper, or after
// Leave, it does nothing.
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
	// wait until the keeper has written its end records
	for end := time.Now().Add(grace); time.Now().Before(end); time.Sleep(pollInterval) {
		if unlock, err := lock(c.files); err == nil {
			return unlock()
		}
	}
	return nil
}

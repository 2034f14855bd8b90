package live

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/concerto-lang/concerto/internal/data/models"
	"github.com/concerto-lang/concerto/internal/record/event"
)

// after is the age of a run at which its socket opens, so that short runs have none.
const after = time.Second

// Options describes the run of a process.
type Options struct {
	Directory string // of the sockets
	Run       string
	Program   string
	Journal   string // directory of a stored run, or ""
	// Usage returns what models and hosts have used so far.
	Usage func() models.Sum
	// Tasks returns the number of running tasks; nil means that they are counted by their events.
	Tasks func() int
	// Answers receives the answers of clients.
	Answers *Answers
	// Cancel ends the run.
	Cancel func()
	// Failed is called if the socket cannot be opened.
	Failed func(error)
}

// Run is a run of this process that others can see.
type Run struct {
	options Options
	tracker *tracker

	watched atomic.Bool // a client has read the state
	mu      sync.Mutex
	timer   *time.Timer
	l       net.Listener
	ended   bool
}

// request is a line that a client sends, and reply the line that it receives.
type (
	request struct {
		Op string `json:"op"` // state, cancel or answer

		// The request to answer, the text of the answer, and the name of the user.
		ID   string `json:"id,omitempty"`
		Host string `json:"host,omitempty"`
		Text string `json:"text,omitempty"`
		By   string `json:"by,omitempty"`
	}
	reply struct {
		State *State `json:"state,omitempty"`
		Error string `json:"error,omitempty"`
	}
)

// Begin makes a run visible after its first second. The caller must call End.
func Begin(o Options) *Run {
	r := &Run{options: o, tracker: newTracker(o.Run, o.Program, o.Journal, os.Getpid(), time.Now())}
	r.timer = time.AfterFunc(after, r.open)
	return r
}

// Sink returns what receives the events of the run.
func (r *Run) Sink() event.Sink { return r.tracker.sink() }

func (r *Run) open() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return
	}
	err := Prepare(r.options.Directory)
	if err == nil {
		r.l, err = listen(socketOf(r.options.Directory, r.options.Run))
	}
	if err != nil {
		r.options.Failed(err)
		return
	}
	l := r.l
	go func() { // ends with End
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go r.serve(c)
		}
	}()
}

// listen creates the socket of a run. It replaces the one of a process that was killed.
func listen(path string) (net.Listener, error) {
	l, err := net.Listen("unix", path)
	if !errors.Is(err, syscall.EADDRINUSE) {
		return l, err
	}
	if c, dialed := dial(path); dialed == nil {
		return nil, errors.Join(err, c.Close())
	} else if !errors.Is(dialed, syscall.ECONNREFUSED) {
		return nil, err
	}
	_ = os.Remove(path) // if it fails, Listen returns the error
	return net.Listen("unix", path)
}

// socketOf returns the path of the socket of a run.
func socketOf(dir, run string) string {
	if len(run) > maxName || strings.ContainsAny(run, "/\\\x00") || run == "" {
		sum := sha256.Sum256([]byte(run))
		run = hex.EncodeToString(sum[:maxName/2])
	}
	return filepath.Join(dir, run+suffix)
}

// limits of a connection
const (
	maxRequest = 64 << 10
	idle       = 10 * time.Second
)

// serve answers the requests of a connection.
func (r *Run) serve(c net.Conn) {
	defer c.Close()
	in := bufio.NewReaderSize(c, 1<<10)
	for {
		if c.SetDeadline(time.Now().Add(idle)) != nil {
			return
		}
		line, err := readLine(in, maxRequest)
		if err != nil || r.hasEnded() {
			return
		}
		var q request
		var out reply
		switch err := json.Unmarshal(line, &q); {
		case err != nil:
			out.Error = "the request is not JSON"
		case q.Op == "state":
			r.watched.Store(true)
			s := r.state(time.Now())
			out.State = &s
		case q.Op == "cancel":
			r.options.Cancel()
		case q.Op == "answer":
			if err := r.answer(&q); err != nil {
				out.Error = err.Error()
			}
		default:
			out.Error = "unknown operation " + q.Op
		}
		text, err := json.Marshal(out)
		if err != nil {
			return
		}
		if _, err := c.Write(append(text, '\n')); err != nil {
			return
		}
	}
}

// answer answers an open request.
func (r *Run) answer(q *request) error {
	e, ok := r.tracker.effectOf(q.ID, q.Host)
	if !ok {
		return errNotOpen
	}
	return r.options.Answers.give(e, q.Text, q.By)
}

// state returns the present state of the run.
func (r *Run) state(now time.Time) State {
	s := r.tracker.snapshot(now)
	s.Usage = UsageOf(r.options.Usage())
	if r.options.Tasks != nil {
		s.Tasks = r.options.Tasks()
	}
	return s
}

// Watched becomes true when a client reads the state for the first time.
func (r *Run) Watched() *atomic.Bool { return &r.watched }

func (r *Run) hasEnded() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ended
}

// End removes the socket.
func (r *Run) End() {
	r.mu.Lock()
	r.ended = true
	r.timer.Stop()
	l := r.l
	r.mu.Unlock()
	if l != nil {
		_ = l.Close() // removes the file
	}
}

package ptyholder

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"

	"github.com/concerto-lang/concerto/internal/process/holder"
)

// request is a message from hostd. A request with a number is answered.
type request struct {
	N      int64  `json:"n,omitempty"`
	Op     string `json:"op"` // attach, taken, input, keys, state, modes, resize or stop
	Acked  int64  `json:"taken,omitempty"`
	ID     string `json:"id,omitempty"`
	SHA256 string `json:"sha256,omitempty"`
	Text   string `json:"text,omitempty"`
	Cols   int64  `json:"cols,omitempty"`
	Rows   int64  `json:"rows,omitempty"`
	Signal string `json:"signal,omitempty"`
	GraceS int64  `json:"grace_s,omitempty"`
}

// response is a message to hostd. It answers a request, or reports the length of the log or the
// exit of the run.
type response struct {
	N      int64  `json:"n,omitempty"`
	State  State  `json:"state,omitempty"`
	SHA256 string `json:"sha256,omitempty"`
	Echo   bool   `json:"echo,omitempty"`
	Secret bool   `json:"secret,omitempty"` // whether the run reads a line without echo
	Error  string `json:"error,omitempty"`
	Out    *int64 `json:"out,omitempty"`
	Exit   *Exit  `json:"exit,omitempty"`
}

// Number returns the number of the request that the response answers.
func (s response) Number() int64 { return s.N }

// Err returns the error in the response, or nil.
func (s response) Err() error {
	if s.Error != "" {
		return errors.New(s.Error)
	}
	return nil
}

// server serves the holder's socket. It serves only the newest connection of hostd.
type server struct {
	k      *runHolder
	listen net.Listener

	mu     sync.Mutex
	hostd  *holder.Peer // the current connection; nil if hostd is not connected
	out    int64        // length of the log that must be reported
	more   *sync.Cond
	closed bool
	quiet  sync.WaitGroup

	late    sync.Mutex // guards the following fields; held only briefly, unlike mu
	settled bool
	answers sync.WaitGroup // counts the responses that respondAsync is sending
}

func newServer(k *runHolder) (*server, error) {
	l, _, err := holder.Listen(".", socketFile)
	if err != nil {
		return nil, fmt.Errorf("listen for hostd: %w", err)
	}
	d := &server{k: k, listen: l}
	d.more = sync.NewCond(&d.mu)
	d.quiet.Add(1)
	go d.reportLoop()
	return d, nil
}

func (d *server) serve() {
	for {
		conn, err := d.listen.Accept()
		if err != nil {
			return // the listener is closed
		}
		c := conn.(*net.UnixConn)
		if isFromRun(c) {
			c.Close() // only hostd may use the socket: a process of the run could impersonate it
			continue
		}
		hostd := holder.NewPeer(c)
		d.mu.Lock()
		if d.hostd != nil {
			d.hostd.Close()
		}
		d.hostd = hostd
		d.mu.Unlock()
		go d.handleConn(c, hostd)
	}
}

func (d *server) handleConn(c io.Reader, hostd *holder.Peer) {
	holder.Requests(c, func(a *request) { d.handle(hostd, a) })
	d.mu.Lock()
	if d.hostd == hostd {
		d.hostd = nil
		d.k.setAcked(0, false) // before the next connection is accepted
	}
	d.mu.Unlock()
	hostd.Close()
}

func (d *server) handle(hostd *holder.Peer, a *request) {
	k := d.k
	answer := response{N: a.N}
	switch a.Op {
	case "attach":
		k.setAcked(a.Acked, true)
		k.mu.Lock()
		out := k.total
		k.mu.Unlock()
		answer.Out = &out
	case "taken":
		k.setAcked(a.Acked, true)
		return
	case "keys":
		k.in.pressKeys(a.Text)
		return
	case "input":
		k.in.submit(a.ID, a.SHA256, a.Text, func(s State, echo bool) {
			d.respondAsync(hostd, response{N: a.N, State: s, Echo: echo})
		})
		return
	case "state":
		answer.State, answer.SHA256 = k.in.state(a.ID)
	case "modes":
		answer.Echo, answer.Secret = k.term.echoes(), k.term.secret()
	case "resize":
		if err := k.term.resize(a.Cols, a.Rows); err != nil {
			answer.Error = err.Error()
		}
	case "stop":
		k.stop(a.Signal, a.GraceS)
	default:
		answer.Error = "there is no " + a.Op
	}
	if a.N != 0 {
		hostd.Send(answer)
	}
}

// respondAsync sends a response in a new goroutine.
func (d *server) respondAsync(hostd *holder.Peer, s response) {
	d.late.Lock()
	defer d.late.Unlock()
	if d.settled {
		return
	}
	d.answers.Add(1)
	go func() {
		defer d.answers.Done()
		hostd.Send(s)
	}()
}

// drain waits until respondAsync has sent all responses. Later calls of respondAsync send nothing.
func (d *server) drain() {
	d.late.Lock()
	d.settled = true
	d.late.Unlock()
	d.answers.Wait()
}

// send sends a message to hostd. It does nothing if hostd is not connected.
func (d *server) send(s response) {
	d.mu.Lock()
	hostd := d.hostd
	d.mu.Unlock()
	if hostd != nil {
		hostd.Send(s)
	}
}

// reportOutput schedules a report of the log's length to hostd. It does not block.
func (d *server) reportOutput(total int64) {
	d.mu.Lock()
	d.out = total
	d.more.Signal()
	d.mu.Unlock()
}

func (d *server) reportLoop() {
	defer d.quiet.Done()
	d.mu.Lock()
	defer d.mu.Unlock()
	for reported := int64(0); ; {
		for d.out == reported && !d.closed {
			d.more.Wait()
		}
		if d.closed {
			return
		}
		reported = d.out
		d.mu.Unlock()
		d.send(response{Out: &reported})
		d.mu.Lock()
	}
}

func (d *server) close() {
	d.listen.Close()
	_ = os.Remove(socketFile)
	d.mu.Lock()
	d.closed = true
	d.more.Broadcast()
	if d.hostd != nil {
		d.hostd.Close()
	}
	d.mu.Unlock()
	d.quiet.Wait()
}

func (k *runHolder) stop(signal string, graceS int64) {
	k.mu.Lock()
	k.stopped = true
	k.mu.Unlock()
	k.term.stop(signal, graceS)
}

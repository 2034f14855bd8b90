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

// asked is a line from hostd. One with a number is answered.
type asked struct {
	N      int64  `json:"n,omitempty"`
	Op     string `json:"op"` // attach, taken, input, keys, state, modes, resize, stop
	Taken  int64  `json:"taken,omitempty"`
	ID     string `json:"id,omitempty"`
	SHA256 string `json:"sha256,omitempty"`
	Text   string `json:"text,omitempty"`
	Cols   int64  `json:"cols,omitempty"`
	Rows   int64  `json:"rows,omitempty"`
	Signal string `json:"signal,omitempty"`
	GraceS int64  `json:"grace_s,omitempty"`
}

// said is a line to hostd: an answer, how long the log is, or the end.
type said struct {
	N      int64  `json:"n,omitempty"`
	State  State  `json:"state,omitempty"`
	SHA256 string `json:"sha256,omitempty"`
	Echo   bool   `json:"echo,omitempty"`
	Secret bool   `json:"secret,omitempty"` // a line is read, and not shown
	Error  string `json:"error,omitempty"`
	Out    *int64 `json:"out,omitempty"`
	Exit   *Exit  `json:"exit,omitempty"`
}

// Number returns the request's number.
func (s said) Number() int64 { return s.N }

// Err returns the shim's error.
func (s said) Err() error {
	if s.Error != "" {
		return errors.New(s.Error)
	}
	return nil
}

// door is the shim's socket, with one hostd at a time: the newest.
type door struct {
	k      *keeper
	listen net.Listener

	mu    sync.Mutex
	hostd *holder.Peer // nil: it is not there
	out   int64        // to be told
	more  *sync.Cond
	over  bool
	quiet sync.WaitGroup

	late    sync.Mutex // held for a moment only, unlike mu
	settled bool
	answers sync.WaitGroup // of answerSoon
}

func openDoor(k *keeper) (*door, error) {
	l, _, err := holder.Listen(".", socketFile)
	if err != nil {
		return nil, fmt.Errorf("listen for hostd: %w", err)
	}
	d := &door{k: k, listen: l}
	d.more = sync.NewCond(&d.mu)
	d.quiet.Add(1)
	go d.tellOn()
	return d, nil
}

func (d *door) serve() {
	for {
		conn, err := d.listen.Accept()
		if err != nil {
			return // closed
		}
		c := conn.(*net.UnixConn)
		if ofRun(c) {
			c.Close() // hostd alone speaks with the shim: the run would speak for itself, and in its place
			continue
		}
		hostd := holder.NewPeer(c)
		d.mu.Lock()
		if d.hostd != nil {
			d.hostd.Close()
		}
		d.hostd = hostd
		d.mu.Unlock()
		go d.hear(c, hostd)
	}
}

func (d *door) hear(c io.Reader, hostd *holder.Peer) {
	holder.Requests(c, func(a *asked) { d.do(hostd, a) })
	d.mu.Lock()
	if d.hostd == hostd {
		d.hostd = nil
		d.k.took(0, false) // before there can be another connection, whose hostd is there
	}
	d.mu.Unlock()
	hostd.Close()
}

func (d *door) do(hostd *holder.Peer, a *asked) {
	k := d.k
	answer := said{N: a.N}
	switch a.Op {
	case "attach":
		k.took(a.Taken, true)
		k.mu.Lock()
		out := k.total
		k.mu.Unlock()
		answer.Out = &out
	case "taken":
		k.took(a.Taken, true)
		return
	case "keys":
		k.in.press(a.Text)
		return
	case "input":
		k.in.take(a.ID, a.SHA256, a.Text, func(s State, echo bool) {
			d.answerSoon(hostd, said{N: a.N, State: s, Echo: echo})
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

// answerSoon answers for those who may not wait.
func (d *door) answerSoon(hostd *holder.Peer, s said) {
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

// settle waits for the answers that are on their way. There are no more of answerSoon behind it.
func (d *door) settle() {
	d.late.Lock()
	d.settled = true
	d.late.Unlock()
	d.answers.Wait()
}

// tell tells hostd something, if it is there.
func (d *door) tell(s said) {
	d.mu.Lock()
	hostd := d.hostd
	d.mu.Unlock()
	if hostd != nil {
		hostd.Send(s)
	}
}

// tellOutput has hostd told how long the log is, soon: who reads the terminal waits for nobody.
func (d *door) tellOutput(total int64) {
	d.mu.Lock()
	d.out = total
	d.more.Signal()
	d.mu.Unlock()
}

func (d *door) tellOn() {
	defer d.quiet.Done()
	d.mu.Lock()
	defer d.mu.Unlock()
	for told := int64(0); ; {
		for d.out == told && !d.over {
			d.more.Wait()
		}
		if d.over {
			return
		}
		told = d.out
		d.mu.Unlock()
		d.tell(said{Out: &told})
		d.mu.Lock()
	}
}

func (d *door) close() {
	d.listen.Close()
	_ = os.Remove(socketFile)
	d.mu.Lock()
	d.over = true
	d.more.Broadcast()
	if d.hostd != nil {
		d.hostd.Close()
	}
	d.mu.Unlock()
	d.quiet.Wait()
}

func (k *keeper) stop(signal string, graceS int64) {
	k.mu.Lock()
	k.stopped = true
	k.mu.Unlock()
	k.term.stop(signal, graceS)
}

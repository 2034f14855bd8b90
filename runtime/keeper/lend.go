package keeper

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"time"

	"github.com/concerto-lang/concerto/runtime/keeper/ring"
)

// lending is the state of a process whose output is read by the client itself, from the pipe of the
// process. The keeper lends the pipe when the client connects, and reclaims it when the client has
// closed its end of the loan's pipe, at the latest by exiting. Until then, the keeper does not read
// the pipe. The output of a process with a bridge cannot be lent, because the keeper inserts lines
// into it. Neither can output that must be stored completely.
type lending struct {
	lends  bool // the output is lent, or about to be
	parked bool // the goroutine that reads the output waits
	loan   *loan
	// the client has damaged the memory of the ring; nil if not
	damaged error
}

// loanFiles is the number of files that the client receives.
const loanFiles = 3

// loan is output that is lent to a client.
type loan struct {
	ring  *ring.Ring
	held  int           // number of bytes in the ring that the keeper has read
	start ring.Position // position in the output at which the ring begins
	// read end of a pipe without content. It ends when the client no longer reads the output.
	ended *os.File
	// The files for the client: the descriptor of the process's pipe, the memory of the ring, and
	// the write end of the loan's pipe.
	output         int
	memory, client *os.File
}

// releaseTimeout is how long the keeper waits for a client that must stop reading the output of a
// process. A client stops immediately, unless its process is stopped.
var releaseTimeout = 10 * time.Second // tests change it

// lendOutput lends the output if this is possible. Otherwise it returns nil. The caller must hold
// mu.
func (h *hosted) lendOutput() (*loan, error) {
	if !ring.Supported || h.spec.Whole || h.spec.Bridge != "" || h.spec.Sandbox != nil && h.spec.Sandbox.Proxy != nil {
		return nil, nil
	}
	h.lends = true
	h.proc.InterruptRead()
	for !h.parked && !h.outputEnded && !h.keeperEnded {
		h.changed.Wait()
	}
	h.proc.ResumeRead()
	var err error
	if !h.outputEnded && !h.keeperEnded && !h.sides.midLine && len(h.held) <= ring.Size/2 {
		h.loan, err = h.openLoan()
	}
	if h.loan == nil {
		h.lends = false
		h.changed.Broadcast()
	}
	return h.loan, err
}

func (h *hosted) openLoan() (*loan, error) {
	r, memory, err := ring.Create()
	if err != nil {
		return nil, err
	}
	ended, held, err := os.Pipe()
	if err != nil {
		r.Close()
		return nil, errors.Join(err, memory.Close())
	}
	output, err := h.proc.LendOutput()
	if err != nil {
		r.Close()
		return nil, errors.Join(err, memory.Close(), ended.Close(), held.Close())
	}
	r.Advance(copy(r.Space(len(h.held)), h.held))
	l := &loan{ring: r, held: len(h.held), start: ring.Position{Bytes: h.out.bytes, Lines: h.out.lines}, ended: ended}
	l.output, l.memory, l.client = output, memory, held
	return l, nil
}

// lendTo lends the output to a client whose feed has begun. It returns nil if the output cannot be
// lent.
func (h *hosted) lendTo(f *feed) *loan {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.feed != f {
		return nil
	}
	l, err := h.lendOutput()
	if err != nil {
		h.keeper.logf("lend the output of %s: %v", h.spec.ID, err)
	}
	return l
}

// sendWelcome sends the answer to hello together with the files of the loan.
func (l *loan) sendWelcome(conn Socket, w *welcome) error {
	w.Lent = true
	text, err := json.Marshal(w)
	if err == nil {
		err = conn.SendFiles(append(text, '\n'), l.output, int(l.memory.Fd()), int(l.client.Fd()))
	}
	return errors.Join(err, l.memory.Close(), l.client.Close())
}

// awaitRelease waits until the client no longer reads the output. It returns false if the client
// does not stop within releaseTimeout after the keeper has begun to end.
func (h *hosted) awaitRelease() bool {
	h.mu.Lock()
	l := h.loan
	h.mu.Unlock()
	if l == nil {
		return true
	}
	_, err := l.ended.Read(make([]byte, 1))
	return !errors.Is(err, os.ErrDeadlineExceeded)
}

// takeBackOutput ends the loan, if there is one. The client has released it.
func (h *hosted) takeBackOutput() {
	h.awaitRelease()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.reclaimOutput()
}

// awaitLastOutput disconnects a client that reads the output of a process that has exited, and
// waits until the keeper has read the rest. It does not wait longer than releaseTimeout.
func (h *hosted) awaitLastOutput() {
	h.mu.Lock()
	l := h.loan
	h.mu.Unlock()
	if l == nil {
		return
	}
	_ = l.ended.SetReadDeadline(time.Now().Add(releaseTimeout)) // if it is closed, the loan has ended
	h.keeper.closeConns()
	h.mu.Lock()
	defer h.mu.Unlock()
	late := false
	t := time.AfterFunc(releaseTimeout, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		late = true
		h.changed.Broadcast()
	})
	defer t.Stop()
	for (h.loan != nil || !h.outputEnded) && !late {
		h.changed.Wait()
	}
}

// reclaimOutput ends the loan, which the client has released. The spool receives the output that
// the client has read and not acknowledged. If the client stays connected, the keeper sends it the
// output that follows. The caller must hold mu.
func (h *hosted) reclaimOutput() {
	l := h.loan
	if l == nil {
		return
	}
	content, err := l.ring.Recover()
	l.ring.Close()
	l.ended.Close()
	h.loan, h.held = nil, nil
	if p := content.Acked; p.Lines > 0 {
		h.out.skip(p.Lines, p.Bytes)
		h.acked = ackTracker{passed: checkpoint{lines: h.out.lines, bytes: h.out.bytes}}
	}
	if content.Lines > 0 {
		h.acked.lines = l.start.Lines + content.Lines
	}
	h.mark = max(h.mark, content.Written)
	f := h.feed
	if f != nil {
		f.sent = math.MaxInt64 // the client has the recovered output already
	}
	h.takeOutput(content.Text, false)
	h.acked.acknowledge(min(h.acked.lines, h.out.lines))
	if f != nil && f == h.feed {
		f.position = filePosition{at: h.out.size, skip: int64(len(h.held))}
		f.sent = h.out.bytes + f.position.skip
	}
	h.proc.ReclaimOutput(content.Acked.Bytes + int64(len(content.Text)-l.held))
	h.lends = false
	h.changed.Broadcast()
	if err != nil {
		h.keeper.logf("%v: %s is killed", err, h.spec.ID)
		h.damaged = err
		h.keeper.workers.Go(func() { h.proc.End(0, nil) })
	}
}

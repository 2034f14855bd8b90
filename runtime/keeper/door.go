package keeper

import (
	"bufio"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/concerto-lang/concerto/internal/process/holder"
)

// helloTimeout limits the wait for the first line of a connection.
const helloTimeout = 10 * time.Second

func (k *keeper) acceptLoop() {
	for {
		conn, err := k.listener.Accept()
		if err != nil {
			return // an error means that the listener is closed
		}
		served := make(chan struct{})
		k.mu.Lock()
		k.conns[conn] = served
		k.mu.Unlock()
		k.workers.Go(func() {
			k.serveConn(conn)
			conn.Close()
			k.mu.Lock()
			delete(k.conns, conn)
			delete(k.admitted, conn)
			delete(k.leaving, conn)
			k.mu.Unlock()
			close(served)
		})
	}
}

// serveConn serves a connection until it is closed.
func (k *keeper) serveConn(conn Socket) {
	_ = conn.SetReadDeadline(time.Now().Add(helloTimeout))
	in := bufio.NewReaderSize(conn, 64<<10)
	var hi hello
	line, err := in.ReadBytes('\n')
	if err != nil || json.Unmarshal(line, &hi) != nil {
		return
	}
	_ = conn.SetReadDeadline(time.Time{})
	answer := func(w welcome) { _ = holder.WriteLine(conn, w) }
	if subtle.ConstantTimeCompare([]byte(hi.Token), []byte(k.Token)) != 1 {
		answer(welcome{Refused: "this is not the token of keeper.json"})
		return
	}
	if hi.Look {
		answer(welcome{Processes: k.processes(false)})
		return
	}
	if err := k.admitOwner(hi.Owner); err != nil {
		answer(welcome{Refused: err.Error(), Fenced: errors.Is(err, ErrFenced)})
		return
	}
	k.mu.Lock()
	k.admitted[conn] = true
	k.mu.Unlock()
	if hi.ID == nil {
		k.serveControl(conn, in)
		return
	}
	h := k.findHosted(*hi.ID)
	if h == nil {
		answer(welcome{Refused: "there is no process " + hi.ID.String()})
		return
	}
	h.serveDataConn(conn, in, &hi)
}

// admitOwner admits a connection of an owner. An owner with a higher number disconnects the others.
// Frames that they have already sent are accepted; they can send no more. The error is ErrFenced if
// the number is too low, or errUnreleased.
func (k *keeper) admitOwner(owner int64) error {
	k.mu.Lock()
	if owner < k.owner {
		defer k.mu.Unlock()
		return ErrFenced
	}
	var all []*hosted
	if owner > k.owner {
		k.owner, all = owner, slices.Clone(k.hosted)
		for c := range k.admitted {
			k.leaving[c] = k.conns[c]
			_, _ = c.CloseRead(), c.CloseWrite() // an already closed connection returns an error
		}
		clear(k.admitted)
	}
	leaving := maps.Clone(k.leaving)
	k.mu.Unlock()
	for _, h := range all {
		h.input.stopThrottling()
	}
	late := time.After(releaseTimeout)
	for _, served := range leaving {
		select {
		case <-served:
		case <-late:
			return errUnreleased
		}
	}
	return nil
}

// errUnreleased means that the process of an earlier owner does not stop to read the output of a
// host.
var errUnreleased = errors.New("the process that executed the run before still reads the output of its hosts: end that process, and try again")

// serveDataConn sends the output of a process and receives frames for its input.
func (h *hosted) serveDataConn(conn Socket, in io.Reader, hi *hello) {
	h.closePrevious()
	h.input.awaitTurn()
	defer h.input.markUnread()
	f, w, err := h.startFeed(conn, hi.From)
	if err != nil {
		_ = holder.WriteLine(conn, welcome{Refused: "its output cannot be read: " + err.Error()})
		return
	}
	defer h.endFeed(f)
	var l *loan
	if hi.Direct {
		l = h.lendTo(f)
	}
	p := h.describe(true)
	w.Process = &p
	if l != nil {
		err = l.sendWelcome(conn, &w)
	} else {
		err = holder.WriteLine(conn, w)
	}
	if err == nil {
		h.keeper.workers.Go(f.sendLoop)
		h.input.readFrames(in)
	}
}

// closePrevious closes the input of the previous data connection.
func (h *hosted) closePrevious() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.feed != nil {
		_ = h.feed.conn.CloseRead() // the connection may already be closed
	}
}

// endFeed closes the feed of a data connection that has ended, with the output that was not sent.
// It waits until the client no longer reads lent output.
func (h *hosted) endFeed(f *feed) {
	if !h.awaitRelease() {
		h.keeper.logf("%s: the process that reads the output does not respond", h.spec.ID)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.reclaimOutput()
	if !f.closed {
		f.closeConn()
	}
}

// notify sends a message to the connected client. Without a client it does nothing.
func (k *keeper) notify(s reply) {
	k.mu.Lock()
	c := k.control
	k.mu.Unlock()
	if c != nil {
		c.Send(s)
	}
}

// processes returns the states of all processes. If script is true, they include the accepted
// frames.
func (k *keeper) processes(script bool) []Process {
	k.mu.Lock()
	all := k.hosted
	k.mu.Unlock()
	out := []Process{}
	for _, h := range all {
		out = append(out, h.describe(script))
	}
	return out
}

// serveControl serves a client's control connection until it is closed.
func (k *keeper) serveControl(conn Socket, in *bufio.Reader) {
	c := holder.NewPeer(conn)
	err := c.Greet(func() any {
		k.mu.Lock()
		if k.control != nil {
			k.control.Close()
		}
		k.control, k.hadClient = c, true
		k.orphanTimer.Stop()
		k.mu.Unlock()
		return welcome{Processes: k.processes(true)}
	})
	if err == nil {
		holder.Requests(in, func(a *request) { k.handleRequest(c, a) })
	}
	k.mu.Lock()
	if k.control == c {
		k.control = nil
		k.orphanTimer = time.AfterFunc(time.Duration(k.OrphanMS)*time.Millisecond, func() { k.beginEnd("no client has reconnected") })
	}
	k.mu.Unlock()
	k.endIfIdle()
}

// storeOutput writes the output of all processes to their files. The client has released it.
func (k *keeper) storeOutput() {
	k.mu.Lock()
	all := slices.Clone(k.hosted)
	k.mu.Unlock()
	for _, h := range all {
		h.takeBackOutput()
		h.mu.Lock()
		h.storeOutput()
		h.mu.Unlock()
	}
}

// storeOutput writes the output to the file from now on. The caller must hold mu.
func (h *hosted) storeOutput() {
	h.out.direct = true
	if err := h.out.flush(); err != nil {
		h.keeper.logf("write the output of %s: %v", h.spec.ID, err) // the next output tries again
	}
}

// handleRequest handles a request. Long operations answer it later.
func (k *keeper) handleRequest(c *holder.Peer, a *request) {
	answer := reply{I: a.I}
	if a.Op == opStart {
		h, err := k.startHosted(*a.Spec)
		if answer.Error = refusalOf(err); err == nil {
			answer.PID = h.proc.Pid()
		}
		c.Send(answer)
		return
	}
	h := k.findHosted(a.ID)
	switch {
	case a.Op == opSecrets:
		k.redactor.addSecrets(a.Secrets)
	case a.Op == opStore:
		k.storeOutput()
	case a.Op == opBye:
		k.beginEnd("the run no longer needs it")
	case h == nil:
		answer.Error = &refusal{Text: "there is no process " + a.ID.String()}
	case a.Op == opEnd, a.Op == opKill:
		k.workers.Go(func() {
			if a.Op == opKill {
				h.killNow()
			}
			h.endProcess(time.Duration(a.GraceMS) * time.Millisecond)
			c.Send(answer)
		})
		return
	case a.Op == opOpen, a.Op == opOutput, a.Op == opAwait, a.Op == opStop, a.Op == opRelease:
		h.handleCommand(c, a)
		return
	default:
		h.handleOp(a, &answer)
	}
	if a.I != 0 {
		c.Send(answer)
	}
}

// handleOp handles a request about a process.
func (h *hosted) handleOp(a *request, answer *reply) {
	switch a.Op {
	case opWritten:
		h.takeBackOutput() // the request for it may follow this request
		answer.Bytes = h.bytesWritten()
	case opUntouched:
		answer.Untouched = h.input.isUntouched(a.After)
	case opStderr:
		answer.Text = h.proc.Stderr()
	case opAck:
		h.acknowledge(a.Line)
	case opReclaim:
		h.takeBackOutput()
	case opCloseInput:
		h.input.closeAfterFrame(a.After)
	default:
		answer.Error = &refusal{Text: "there is no " + string(a.Op)}
	}
}

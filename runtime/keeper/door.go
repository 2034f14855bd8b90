package keeper

import (
	"bufio"
	"crypto/subtle"
	"encoding/json"
	"io"
	"net"
	"slices"
	"time"

	"github.com/concerto-lang/concerto/internal/process/holder"
)

// helloTime is how long who has connected may take to say hello.
const helloTime = 10 * time.Second

func (k *keeper) accept() {
	for {
		conn, err := k.door.Accept()
		if err != nil {
			return // the door is closed
		}
		c, served := conn.(*net.UnixConn), make(chan struct{})
		k.mu.Lock()
		k.conns[c] = served
		k.mu.Unlock()
		k.busy.Go(func() {
			k.greet(c)
			c.Close()
			k.mu.Lock()
			delete(k.conns, c)
			delete(k.admitted, c)
			k.mu.Unlock()
			close(served)
		})
	}
}

// greet serves a connection until it ends.
func (k *keeper) greet(conn *net.UnixConn) {
	_ = conn.SetReadDeadline(time.Now().Add(helloTime))
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
	if !k.admit(hi.Owner, conn) {
		answer(welcome{Refused: ErrFenced.Error(), Fenced: true})
		return
	}
	k.mu.Lock()
	k.admitted[conn] = true
	k.mu.Unlock()
	if hi.ID == nil {
		k.serveControl(conn, in)
		return
	}
	h := k.find(*hi.ID)
	if h == nil {
		answer(welcome{Refused: "there is no process " + hi.ID.String()})
		return
	}
	h.serveData(conn, in, hi.From)
}

// admit says whether an owner may be served. One with a higher number has the others' connections
// cut off: what they have said so far is taken first, and nothing behind it.
func (k *keeper) admit(owner int64, conn *net.UnixConn) bool {
	k.mu.Lock()
	if owner <= k.owner {
		defer k.mu.Unlock()
		return owner == k.owner
	}
	k.owner = owner
	others := map[*net.UnixConn]chan struct{}{}
	for c, served := range k.conns {
		if k.admitted[c] {
			others[c] = served
		}
	}
	clear(k.admitted)
	all := slices.Clone(k.hosted)
	k.mu.Unlock()
	for c := range others {
		_, _ = c.CloseRead(), c.CloseWrite() // of one that has gone there is nothing to close
	}
	for _, h := range all {
		h.input.rush()
	}
	for _, served := range others {
		<-served
	}
	return true
}

// serveData hands on a process's output, and takes what is said to it.
func (h *hosted) serveData(conn *net.UnixConn, in io.Reader, from int64) {
	h.cut()
	h.input.next()
	f, w, err := h.attach(conn, from)
	if err != nil {
		_ = holder.WriteLine(conn, welcome{Refused: "its output cannot be read: " + err.Error()})
		h.input.deaf()
		return
	}
	p := h.known(true)
	w.Process = &p
	if holder.WriteLine(conn, w) != nil {
		h.input.deaf()
		h.leave(f)
		return
	}
	h.keeper.busy.Go(f.run)
	h.input.hear(in)
	h.leave(f)
}

// cut cuts off the connection before this one.
func (h *hosted) cut() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.feed != nil {
		_ = h.feed.conn.CloseRead() // it may have gone
	}
}

// leave ends a feed whose connection has ended; what is still to be sent has nobody to read it.
func (h *hosted) leave(f *feed) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !f.shut {
		f.close()
	}
}

// tell tells whoever is there of something.
func (k *keeper) tell(s said) {
	k.mu.Lock()
	c := k.control
	k.mu.Unlock()
	if c != nil {
		c.Send(s)
	}
}

// processes are those that there are, with their scripts or without.
func (k *keeper) processes(script bool) []Process {
	k.mu.Lock()
	all := k.hosted
	k.mu.Unlock()
	out := []Process{}
	for _, h := range all {
		out = append(out, h.known(script))
	}
	return out
}

// serveControl is with a client until it goes.
func (k *keeper) serveControl(conn net.Conn, in *bufio.Reader) {
	c := holder.NewPeer(conn)
	err := c.Greet(func() any {
		k.mu.Lock()
		if k.control != nil {
			k.control.Close()
		}
		k.control, k.came = c, true
		k.alone.Stop()
		k.mu.Unlock()
		return welcome{Processes: k.processes(true)}
	})
	if err == nil {
		holder.Requests(in, func(a *asked) { k.do(c, a) })
	}
	k.mu.Lock()
	if k.control == c {
		k.control = nil
		k.alone = time.AfterFunc(time.Duration(k.OrphanMS)*time.Millisecond, func() { k.end("nobody has come back") })
	}
	k.mu.Unlock()
	k.endIdle()
}

// do does what is asked. What takes its time is answered later.
func (k *keeper) do(c *holder.Peer, a *asked) {
	answer := said{I: a.I}
	if a.Op == opStart {
		h, err := k.start(*a.Spec)
		if answer.Error = refusalOf(err); err == nil {
			answer.PID = h.proc.Pid()
		}
		c.Send(answer)
		return
	}
	h := k.find(a.ID)
	switch {
	case a.Op == opSecrets:
		k.hide.add(a.Secrets)
	case a.Op == opBye:
		k.end("the run has no more use for it")
	case h == nil:
		answer.Error = &refusal{Text: "there is no process " + a.ID.String()}
	case a.Op == opEnd, a.Op == opKill:
		k.busy.Go(func() {
			if a.Op == opKill {
				h.kill()
			}
			h.end(time.Duration(a.GraceMS) * time.Millisecond)
			c.Send(answer)
		})
		return
	case a.Op == opOpen, a.Op == opOutput, a.Op == opAwait, a.Op == opStop, a.Op == opRelease:
		h.command(c, a)
		return
	default:
		h.do(a, &answer)
	}
	if a.I != 0 {
		c.Send(answer)
	}
}

// do does what is asked of a process.
func (h *hosted) do(a *asked, answer *said) {
	switch a.Op {
	case opSaid:
		answer.Bytes = h.said()
	case opUntouched:
		answer.Is = h.input.untouched(a.After)
	case opStderr:
		answer.Text = h.proc.Stderr()
	case opAck:
		h.ack(a.Line)
	case opCloseInput:
		h.input.close(a.After)
	default:
		answer.Error = &refusal{Text: "there is no " + string(a.Op)}
	}
}

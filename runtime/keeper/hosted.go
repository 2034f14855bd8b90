package keeper

import (
	"bytes"
	"path/filepath"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/internal/process/procgroup"
	"github.com/concerto-lang/concerto/runtime/mcpbridge"
	"github.com/concerto-lang/concerto/runtime/terminalhost"
)

// hosted is a process of a host: what it writes is spooled and handed on, what is said to it is
// taken and written.
type hosted struct {
	keeper *keeper
	spec   Spec
	proc   *procgroup.Process
	input  input

	bridge   *mcpbridge.Bridge // nil: there is none
	commands terminalhost.Set
	stop     chan struct{} // nothing of it has any time left
	stopping sync.Once

	mu    sync.Mutex
	moved *sync.Cond // something of what follows has changed
	out   *spool
	sides sides
	acked journaled
	over  bool // its output has ended, and is spooled
	exit  *Exit
	feed  *feed // to the client; nil while nobody has attached
	mark  int64 // see Conn.Said
	ended bool  // the keeper ends: nothing is waited for
}

// bear starts a process.
func (k *keeper) bear(spec Spec) (*hosted, error) {
	out, err := newSpool(filepath.Join(k.Dir, spec.dir()), &k.hide)
	if err != nil {
		return nil, err
	}
	h := &hosted{keeper: k, spec: spec, out: out, stop: make(chan struct{})}
	h.moved = sync.NewCond(&h.mu)
	h.commands.Name, h.commands.Run, h.commands.Stop = spec.Host, k.run, h.stop
	attached := make(chan struct{}) // what it says is told behind its start
	h.proc, err = k.run.Start(procgroup.Command{Name: spec.Host, Path: spec.Path, Args: spec.Args, Env: spec.Env, Dir: spec.Dir, Limits: spec.Limits,
		Stderr: func(line string) {
			<-attached
			k.tell(said{Event: evStderr, ID: spec.ID, Text: line})
		}})
	defer close(attached)
	if err != nil {
		out.f.Close()
		return nil, err
	}
	h.input.of(h)
	if err := h.openBridge(); err != nil { // after the start: who comes over it is placed by what the process has written
		k.busy.Go(func() { h.proc.End(0, nil) })
		h.closeBridge()
		out.f.Close()
		return nil, err
	}
	k.busy.Go(h.pump)
	k.busy.Go(h.input.run)
	k.busy.Go(h.watch)
	return h, nil
}

// pieceRoom is how much of the output is read at once.
const pieceRoom = 64 << 10

// defaultLongLine is a Spec's LongLine when it has none.
const defaultLongLine = 16 << 20

// pump reads what the process writes until that ends. It is spooled in whole lines.
func (h *hosted) pump() {
	long := h.spec.LongLine
	if long <= 0 {
		long = defaultLongLine
	}
	var held []byte // of a line whose end has not come
	buf := make([]byte, pieceRoom)
	for h.waitForRoom() {
		n, err := h.proc.Stdout.Read(buf)
		whole := bytes.LastIndexByte(buf[:n], '\n') + 1
		h.mu.Lock()
		switch {
		case whole > 0 && len(held) == 0:
			h.spool(buf[:whole])
		case whole > 0:
			h.spool(append(held, buf[:whole]...))
			held = nil // it may have been long
		}
		held = append(held, buf[whole:n]...)
		h.sides.open = h.sides.open && whole == 0
		if len(held) > 0 && (err != nil || len(held) > long) {
			h.spool(held)
			held, h.sides.open = nil, true
		}
		h.sides.read += int64(n)
		if h.sides.wait > 0 {
			h.moved.Broadcast()
		}
		h.mu.Unlock()
		if err != nil {
			break
		}
	}
	h.mu.Lock()
	h.over = true
	h.mu.Unlock()
	h.keeper.tell(said{Event: evOver, ID: h.spec.ID})
	h.moved.Broadcast()
}

// waitForRoom waits until enough of the output is journaled; false says that the keeper ends. What a process has
// left in its pipe is little, and behind it is the end, which is awaited.
func (h *hosted) waitForRoom() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for h.out.bytes-h.acked.bytes > unjournaled && h.exit == nil && !h.ended {
		h.moved.Wait()
	}
	return !h.ended
}

// fullDisk is how long it is waited when the spool cannot be written, until it is tried again.
const fullDisk = time.Second

// spool appends to the spool, and hands on what it can at once. When there is no room on the disk the host waits. It is
// called with mu.
func (h *hosted) spool(text []byte) {
	at, before := h.out.size, h.out.bytes
	for err := h.out.append(text); err != nil && !h.ended; err = h.out.append(text) {
		h.keeper.say("write what %s says: %v", h.spec.ID, err)
		h.mu.Unlock()
		h.keeper.pause(fullDisk)
		h.mu.Lock()
		at, before = h.out.size, h.out.bytes
	}
	h.acked.wrote(h.out.lines, h.out.bytes)
	if f := h.feed; f != nil && f.idle && f.sent == before && f.at.at == at && f.at.skip == 0 {
		n := f.writeNow(text)
		f.sent += int64(n)
		if n == len(text) {
			f.at.at = h.out.size
			return
		}
		f.at.skip = int64(n)
	}
	h.moved.Broadcast()
}

// watch waits for the end of the process.
func (h *hosted) watch() {
	e := h.proc.Exit()
	h.mu.Lock()
	h.exit = &Exit{Code: e.Code, Signal: e.Signal, Stderr: e.Stderr, Limit: e.Limit}
	exit := h.exit
	h.moved.Broadcast()
	h.mu.Unlock()
	h.input.exited()
	h.keeper.tell(said{Event: evExit, ID: h.spec.ID, Exit: exit})
	h.endBeside()
	<-h.proc.Gone()
	h.keeper.fewer()
}

// end ends the process and what it has besides, and returns when nothing is left of that.
func (h *hosted) end(grace time.Duration) {
	var group sync.WaitGroup
	group.Go(h.endBeside)
	h.proc.End(grace, h.stop)
	group.Wait()
}

// kill leaves what ends no time.
func (h *hosted) kill() { h.stopping.Do(func() { close(h.stop) }) }

// endBeside ends what the process has besides its pipes.
func (h *hosted) endBeside() {
	h.closeBridge()
	h.commands.End()
}

// journaled says how much of a process's output is in the journal. Of places between where it
// is and the end of the output it has one in so many bytes.
type journaled struct {
	lines, bytes int64
	places       []check
}

const ackEvery = 64 << 10

// wrote notes where a piece of the output ends.
func (j *journaled) wrote(lines, bytes int64) {
	if n := len(j.places); n > 1 && bytes-j.places[n-2].bytes < ackEvery {
		j.places = j.places[:n-1]
	}
	j.places = append(j.places, check{lines: lines, bytes: bytes})
}

// ack says that the lines up to one are in it.
func (j *journaled) ack(line int64) {
	j.lines = max(j.lines, line)
	n := 0
	for n < len(j.places) && j.places[n].lines <= line {
		j.bytes = j.places[n].bytes
		n++
	}
	j.places = j.places[n:]
}

// ack says that lines are journaled.
func (h *hosted) ack(line int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.acked.ack(min(line, h.out.lines))
	if f := h.feed; !h.spec.Whole && h.acked.lines == h.out.lines && (f == nil || f.idle && f.sent == h.out.bytes) && h.out.forget() && f != nil {
		f.at = place{}
	}
	h.moved.Broadcast()
}

// said is how many bytes the process has written by now; it is remembered.
func (h *hosted) said() int64 {
	n := h.proc.Written()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sides.mark = n
	h.mark = n + h.sides.bytes
	return h.mark
}

// known is what is known of the process; script: with its frames.
func (h *hosted) known(script bool) Process {
	h.mu.Lock()
	p := Process{ID: h.spec.ID, PID: h.proc.Pid(), Exit: h.exit, Over: h.over, Lines: h.out.lines, Acked: h.acked.lines, Bytes: h.out.bytes, Mark: h.mark, Note: h.spec.Note, Whole: h.spec.Whole}
	h.mu.Unlock()
	h.input.tell(&p, script)
	return p
}

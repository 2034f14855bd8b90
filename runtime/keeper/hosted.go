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
	stopOnce sync.Once

	mu    sync.Mutex
	changed *sync.Cond // something of what follows has changed
	out   *spool
	sides bridgeLines
	acked ackTracker
	outputEnded  bool // its output has ended, and is spooled
	exit  *Exit
	feed  *feed // to the client; nil while nobody has attached
	mark  int64 // see Conn.Said
	keeperEnded bool  // the keeper ends: nothing is waited for
}

// spawnHosted starts a process.
func (k *keeper) spawnHosted(spec Spec) (*hosted, error) {
	out, err := newSpool(filepath.Join(k.Dir, spec.dir()), &k.redactor)
	if err != nil {
		return nil, err
	}
	h := &hosted{keeper: k, spec: spec, out: out, stop: make(chan struct{})}
	h.changed = sync.NewCond(&h.mu)
	h.commands.Name, h.commands.Run, h.commands.Stop = spec.Host, k.run, h.stop
	attached := make(chan struct{}) // what it says is told behind its start
	h.proc, err = k.run.Start(procgroup.Command{Name: spec.Host, Path: spec.Path, Args: spec.Args, Env: spec.Env, Dir: spec.Dir, Limits: spec.Limits,
		Stderr: func(line string) {
			<-attached
			k.notify(reply{Event: evStderr, ID: spec.ID, Text: line})
		}})
	defer close(attached)
	if err != nil {
		out.f.Close()
		return nil, err
	}
	h.input.init(h)
	if err := h.openBridge(); err != nil { // after the start: who comes over it is placed by what the process has written
		k.workers.Go(func() { h.proc.End(0, nil) })
		h.closeBridge()
		out.f.Close()
		return nil, err
	}
	k.workers.Go(h.readOutput)
	k.workers.Go(h.input.writeLoop)
	k.workers.Go(h.awaitExit)
	return h, nil
}

// readSize is how much of the output is read at once.
const readSize = 64 << 10

// defaultLongLine is a Spec's LongLine when it has none.
const defaultLongLine = 16 << 20

// readOutput reads what the process writes until that ends. It is spooled in whole lines.
func (h *hosted) readOutput() {
	long := h.spec.LongLine
	if long <= 0 {
		long = defaultLongLine
	}
	var held []byte // of a line whose end has not come
	buf := make([]byte, readSize)
	for h.waitForRoom() {
		n, err := h.proc.Stdout.Read(buf)
		whole := bytes.LastIndexByte(buf[:n], '\n') + 1
		h.mu.Lock()
		switch {
		case whole > 0 && len(held) == 0:
			h.appendOutput(buf[:whole])
		case whole > 0:
			h.appendOutput(append(held, buf[:whole]...))
			held = nil // it may have been long
		}
		held = append(held, buf[whole:n]...)
		h.sides.midLine = h.sides.midLine && whole == 0
		if len(held) > 0 && (err != nil || len(held) > long) {
			h.appendOutput(held)
			held, h.sides.midLine = nil, true
		}
		h.sides.read += int64(n)
		if h.sides.waiting > 0 {
			h.changed.Broadcast()
		}
		h.mu.Unlock()
		if err != nil {
			break
		}
	}
	h.mu.Lock()
	h.outputEnded = true
	h.mu.Unlock()
	h.keeper.notify(reply{Event: evOver, ID: h.spec.ID})
	h.changed.Broadcast()
}

// waitForRoom waits until enough of the output is journaled; false says that the keeper ends. What a process has
// left in its pipe is little, and behind it is the end, which is awaited.
func (h *hosted) waitForRoom() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for h.out.bytes-h.acked.bytes > maxUnjournaled && h.exit == nil && !h.keeperEnded {
		h.changed.Wait()
	}
	return !h.keeperEnded
}

// diskRetryDelay is how long it is waited when the spool cannot be written, until it is tried again.
const diskRetryDelay = time.Second

// appendOutput appends to the spool, and hands on what it can at once. When there is no room on the disk the host waits. It is
// called with mu.
func (h *hosted) appendOutput(text []byte) {
	at, before := h.out.size, h.out.bytes
	for err := h.out.appendText(text); err != nil && !h.keeperEnded; err = h.out.appendText(text) {
		h.keeper.logf("write what %s says: %v", h.spec.ID, err)
		h.mu.Unlock()
		h.keeper.sleep(diskRetryDelay)
		h.mu.Lock()
		at, before = h.out.size, h.out.bytes
	}
	h.acked.noteAppended(h.out.lines, h.out.bytes)
	if f := h.feed; f != nil && f.waiting && f.sent == before && f.position.at == at && f.position.skip == 0 {
		n := f.writeNow(text)
		f.sent += int64(n)
		if n == len(text) {
			f.position.at = h.out.size
			return
		}
		f.position.skip = int64(n)
	}
	h.changed.Broadcast()
}

// awaitExit waits for the end of the process.
func (h *hosted) awaitExit() {
	e := h.proc.Exit()
	h.mu.Lock()
	h.exit = &Exit{Code: e.Code, Signal: e.Signal, Stderr: e.Stderr, Limit: e.Limit}
	exit := h.exit
	h.changed.Broadcast()
	h.mu.Unlock()
	h.input.handleExit()
	h.keeper.notify(reply{Event: evExit, ID: h.spec.ID, Exit: exit})
	h.endExtras()
	<-h.proc.Gone()
	h.keeper.noteExit()
}

// endProcess ends the process and what it has besides, and returns when nothing is left of that.
func (h *hosted) endProcess(grace time.Duration) {
	var group sync.WaitGroup
	group.Go(h.endExtras)
	h.proc.End(grace, h.stop)
	group.Wait()
}

// killNow leaves what ends no time.
func (h *hosted) killNow() { h.stopOnce.Do(func() { close(h.stop) }) }

// endExtras ends what the process has besides its pipes.
func (h *hosted) endExtras() {
	h.closeBridge()
	h.commands.End()
}

// ackTracker says how much of a process's output is in the journal. Of places between where it
// is and the end of the output it has one in so many bytes.
type ackTracker struct {
	lines, bytes int64
	marks       []check
}

const markInterval = 64 << 10

// noteAppended notes where a piece of the output ends.
func (j *ackTracker) noteAppended(lines, bytes int64) {
	if n := len(j.marks); n > 1 && bytes-j.marks[n-2].bytes < markInterval {
		j.marks = j.marks[:n-1]
	}
	j.marks = append(j.marks, check{lines: lines, bytes: bytes})
}

// acknowledge says that the lines up to one are in it.
func (j *ackTracker) acknowledge(line int64) {
	j.lines = max(j.lines, line)
	n := 0
	for n < len(j.marks) && j.marks[n].lines <= line {
		j.bytes = j.marks[n].bytes
		n++
	}
	j.marks = j.marks[n:]
}

// acknowledge says that lines are journaled.
func (h *hosted) acknowledge(line int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.acked.acknowledge(min(line, h.out.lines))
	if f := h.feed; !h.spec.Whole && h.acked.lines == h.out.lines && (f == nil || f.waiting && f.sent == h.out.bytes) && h.out.truncateIfLarge() && f != nil {
		f.position = filePosition{}
	}
	h.changed.Broadcast()
}

// bytesWritten is how many bytes the process has written by now; it is remembered.
func (h *hosted) bytesWritten() int64 {
	n := h.proc.Written()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sides.mark = n
	h.mark = n + h.sides.appended
	return h.mark
}

// describe is what is known of the process; script: with its frames.
func (h *hosted) describe(script bool) Process {
	h.mu.Lock()
	p := Process{ID: h.spec.ID, PID: h.proc.Pid(), Exit: h.exit, Over: h.outputEnded, Lines: h.out.lines, Acked: h.acked.lines, Bytes: h.out.bytes, Mark: h.mark, Note: h.spec.Note, Whole: h.spec.Whole}
	h.mu.Unlock()
	h.input.addTo(&p, script)
	return p
}

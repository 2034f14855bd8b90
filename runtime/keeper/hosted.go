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

// hosted is a host process. Its output is written to a spool and sent to the client; its input
// comes in frames.
type hosted struct {
	keeper *keeper
	spec   Spec
	proc   *procgroup.Process
	input  input

	bridge   *mcpbridge.Bridge // nil if it has none
	commands terminalhost.Set
	stop     chan struct{} // closed by killNow: no grace is left
	stopOnce sync.Once

	mu          sync.Mutex
	changed     *sync.Cond // signals a change of the fields below
	out         *spool
	sides       bridgeLines
	acked       ackTracker
	outputEnded bool // its output has ended and is in the spool
	exit        *Exit
	feed        *feed // nil while no client is attached
	mark        int64 // see Conn.BytesSent
	keeperEnded bool  // the keeper ends: nothing waits any more
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
	attached := make(chan struct{}) // standard error is sent after the start
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
	h.input.bind(h)
	// opened after the start, because bridge lines are placed by the process's output
	if err := h.openBridge(); err != nil {
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

// readSize is the amount of output that is read at once.
const readSize = 64 << 10

// defaultLongLine is used if Spec.LongLine is 0.
const defaultLongLine = 16 << 20

// readOutput reads the output until it ends, and appends whole lines to the spool.
func (h *hosted) readOutput() {
	long := h.spec.LongLine
	if long <= 0 {
		long = defaultLongLine
	}
	var held []byte // of a line without its end
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
			held = nil // frees memory of a long line
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

// waitForRoom waits until enough output is journaled, and returns false if the keeper ends. After
// the process has exited it does not wait: the pipe contains little.
func (h *hosted) waitForRoom() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for h.out.bytes-h.acked.bytes > maxUnjournaled && h.exit == nil && !h.keeperEnded {
		h.changed.Wait()
	}
	return !h.keeperEnded
}

// diskRetryDelay is the delay before a failed write to the spool is repeated.
const diskRetryDelay = time.Second

// appendOutput appends to the spool and sends what it can immediately. While the disk is full, the
// host waits. The caller must hold mu.
func (h *hosted) appendOutput(text []byte) {
	at, before := h.out.size, h.out.bytes
	for err := h.out.appendText(text); err != nil && !h.keeperEnded; err = h.out.appendText(text) {
		h.keeper.logf("write the output of %s: %v", h.spec.ID, err)
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

// awaitExit waits until the process has exited.
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
	<-h.proc.GroupDone()
	h.keeper.noteExit()
}

// endProcess ends the process, its bridge and its terminals, and waits until all have exited.
func (h *hosted) endProcess(grace time.Duration) {
	var group sync.WaitGroup
	group.Go(h.endExtras)
	h.proc.End(grace, h.stop)
	group.Wait()
}

// killNow ends the grace period.
func (h *hosted) killNow() { h.stopOnce.Do(func() { close(h.stop) }) }

// endExtras ends the bridge and the terminals.
func (h *hosted) endExtras() {
	h.closeBridge()
	h.commands.End()
}

// ackTracker records how much of a process's output is journaled. It stores the byte offset of some
// lines, one in each markInterval.
type ackTracker struct {
	lines, bytes int64
	marks        []checkpoint
}

const markInterval = 64 << 10

// noteAppended records the end of appended output.
func (j *ackTracker) noteAppended(lines, bytes int64) {
	if n := len(j.marks); n > 1 && bytes-j.marks[n-2].bytes < markInterval {
		j.marks = j.marks[:n-1]
	}
	j.marks = append(j.marks, checkpoint{lines: lines, bytes: bytes})
}

// acknowledge records that the lines up to the given one are journaled.
func (j *ackTracker) acknowledge(line int64) {
	j.lines = max(j.lines, line)
	n := 0
	for n < len(j.marks) && j.marks[n].lines <= line {
		j.bytes = j.marks[n].bytes
		n++
	}
	j.marks = j.marks[n:]
}

// acknowledge records that lines are journaled, and truncates the spool if possible.
func (h *hosted) acknowledge(line int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.acked.acknowledge(min(line, h.out.lines))
	if f := h.feed; !h.spec.Whole && h.acked.lines == h.out.lines && (f == nil || f.waiting && f.sent == h.out.bytes) && h.out.truncateIfLarge() && f != nil {
		f.position = filePosition{}
	}
	h.changed.Broadcast()
}

// bytesWritten returns how many bytes the process has written so far, and stores the number.
func (h *hosted) bytesWritten() int64 {
	n := h.proc.Written()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sides.mark = n
	h.mark = n + h.sides.appended
	return h.mark
}

// describe returns the state of the process, with its frames if script is set.
func (h *hosted) describe(script bool) Process {
	h.mu.Lock()
	p := Process{ID: h.spec.ID, PID: h.proc.Pid(), Exit: h.exit, Over: h.outputEnded, Lines: h.out.lines, Acked: h.acked.lines, Bytes: h.out.bytes, Mark: h.mark, Note: h.spec.Note, Whole: h.spec.Whole}
	h.mu.Unlock()
	h.input.addTo(&p, script)
	return p
}

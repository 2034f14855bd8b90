package keeper

import (
	"bytes"
	"errors"
	"os"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/internal/process/procgroup"
	"github.com/concerto-lang/concerto/internal/process/sandbox"
	"github.com/concerto-lang/concerto/runtime/mcpbridge"
	"github.com/concerto-lang/concerto/runtime/terminalhost"
)

// hosted is a host process. Its output is written to a spool and sent to the client. Its input
// arrives in frames.
type hosted struct {
	keeper *keeper
	spec   Spec
	proc   Child
	input  input

	bridge   *mcpbridge.Bridge // bridge to the run's tools; nil if the process has none
	commands terminalhost.Set
	started  chan struct{} // closed when proc is set
	stop     chan struct{} // closed by killNow to end the grace period
	stopOnce sync.Once

	mu      sync.Mutex
	changed *sync.Cond // signals that one of the fields below has changed
	out     *spool
	held    []byte // beginning of a line whose end has not arrived
	lending
	sides       bridgeLines
	acked       ackTracker
	outputEnded bool // the output has ended and is completely in the spool
	exit        *Exit
	feed        *feed // sends the output to the client; nil while no client is connected
	mark        int64 // result of the last bytesWritten
	keeperEnded bool  // the keeper is ending, so nothing may wait any more
}

// spawnHosted starts a process.
func (k *keeper) spawnHosted(spec Spec) (*hosted, error) {
	out, err := newSpool(k.files, spec.dir(), &k.redactor)
	if err != nil {
		return nil, err
	}
	h := &hosted{keeper: k, spec: spec, out: out, stop: make(chan struct{}), started: make(chan struct{})}
	h.changed = sync.NewCond(&h.mu)
	h.commands.Name, h.commands.Start, h.commands.Stop = spec.Host, h.startProcess, h.stop
	attached := make(chan struct{}) // standard error is sent only after the process is registered
	if err := h.prepareBridge(); err != nil {
		out.f.Close()
		return nil, err
	}
	h.proc, err = k.system.Start(procgroup.Command{Name: spec.Host, Path: spec.Path, Args: spec.Args, Env: spec.Env, Dir: spec.Dir, Limits: spec.Limits,
		Stderr: func(line []byte) {
			<-attached
			k.notify(reply{Event: evStderr, ID: spec.ID, Text: string(line)})
		}}, h.startProcess)
	defer close(attached)
	if err != nil {
		h.closeBridge()
		out.f.Close()
		return nil, err
	}
	close(h.started)
	h.input.bind(h)
	// The bridge is opened after the start, because its lines are inserted into the output of the
	// process.
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

// startProcess starts the process, or a command for it, in its sandbox if it has one.
func (h *hosted) startProcess(c procgroup.Command) (*procgroup.Process, error) {
	k := h.keeper
	switch {
	case h.spec.Sandbox == nil:
		return k.run.Start(c)
	case k.start == nil:
		return nil, &sandbox.Error{Text: "this program has no sandboxes"}
	}
	return k.start(k.run, c, h.spec.Sandbox, h.appendBlocked)
}

// readSize is the maximum number of bytes that are read at once.
const readSize = 64 << 10

// defaultLongLine is used if Spec.LongLine is 0.
const defaultLongLine = 16 << 20

// readOutput reads the output until its end, and appends complete lines to the spool.
func (h *hosted) readOutput() {
	buf := make([]byte, readSize)
	for h.waitToRead() {
		n, err := h.proc.Read(buf)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			continue // the output is about to be lent
		}
		h.mu.Lock()
		h.takeOutput(buf[:n], err != nil)
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

// takeOutput appends the complete lines of text, which follows the held beginning of a line, to the
// spool. atEnd means that the output has ended. The caller must hold mu.
func (h *hosted) takeOutput(text []byte, atEnd bool) {
	long := h.spec.LongLine
	if long <= 0 {
		long = defaultLongLine
	}
	whole := bytes.LastIndexByte(text, '\n') + 1
	switch {
	case whole > 0 && len(h.held) == 0:
		h.appendOutput(text[:whole])
	case whole > 0:
		h.appendOutput(append(h.held, text[:whole]...))
		h.held = nil // frees the memory of a long line
	}
	h.held = append(h.held, text[whole:]...)
	h.sides.midLine = h.sides.midLine && whole == 0
	if len(h.held) > 0 && (atEnd || len(h.held) > long) {
		h.appendOutput(h.held)
		h.held, h.sides.midLine = nil, true
	}
	h.sides.read += int64(len(text))
	if h.sides.waiting > 0 {
		h.changed.Broadcast()
	}
}

// waitToRead waits until enough of the output is journaled, and while the output is lent. It
// returns false if the keeper is ending. After the process has exited, it does not wait for the
// journal, because the rest of the output in the pipe is small.
func (h *hosted) waitToRead() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for (h.out.bytes-h.acked.passed.bytes > maxUnjournaled && h.exit == nil || h.lends) && !h.keeperEnded {
		if !h.parked {
			h.parked = true
			h.changed.Broadcast()
		}
		h.changed.Wait()
	}
	h.parked = false
	return !h.keeperEnded
}

// diskRetryDelay is the delay before a failed write to the spool is repeated.
const diskRetryDelay = time.Second

// appendOutput appends text to the spool and sends as much as possible immediately. While the disk
// is full, it waits, and so does the host. The caller must hold mu.
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
		n := f.conn.WriteNow(text)
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
	if h.damaged != nil {
		h.exit.Stderr = h.damaged.Error()
	}
	exit := h.exit
	h.changed.Broadcast()
	h.mu.Unlock()
	h.input.handleExit()
	h.keeper.notify(reply{Event: evExit, ID: h.spec.ID, Exit: exit})
	h.endExtras()
	<-h.proc.GroupDone()
	h.endFamily()
	h.keeper.noteExit()
}

// endProcess ends the process, its bridge and its terminals, and waits until these and all that
// they have started have exited. After grace, they are killed.
func (h *hosted) endProcess(grace time.Duration) {
	var group sync.WaitGroup
	group.Go(h.endExtras)
	h.proc.End(grace, h.stop)
	group.Wait()
	h.endFamily()
}

// endFamily kills what the process and its terminals have started outside their groups.
func (h *hosted) endFamily() { h.keeper.run.EndFamily(h.spec.Host, int(h.spec.K)) }

// killNow ends the grace period of endProcess.
func (h *hosted) killNow() { h.stopOnce.Do(func() { close(h.stop) }) }

// endExtras ends the bridge and the terminals of the process.
func (h *hosted) endExtras() {
	h.closeBridge()
	h.commands.End()
}

// ackTracker records how much of the output of a process is journaled. It stores the byte offset of
// one line in each markInterval.
type ackTracker struct {
	lines  int64      // number of journaled lines
	passed checkpoint // end of a line that is journaled, not far before the last one
	marks  []checkpoint
}

const markInterval = 64 << 10

// noteAppended records the number of lines and bytes after output was appended.
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
		j.passed = j.marks[n]
		n++
	}
	j.marks = j.marks[n:]
}

// acknowledge records that lines are journaled, and deletes the stored output if possible.
func (h *hosted) acknowledge(line int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.acked.acknowledge(min(line, h.out.lines))
	if f := h.feed; !h.spec.Whole && h.acked.lines == h.out.lines && (f == nil || f.waiting && f.sent == h.out.bytes) && h.out.discard() && f != nil {
		f.position = filePosition{}
	}
	h.changed.Broadcast()
}

// bytesWritten returns the number of bytes that the process has written so far, and stores it in
// mark.
func (h *hosted) bytesWritten() int64 {
	n := h.proc.Written()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sides.mark = n
	h.mark = n + h.sides.appended
	return h.mark
}

// describe returns the state of the process. If script is true, the state includes the accepted
// frames.
func (h *hosted) describe(script bool) Process {
	h.mu.Lock()
	p := Process{ID: h.spec.ID, PID: h.proc.Pid(), Exit: h.exit, Over: h.outputEnded, Lines: h.out.lines, Acked: h.acked.lines, Bytes: h.out.bytes, Mark: h.mark, Note: h.spec.Note, Whole: h.spec.Whole}
	h.mu.Unlock()
	h.input.addTo(&p, script)
	return p
}

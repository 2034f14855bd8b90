package keeper

import (
	"errors"
	"io"
	"sync"
	"time"
)

// input is the input of a process. It accepts each frame exactly once, in the order of the frame
// numbers.
type input struct {
	h *hosted

	mu          sync.Mutex
	changed     *sync.Cond
	attached    bool // readFrames is reading a connection
	unthrottled bool // frames are accepted without waiting for the process to read
	script      []Entry
	lastFrame   uint64 // number of the last accepted frame
	pending     []byte // accepted bytes that are not yet written
	writing     bool   // writeLoop is writing
	// Offsets in the bytes of all accepted frames:
	total, beginOffset int64 // number of all these bytes, and the offset of the last KindBegin frame
	closeAfter         *uint64
	closed             bool
	readAtClose        int64 // number of bytes that the process had read when the input was closed
}

func (in *input) bind(h *hosted) { in.h, in.changed = h, sync.NewCond(&in.mu) }

// stopThrottling makes readFrames accept all received frames without waiting for the process,
// because the connection has ended or is being closed.
func (in *input) stopThrottling() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.unthrottled = true
	in.changed.Broadcast()
}

// awaitTurn waits until the previous connection has been read completely.
func (in *input) awaitTurn() {
	in.stopThrottling()
	in.mu.Lock()
	defer in.mu.Unlock()
	for in.attached {
		in.changed.Wait()
	}
	in.attached, in.unthrottled = true, false
}

// readFrames accepts frames from a connection until the connection ends.
func (in *input) readFrames(conn io.Reader) {
	for {
		f, err := readFrame(conn)
		if err != nil {
			if errors.Is(err, errBadFrame) {
				in.h.keeper.logf("read the input of %s: %v", in.h.spec.ID, err)
			}
			return
		}
		if !in.acceptFrame(f) {
			return
		}
	}
}

// markUnread records that no connection is being read any more.
func (in *input) markUnread() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.attached = false
	in.changed.Broadcast()
}

// acceptFrame accepts a frame unless it was already accepted. It returns false if the preceding
// frame is missing.
func (in *input) acceptFrame(f frame) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	if f.N <= in.lastFrame {
		return true
	}
	if f.N != in.lastFrame+1 {
		in.h.keeper.logf("received frame %d for %s, expected %d", f.N, in.h.spec.ID, in.lastFrame+1)
		return false
	}
	in.lastFrame = f.N
	if f.Kind == KindBegin {
		in.beginOffset = in.total
		in.dropOldEntries()
	}
	in.script = append(in.script, f.Entry)
	for _, x := range f.sides {
		if in.h.bridge != nil {
			in.h.bridge.Send(x.Client, x.Line)
		}
	}
	in.total += int64(len(f.text))
	if !in.closed && len(f.text) > 0 {
		if len(in.pending) == 0 && !in.writing {
			f.text = f.text[in.h.proc.WriteNow(f.text):]
		}
		if len(f.text) > 0 {
			in.pending = append(in.pending, f.text...)
			in.changed.Broadcast()
		}
	}
	in.wakeToClose()
	for len(in.pending) > maxPending && !in.closed && !in.unthrottled {
		in.changed.Wait()
	}
	return true
}

// dropOldEntries removes the script entries that are no longer needed when a new exchange has
// begun.
func (in *input) dropOldEntries() {
	if in.h.spec.Whole {
		return
	}
	pinned := in.script[:0]
	for _, e := range in.script {
		if e.Kind == KindPinned {
			pinned = append(pinned, e)
		}
	}
	in.script = pinned
}

// writeLoop writes the pending bytes that could not be written immediately.
func (in *input) writeLoop() {
	in.mu.Lock()
	defer in.mu.Unlock()
	for {
		for len(in.pending) == 0 && !in.closed && !in.mustClose() {
			in.changed.Wait()
		}
		if len(in.pending) == 0 || in.closed {
			break
		}
		text := in.pending
		in.pending, in.writing = nil, true
		in.mu.Unlock()
		n, err := in.h.proc.Write(text)
		in.mu.Lock()
		in.pending, in.writing = append(text[n:], in.pending...), false
		in.changed.Broadcast()
		if err != nil {
			break
		}
	}
	in.closeInput()
}

// closeInput closes the input of the process.
func (in *input) closeInput() {
	if in.closed {
		return
	}
	in.readAtClose = in.bytesRead()
	in.closed, in.pending = true, nil
	in.h.proc.CloseInput()
	in.changed.Broadcast()
}

// bytesRead returns the number of bytes that the process has read.
func (in *input) bytesRead() int64 {
	switch {
	case in.closed:
		return in.readAtClose
	case in.writing: // the number is unknown, because a part of the bytes may be in the pipe
		return in.total
	}
	return in.total - int64(len(in.pending)) - int64(max(in.h.proc.Unread(), 0))
}

// mustClose reports whether the input must be closed after the pending bytes are written.
func (in *input) mustClose() bool { return in.closeAfter != nil && in.lastFrame >= *in.closeAfter }

// closeAfterFrame closes the input after the frame with the given number, or immediately if after
// is 0.
func (in *input) closeAfterFrame(after uint64) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if after == 0 {
		in.closeInput()
		return
	}
	in.closeAfter = &after
	in.wakeToClose()
}

func (in *input) wakeToClose() {
	if in.mustClose() {
		in.changed.Broadcast()
	}
}

// handleExit handles the exit of the process. Writes fail from now on, unless a child of the
// process holds its input open.
func (in *input) handleExit() {
	in.mu.Lock()
	defer in.mu.Unlock()
	late := false
	t := time.AfterFunc(writeFailWait, func() {
		in.mu.Lock()
		defer in.mu.Unlock()
		late = true
		in.changed.Broadcast()
	})
	defer t.Stop()
	for in.writing && !late {
		in.changed.Wait()
	}
	in.closeInput()
}

// writeFailWait limits the wait for the failure of a write after the process has exited.
const writeFailWait = time.Second

// isUntouched reports whether the process has read nothing since the given KindBegin frame. The
// frame may not be accepted yet.
func (in *input) isUntouched(begin uint64) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.lastFrame < begin || in.bytesRead() <= in.beginOffset
}

// addTo adds the state of the input to p.
func (in *input) addTo(p *Process, script bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	p.Accepted = in.lastFrame
	if script {
		p.Script = append([]Entry(nil), in.script...)
	}
}

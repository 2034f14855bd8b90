package keeper

import (
	"errors"
	"io"
	"sync"
	"time"
)

// input is what is said to a process: frames, each taken once, in the order of their numbers.
type input struct {
	h *hosted

	mu     sync.Mutex
	changed  *sync.Cond
	attached  bool // a connection is heard
	unthrottled  bool // what has come is taken at once
	script []Entry
	lastFrame  uint64 // frames
	pending   []byte // that waits to be written
	writing   bool   // some is being written
	// Of all bytes that were taken:
	total, beginOffset int64 // how many they are, and where the last beginning is
	closeAfter  *uint64
	closed        bool  // nothing more can be written
	readAtClose        int64 // when it is over: how many the process had read
}

func (in *input) init(h *hosted) { in.h, in.changed = h, sync.NewCond(&in.mu) }

// stopThrottling has all that has come taken without waiting for the process to read it: the connection has
// ended, or is cut off.
func (in *input) stopThrottling() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.unthrottled = true
	in.changed.Broadcast()
}

// awaitTurn waits until the connection before this one is heard to its end.
func (in *input) awaitTurn() {
	in.stopThrottling()
	in.mu.Lock()
	defer in.mu.Unlock()
	for in.attached {
		in.changed.Wait()
	}
	in.attached, in.unthrottled = true, false
}

// readFrames takes frames from a connection until it ends.
func (in *input) readFrames(conn io.Reader) {
	defer in.markUnread()
	for {
		f, err := readFrame(conn)
		if err != nil {
			if errors.Is(err, errBadFrame) {
				in.h.keeper.logf("hear what is said to %s: %v", in.h.spec.ID, err)
			}
			return
		}
		if !in.acceptFrame(f) {
			return
		}
	}
}

// markUnread says that no connection is heard any more.
func (in *input) markUnread() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.attached = false
	in.changed.Broadcast()
}

// acceptFrame takes a frame that was not taken yet; false says that one before it is missing.
func (in *input) acceptFrame(f frame) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	if f.N <= in.lastFrame {
		return true
	}
	if f.N != in.lastFrame+1 {
		in.h.keeper.logf("frame %d is said to %s, where %d is the next", f.N, in.h.spec.ID, in.lastFrame+1)
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
		in.pending = append(in.pending, f.text...)
		in.changed.Broadcast()
	}
	in.wakeIfCloseDue()
	for len(in.pending) > maxPending && !in.closed && !in.unthrottled {
		in.changed.Wait()
	}
	return true
}

// dropOldEntries drops what is not wanted again when another exchange begins.
func (in *input) dropOldEntries() {
	if in.h.spec.Whole {
		return
	}
	kept := in.script[:0]
	for _, e := range in.script {
		if e.Kind == KindPinned {
			kept = append(kept, e)
		}
	}
	in.script = kept
}

// writeLoop writes what WriteNow could not.
func (in *input) writeLoop() {
	in.mu.Lock()
	defer in.mu.Unlock()
	for {
		for len(in.pending) == 0 && !in.closed && !in.closeIsDue() {
			in.changed.Wait()
		}
		if len(in.pending) == 0 || in.closed {
			break
		}
		text := in.pending
		in.pending, in.writing = nil, true
		in.mu.Unlock()
		n, err := in.h.proc.Stdin.Write(text)
		in.mu.Lock()
		in.pending, in.writing = append(text[n:], in.pending...), false
		in.changed.Broadcast()
		if err != nil {
			break
		}
	}
	in.closeInput()
}

// closeInput ends the input.
func (in *input) closeInput() {
	if in.closed {
		return
	}
	in.readAtClose = in.bytesRead()
	in.closed, in.pending = true, nil
	in.h.proc.Stdin.Close()
	in.changed.Broadcast()
}

// bytesRead is how many bytes the process has read.
func (in *input) bytesRead() int64 {
	switch {
	case in.closed:
		return in.readAtClose
	case in.writing: // nobody knows how much of it is in the pipe
		return in.total
	}
	return in.total - int64(len(in.pending)) - int64(max(in.h.proc.Unread(), 0))
}

// closeIsDue says that the input ends when what waits is written.
func (in *input) closeIsDue() bool { return in.closeAfter != nil && in.lastFrame >= *in.closeAfter }

// closeAfterFrame ends the input after a frame; 0: at once, whatever waits.
func (in *input) closeAfterFrame(after uint64) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if after == 0 {
		in.closeInput()
		return
	}
	in.closeAfter = &after
	in.wakeIfCloseDue()
}

func (in *input) wakeIfCloseDue() {
	if in.closeIsDue() {
		in.changed.Broadcast()
	}
}

// handleExit says that the process has: nobody reads any more, and a write fails, unless what the process
// has left behind has its input, too.
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

// writeFailWait bounds the wait for a write to fail when its reader has ended.
const writeFailWait = time.Second

// isUntouched says that the process has read nothing from a beginning on, the last one, which may be yet
// to be taken.
func (in *input) isUntouched(begin uint64) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.lastFrame < begin || in.bytesRead() <= in.beginOffset
}

// addTo adds to what is known of a process.
func (in *input) addTo(p *Process, script bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	p.Taken = in.lastFrame
	if script {
		p.Script = append([]Entry(nil), in.script...)
	}
}

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
	moved  *sync.Cond
	hears  bool // a connection is heard
	hurry  bool // what has come is taken at once
	script []Entry
	taken  uint64 // frames
	text   []byte // that waits to be written
	busy   bool   // some is being written
	// Of all bytes that were taken:
	said, begun int64 // how many they are, and where the last beginning is
	closeAfter  *uint64
	over        bool  // nothing more can be written
	read        int64 // when it is over: how many the process had read
}

func (in *input) of(h *hosted) { in.h, in.moved = h, sync.NewCond(&in.mu) }

// rush has all that has come taken without waiting for the process to read it: the connection has
// ended, or is cut off.
func (in *input) rush() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.hurry = true
	in.moved.Broadcast()
}

// next waits until the connection before this one is heard to its end.
func (in *input) next() {
	in.rush()
	in.mu.Lock()
	defer in.mu.Unlock()
	for in.hears {
		in.moved.Wait()
	}
	in.hears, in.hurry = true, false
}

// hear takes frames from a connection until it ends.
func (in *input) hear(conn io.Reader) {
	defer in.deaf()
	for {
		f, err := readFrame(conn)
		if err != nil {
			if errors.Is(err, errNoFrame) {
				in.h.keeper.say("hear what is said to %s: %v", in.h.spec.ID, err)
			}
			return
		}
		if !in.take(f) {
			return
		}
	}
}

// deaf says that no connection is heard any more.
func (in *input) deaf() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.hears = false
	in.moved.Broadcast()
}

// take takes a frame that was not taken yet; false says that one before it is missing.
func (in *input) take(f frame) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	if f.N <= in.taken {
		return true
	}
	if f.N != in.taken+1 {
		in.h.keeper.say("frame %d is said to %s, where %d is the next", f.N, in.h.spec.ID, in.taken+1)
		return false
	}
	in.taken = f.N
	if f.Kind == KindBegin {
		in.begun = in.said
		in.forget()
	}
	in.script = append(in.script, f.Entry)
	for _, x := range f.sides {
		if in.h.bridge != nil {
			in.h.bridge.Send(x.Client, x.Line)
		}
	}
	in.said += int64(len(f.text))
	if !in.over && len(f.text) > 0 {
		if len(in.text) == 0 && !in.busy {
			f.text = f.text[in.h.proc.WriteNow(f.text):]
		}
		in.text = append(in.text, f.text...)
		in.moved.Broadcast()
	}
	in.closeIfDue()
	for len(in.text) > inputRoom && !in.over && !in.hurry {
		in.moved.Wait()
	}
	return true
}

// forget drops what is not wanted again when another exchange begins.
func (in *input) forget() {
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

// run writes what WriteNow could not.
func (in *input) run() {
	in.mu.Lock()
	defer in.mu.Unlock()
	for {
		for len(in.text) == 0 && !in.over && !in.closes() {
			in.moved.Wait()
		}
		if len(in.text) == 0 || in.over {
			break
		}
		text := in.text
		in.text, in.busy = nil, true
		in.mu.Unlock()
		n, err := in.h.proc.Stdin.Write(text)
		in.mu.Lock()
		in.text, in.busy = append(text[n:], in.text...), false
		in.moved.Broadcast()
		if err != nil {
			break
		}
	}
	in.finish()
}

// finish ends the input.
func (in *input) finish() {
	if in.over {
		return
	}
	in.read = in.consumed()
	in.over, in.text = true, nil
	in.h.proc.Stdin.Close()
	in.moved.Broadcast()
}

// consumed is how many bytes the process has read.
func (in *input) consumed() int64 {
	switch {
	case in.over:
		return in.read
	case in.busy: // nobody knows how much of it is in the pipe
		return in.said
	}
	return in.said - int64(len(in.text)) - int64(max(in.h.proc.Unread(), 0))
}

// closes says that the input ends when what waits is written.
func (in *input) closes() bool { return in.closeAfter != nil && in.taken >= *in.closeAfter }

// close ends the input after a frame; 0: at once, whatever waits.
func (in *input) close(after uint64) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if after == 0 {
		in.finish()
		return
	}
	in.closeAfter = &after
	in.closeIfDue()
}

func (in *input) closeIfDue() {
	if in.closes() {
		in.moved.Broadcast()
	}
}

// exited says that the process has: nobody reads any more, and a write fails, unless what the process
// has left behind has its input, too.
func (in *input) exited() {
	in.mu.Lock()
	defer in.mu.Unlock()
	late := false
	t := time.AfterFunc(settles, func() {
		in.mu.Lock()
		defer in.mu.Unlock()
		late = true
		in.moved.Broadcast()
	})
	defer t.Stop()
	for in.busy && !late {
		in.moved.Wait()
	}
	in.finish()
}

// settles bounds the wait for a write to fail when its reader has ended.
const settles = time.Second

// untouched says that the process has read nothing from a beginning on, the last one, which may be yet
// to be taken.
func (in *input) untouched(begin uint64) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.taken < begin || in.consumed() <= in.begun
}

// tell adds to what is known of a process.
func (in *input) tell(p *Process, script bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	p.Taken = in.taken
	if script {
		p.Script = append([]Entry(nil), in.script...)
	}
}

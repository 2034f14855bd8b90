package keeper

import (
	"bytes"
	"errors"
	"io"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/concerto-lang/concerto/internal/process/procgroup"
	"github.com/concerto-lang/concerto/internal/process/procgroup/nonblock"
	"github.com/concerto-lang/concerto/runtime/keeper/ring"
)

// borrowed is the client's side of a loan. It reads the output of the process from the process's
// pipe into the ring, until release is called. The output begins with the bytes that the keeper has
// put into the ring.
type borrowed struct {
	pipe *os.File
	loan *os.File // closed when this process no longer reads the pipe
	raw  syscall.RawConn
	wait io.Reader // waits for output and calls readNow

	mu          sync.Mutex // not locked during a wait
	ring        *ring.Ring // nil after release
	interrupted bool
	exited      bool          // the process has exited, so Read must not wait
	start       ring.Position // position in the output at which the ring begins
	lent        int64         // number of bytes that the keeper has put into the ring
	returned    checkpoint    // numbers of lines and bytes of the ring that Read has returned
	acks        ackTracker
}

// errFull means that the ring is full of output that is not journaled.
var errFull = errors.New("the ring is full")

// borrowOutput begins to read the output of a loan. It closes the files of the welcome that are no
// longer needed.
func borrowOutput(w *welcome) (b *borrowed, err error) {
	if len(w.files) != loanFiles {
		w.closeFiles()
		return nil, errors.New("the keeper has not sent the output of the process")
	}
	memory := w.files[1]
	defer memory.Close()
	b = &borrowed{pipe: w.files[0], loan: w.files[2], start: ring.Position{Bytes: w.Process.Bytes, Lines: w.Process.Lines}}
	if b.raw, err = b.pipe.SyscallConn(); err == nil {
		b.wait, err = nonblock.NewReaderBy(b.pipe, b.readNow)
	}
	if err == nil {
		b.ring, err = ring.Open(memory)
	}
	if err != nil {
		return nil, errors.Join(err, b.pipe.Close(), b.loan.Close())
	}
	b.lent = b.ring.Head()
	return b, nil
}

// Read waits for output. It returns io.EOF when the keeper must read the output: at its end, when
// the ring is full, and after release. While reading is interrupted, it returns
// os.ErrDeadlineExceeded instead of waiting.
func (b *borrowed) Read(p []byte) (int, error) {
	if n := b.readLent(p); n > 0 {
		return n, nil
	}
	n, err := b.wait.Read(p)
	switch {
	case err == nil:
		return n, nil
	case !errors.Is(err, os.ErrDeadlineExceeded):
		return 0, io.EOF
	case !b.hasExited():
		return 0, err
	}
	if e := b.raw.Control(func(fd uintptr) { n, err = b.readNow(int(fd), p) }); e != nil || err != nil || n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

// readLent reads the bytes that the keeper has put into the ring.
func (b *borrowed) readLent(p []byte) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ring == nil || b.returned.bytes >= b.lent {
		return 0
	}
	n := copy(p, b.ring.Bytes(b.returned.bytes, b.lent))
	b.noteReturned(p[:n])
	return n
}

// readNow reads from the pipe once. It returns syscall.EAGAIN if the pipe is empty.
func (b *borrowed) readNow(fd int, p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ring == nil {
		return 0, os.ErrClosed
	}
	space := b.ring.Space(len(p))
	if len(space) == 0 {
		return 0, errFull
	}
	n, err := nonblock.Read(fd, space)
	if n > 0 {
		b.ring.Advance(n)
		b.noteReturned(p[:copy(p, space[:n])])
	}
	return n, err
}

// noteReturned records that Read returns text. The caller must hold mu.
func (b *borrowed) noteReturned(text []byte) {
	if end := bytes.LastIndexByte(text, '\n') + 1; end > 0 {
		b.returned.lines += int64(bytes.Count(text[:end], newline))
		b.acks.noteAppended(b.returned.lines, b.returned.bytes+int64(end))
	}
	b.returned.bytes += int64(len(text))
}

var newline = []byte{'\n'}

// acknowledge removes journaled lines from the ring. It returns false if the ring begins after the
// line.
func (b *borrowed) acknowledge(line int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ring == nil || line <= b.start.Lines {
		return false
	}
	b.acks.acknowledge(min(line-b.start.Lines, b.returned.lines))
	b.ring.Acknowledge(b.acks.lines, ring.Position{Bytes: b.acks.passed.bytes, Lines: b.acks.passed.lines})
	return true
}

// bytesWritten returns the number of bytes that the process has written so far, and stores it for
// the keeper. After release, it returns -1.
func (b *borrowed) bytesWritten() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ring == nil {
		return -1
	}
	n := b.start.Bytes + b.ring.Head() + int64(max(procgroup.InPipe(b.pipe), 0))
	b.ring.SetWritten(n)
	return n
}

// setInterrupted sets whether Read fails instead of waiting.
func (b *borrowed) setInterrupted(on bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.interrupted = on
	b.setDeadline()
}

// markExited records that the process has exited.
func (b *borrowed) markExited() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.exited = true
	b.setDeadline()
}

func (b *borrowed) setDeadline() {
	var deadline time.Time
	if b.exited || b.interrupted {
		deadline = time.Unix(1, 0)
	}
	_ = b.pipe.SetReadDeadline(deadline) // after release, no Read waits
}

func (b *borrowed) hasExited() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.exited
}

// release returns the output to the keeper.
func (b *borrowed) release() {
	b.pipe.Close() // ends a wait
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ring != nil {
		b.ring.Close()
		b.ring = nil
		b.loan.Close()
	}
}

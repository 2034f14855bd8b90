// Package ring implements the memory through which a run reads the output of a host directly from
// the host's pipe. The run shares the memory with its keeper. If the run is killed, the keeper
// finds in the memory all bytes that the run has read from the pipe and not acknowledged.
//
// The memory is a ring buffer. Positions are numbers of bytes since the ring was created. The bytes
// from the acknowledged position to the head are the content. All bytes that were never written, or
// that were acknowledged and then cleared, are zero. A run that is killed between reading and
// moving the head therefore leaves bytes after the head that are not zero, and Recover adds them to
// the content. Valid output contains no zero bytes, because it consists of lines of JSON.
package ring

import (
	"bytes"
	"errors"
	"sync/atomic"
	"unsafe"
)

const (
	// Size is the capacity of a ring in bytes.
	Size = 1 << 20
	// headerSize is the number of bytes before the data. It is a multiple of the size of a page.
	headerSize = 64 << 10
)

// ErrDamaged means that the content of the memory is not that of a ring.
var ErrDamaged = errors.New("the shared memory with the output of the host is damaged")

// Ring is one process's view of the shared memory. Only one process may use it at a time. It is not
// safe for concurrent use.
type Ring struct {
	mem  []byte
	data []byte
	head *header
}

// header is the first part of the memory. The run may be killed before each of its instructions.
type header struct {
	head    atomic.Int64  // position after the last byte that was read
	clean   atomic.Int64  // the bytes from head to this position are zero
	written atomic.Int64  // see Ring.SetWritten
	lines   atomic.Int64  // number of acknowledged lines; some may follow the acknowledged position
	current atomic.Uint32 // index of the valid element of acked
	acked   [2]Position   // the acknowledged position, and the previous or the next one
}

// Position is a position at the beginning of a line: the numbers of bytes and lines before it.
type Position struct{ Bytes, Lines int64 }

// newRing returns the ring in mem, which consists of the header and the data.
func newRing(mem []byte) *Ring {
	return &Ring{mem: mem, data: mem[headerSize:], head: (*header)(unsafe.Pointer(unsafe.SliceData(mem)))}
}

// init prepares memory that contains only zeros.
func (r *Ring) init() *Ring {
	r.head.clean.Store(r.size())
	return r
}

func (r *Ring) size() int64 { return int64(len(r.data)) }

// index returns the index in data of a position, and the number of bytes until the end of data.
func (r *Ring) index(position int64) (at, rest int) {
	at = int(position % r.size())
	return at, len(r.data) - at
}

// Space returns at most n bytes that follow the head, for the next read. It returns no bytes if the
// ring is full. It writes to each page of the memory, so that the read does not cause a page fault:
// a read that is killed during a page fault may have copied bytes that it leaves in the pipe.
func (r *Ring) Space(n int) []byte {
	head := r.head.head.Load()
	at, rest := r.index(head)
	space := r.data[at:][:min(n, rest, int(r.head.clean.Load()-head))]
	for i := 0; i < len(space); i += pageSize {
		space[i] = 0
	}
	if len(space) > 0 {
		space[len(space)-1] = 0
	}
	return space
}

// pageSize is the smallest size of a page on any system.
const pageSize = 4 << 10

// Advance moves the head over n bytes that were read into Space.
func (r *Ring) Advance(n int) { r.head.head.Add(int64(n)) }

// Head returns the number of bytes that were read.
func (r *Ring) Head() int64 { return r.head.head.Load() }

// Bytes returns the content from one position to another, or the beginning of it.
func (r *Ring) Bytes(from, to int64) []byte {
	at, rest := r.index(from)
	return r.data[at:][:min(int(to-from), rest)]
}

// Acknowledge records the number of acknowledged lines, and removes the content before p, which is
// not after these lines. The bytes become available for Space.
func (r *Ring) Acknowledge(lines int64, p Position) {
	r.head.lines.Store(lines)
	if p == r.head.acked[r.head.current.Load()] {
		return
	}
	next := 1 - r.head.current.Load()
	r.head.acked[next] = p
	r.head.current.Store(next)
	removed := r.head.clean.Load() - r.size() // what was acknowledged before is cleared
	n := int(p.Bytes - removed)
	at, rest := r.index(removed)
	first := min(n, rest)
	clear(r.data[at:][:first])
	clear(r.data[:n-first])
	r.head.clean.Store(p.Bytes + r.size())
}

// SetWritten stores a number for Recover.
func (r *Ring) SetWritten(n int64) { r.head.written.Store(n) }

// Content is what Recover has found.
type Content struct {
	Acked   Position // the acknowledged position
	Lines   int64    // number of acknowledged lines
	Text    []byte   // the bytes that were read after it
	Written int64    // the number of SetWritten
}

// Recover returns the content of a ring that no other process uses any more. If the memory contains
// something else than a ring, it returns ErrDamaged.
func (r *Ring) Recover() (Content, error) {
	current := r.head.current.Load()
	if current > 1 {
		return Content{}, ErrDamaged
	}
	p, head, clean, lines := r.head.acked[current], r.head.head.Load(), r.head.clean.Load(), r.head.lines.Load()
	if p.Lines < 0 || lines < p.Lines || p.Bytes < p.Lines || head < p.Bytes || clean < head || clean-p.Bytes > r.size() {
		return Content{}, ErrDamaged
	}
	text := make([]byte, 0, clean-p.Bytes)
	at, rest := r.index(p.Bytes)
	text = append(text, r.data[at:][:min(cap(text), rest)]...)
	text = append(text, r.data[:cap(text)-len(text)]...)
	text = text[:max(int(head-p.Bytes), len(bytes.TrimRight(text, "\x00")))]
	if lines > p.Lines+int64(bytes.Count(text, []byte{'\n'})) {
		return Content{}, ErrDamaged
	}
	return Content{p, lines, text, r.head.written.Load()}, nil
}

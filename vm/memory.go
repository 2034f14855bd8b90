package vm

import (
	"runtime"
	"runtime/metrics"

	"github.com/concerto-lang/concerto/internal/data/value"
)

// memory holds a run to [limits] max_memory_mb. An operation that makes
// something large asks for room first. Small objects are noticed when the
// budget of a task is used up: then the growth of the heap since the run began
// is measured. Garbage counts until a collection has removed it. So a run with
// a limit collects when it reaches the limit, and again only after another
// eighth of the limit.
//
// The heap measured is that of the process: runs at the same time in one
// process count together.
type memory struct {
	limit int         // bytes; 0 is none
	begun int         // heap in use when the run began
	known int         // how much it had grown after the last collection
	asked int         // since the last look
	text  value.Bound // of one text
	heap  [1]metrics.Sample

	kept func() // lets go of what is kept for speed alone
	// judge, when set, decides what a look finds.
	judge func(n int) bool
}

// looked is how much may be asked for between two looks, in bytes.
const looked = 256 << 10

// begin starts counting. pace is told of long texts that are written; kept lets
// go of what is kept for speed alone.
func (m *memory) begin(megabytes int64, pace *value.Pace, kept func()) {
	*m = memory{limit: int(min(megabytes, 1<<40)) << 20, judge: m.judge}
	m.text.Pace, m.kept = pace, kept
	if m.limit == 0 {
		return
	}
	m.text.Most, m.text.Beyond = min(m.limit, value.MaxText), m.exceeded()
	m.heap[0].Name = "/memory/classes/heap/objects:bytes"
	runtime.GC() // what came before the run is no part of it
	m.begun = m.inUse()
}

// inUse is the heap in use since the run began, garbage included.
func (m *memory) inUse() int {
	metrics.Read(m.heap[:])
	return max(int(m.heap[0].Value.Uint64())-m.begun, 0)
}

// fits says whether n more bytes are within the limit. A large amount may be
// asked for in small parts.
func (m *memory) fits(n int) bool {
	if m.limit == 0 {
		return true
	}
	if m.asked += n; m.asked < looked {
		return true
	}
	return m.look(n)
}

// look measures whether n bytes that are about to be taken fit. With n of 0 it
// checks what is already in use.
func (m *memory) look(n int) bool {
	m.asked = 0
	switch {
	case n > m.limit:
		return false
	case m.judge != nil:
		return m.judge(n)
	}
	return m.measure(n)
}

// measure is look at the heap as it is now.
func (m *memory) measure(n int) bool {
	if m.inUse()+n <= max(m.limit, m.known+m.limit/8) {
		return true
	}
	if m.kept != nil {
		m.kept()
	}
	runtime.GC()
	m.known = m.inUse()
	return m.known+n <= m.limit
}

// exceeded is the fault of a run that wants more than its limit.
func (m *memory) exceeded() *value.Fault {
	return value.Faultf("the program's values need more than the %d MiB that [limits] max_memory_mb allows", m.limit>>20)
}

func (t *task) outOfMemory() status { return t.fault("%s", t.m.memory.exceeded().Message) }

// takeMemory faults unless n more bytes are within the limit.
func (t *task) takeMemory(n int) status {
	if t.m.memory.fits(n) {
		return running
	}
	return t.outOfMemory()
}

// weigh counts the memory of what a native or an effect has returned: new
// containers, and strings. A value that is returned again is counted again,
// which at worst causes an extra measurement.
func (t *task) weigh(s value.Slot) status {
	if t.m.memory.limit == 0 || value.Shared(s) {
		return running
	}
	return t.taken(value.Size(s))
}

// taken counts n bytes that have been taken.
func (t *task) taken(n int) status {
	m := &t.m.memory
	if m.limit == 0 {
		return running
	}
	if m.asked += n; m.asked >= looked && !m.look(0) {
		return t.outOfMemory()
	}
	return running
}

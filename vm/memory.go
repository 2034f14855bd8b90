package vm

import (
	"runtime"
	"runtime/metrics"

	"github.com/concerto-lang/concerto/internal/data/value"
)

// memory enforces [limits] max_memory_mb. An operation that creates something large reserves the
// memory first. Small objects are noticed when the budget of a task is used up: then the growth of
// the heap since the run began is measured. Garbage counts until a collection has removed it, so a
// run with a limit collects when it reaches the limit, and again only after another eighth of the
// limit.
//
// The measured heap is that of the process: concurrent runs in one process count together.
type memory struct {
	limit    int         // in bytes; 0 is none
	begun    int         // heap in use when the run began
	measured int         // growth after the last collection
	asked    int         // reserved since the last measurement
	text     value.Bound // of a single text
	heap     [1]metrics.Sample

	dropCaches func() // releases the caches
	// judge, if set, decides the outcome of a measurement.
	judge func(n int) bool
}

// measureInterval is the memory that may be reserved between two measurements, in bytes.
const measureInterval = 256 << 10

// begin starts counting. pace receives the steps of writing long texts; releaseCaches releases the
// caches.
func (m *memory) begin(megabytes int64, pace *value.Pace, releaseCaches func()) {
	*m = memory{limit: int(min(megabytes, 1<<40)) << 20, judge: m.judge}
	m.text.Pace, m.dropCaches = pace, releaseCaches
	if m.limit == 0 {
		return
	}
	m.text.Max, m.text.Exceeded = min(m.limit, value.MaxText), m.exceeded()
	m.heap[0].Name = "/memory/classes/heap/objects:bytes"
	runtime.GC() // garbage from before the run does not belong to it
	m.begun = m.inUse()
}

// inUse returns the heap in use since the run began, garbage included.
func (m *memory) inUse() int {
	metrics.Read(m.heap[:])
	return max(int(m.heap[0].Value.Uint64())-m.begun, 0)
}

// fits reports whether n more bytes are within the limit. A large amount may be reserved in small
// parts.
func (m *memory) fits(n int) bool {
	if m.limit == 0 {
		return true
	}
	if m.asked += n; m.asked < measureInterval {
		return true
	}
	return m.measure(n)
}

// measure measures whether n bytes that are about to be allocated fit. With n of 0 it checks the
// memory in use.
func (m *memory) measure(n int) bool {
	m.asked = 0
	switch {
	case n > m.limit:
		return false
	case m.judge != nil:
		return m.judge(n)
	}
	return m.measureHeap(n)
}

// measureHeap is look on the actual heap.
func (m *memory) measureHeap(n int) bool {
	if m.inUse()+n <= max(m.limit, m.measured+m.limit/8) {
		return true
	}
	if m.dropCaches != nil {
		m.dropCaches()
	}
	runtime.GC()
	m.measured = m.inUse()
	return m.measured+n <= m.limit
}

// exceeded is the fault of a run that exceeds its limit.
func (m *memory) exceeded() *value.Fault {
	return value.Faultf("the program's values need more than the %d MiB that [limits] max_memory_mb allows", m.limit>>20)
}

func (t *task) outOfMemory() status { return t.fault("%s", t.m.memory.exceeded().Message) }

// reserveMemory faults unless n more bytes are within the limit.
func (t *task) reserveMemory(n int) status {
	if t.m.memory.fits(n) {
		return running
	}
	return t.outOfMemory()
}

// chargeResult counts the memory of a value that a native or an effect has returned: new
// containers, and strings. A value that is returned again is counted again, which at worst causes
// an extra measurement.
func (t *task) chargeResult(s value.Slot) status {
	if t.m.memory.limit == 0 || value.IsShared(s) {
		return running
	}
	return t.countMemory(value.Size(s))
}

// countMemory counts n bytes that have been allocated.
func (t *task) countMemory(n int) status {
	m := &t.m.memory
	if m.limit == 0 {
		return running
	}
	if m.asked += n; m.asked >= measureInterval && !m.measure(0) {
		return t.outOfMemory()
	}
	return running
}

package vm

import (
	"runtime"

	"github.com/concerto-lang/concerto/internal/data/value"
)

// memory enforces [limits] max_memory_mb. An operation that creates a large object reserves the
// memory first. Small objects are accounted for when the budget of a task is used up: the VM then
// measures the growth of the heap since the start of the run. Garbage counts until a collection has
// removed it. A run with a limit therefore collects garbage when it reaches the limit, and then
// after each further eighth of the limit.
//
// The measurement covers the heap of the process, so that the memory of concurrent runs in one
// process is added up.
type memory struct {
	limit    int         // in bytes; 0 means no limit
	begun    int         // heap in use at the start of the run, in bytes
	measured int         // growth of the heap after the last collection, in bytes
	asked    int         // bytes reserved since the last measurement
	text     value.Bound // limit for a single text
	heap     heap

	dropCaches func() // releases the run's caches; may be nil
	// judge, if set, decides whether n more bytes are within the limit.
	judge func(n int) bool
}

// measureInterval is the number of bytes that may be reserved between two measurements.
const measureInterval = 256 << 10

// begin starts the accounting with a limit in MiB; 0 means no limit. pace receives the steps of
// writing long texts. releaseCaches releases the run's caches.
func (m *memory) begin(megabytes int64, pace *value.Pace, releaseCaches func()) {
	*m = memory{limit: int(min(megabytes, 1<<40)) << 20, judge: m.judge}
	m.text.Pace, m.dropCaches = pace, releaseCaches
	if m.limit == 0 {
		return
	}
	m.text.Max, m.text.Exceeded = min(m.limit, value.MaxText), m.exceeded()
	runtime.GC() // the run is not charged for garbage from before its start
	m.begun = m.inUse()
}

// inUse returns the growth of the heap since the start of the run in bytes, including garbage.
func (m *memory) inUse() int {
	return max(m.heap.objects()-m.begun, 0)
}

// fits reports whether n more bytes are within the limit. A large amount may be reserved in several
// small calls.
func (m *memory) fits(n int) bool {
	if m.limit == 0 {
		return true
	}
	if m.asked += n; m.asked < measureInterval {
		return true
	}
	return m.measure(n)
}

// measure reports whether n bytes that are about to be allocated are within the limit. If n is 0,
// it checks the memory in use.
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

// measureHeap is measure without a judge. It collects garbage if necessary.
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

// exceeded returns the fault of a run that exceeds its limit.
func (m *memory) exceeded() *value.Fault {
	return value.Faultf("the program's values need more than the %d MiB that [limits] max_memory_mb allows", m.limit>>20)
}

func (t *task) outOfMemory() status { return t.fault("%s", t.m.memory.exceeded().Message) }

// reserveMemory raises a fault unless n more bytes are within the limit.
func (t *task) reserveMemory(n int) status {
	if t.m.memory.fits(n) {
		return running
	}
	return t.outOfMemory()
}

// chargeResult accounts for the memory of a value that a native or an effect has returned. Only new
// containers and strings count. A value that is returned several times is counted several times,
// which at worst causes an additional measurement.
func (t *task) chargeResult(s value.Slot) status {
	if t.m.memory.limit == 0 || value.IsShared(s) {
		return running
	}
	return t.countMemory(value.Size(s))
}

// countMemory accounts for n bytes that have been allocated.
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

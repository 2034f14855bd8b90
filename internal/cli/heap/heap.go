// Package heap sets how Go's heap grows in commands that have the process to themselves.
package heap

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// Growth of Go's heap between two collections, in percent of the live heap.
const (
	// UsualGrowth replaces Go's 100: programs run for a short time and allocate in bursts, so less
	// frequent collections are worth the memory. The first collection starts at 16 MiB.
	UsualGrowth = 400
	// fillingGrowth is for one collection after most of the heap was found in use: the next
	// collection would soon find the same.
	fillingGrowth = 1000
	// ServingGrowth is for processes that run for days next to an editor.
	ServingGrowth = 100
)

const (
	// filling is the live heap from which a heap counts as filling up, in bytes.
	filling = 4 << 20
	// firstMarked is the minimum heap size at which the first collection begins to mark, in bytes:
	// with UsualGrowth Go begins between 12 and 16 MiB.
	firstMarked = 12 << 20
	// pagedRoom is the memory for which large pages are requested, in bytes.
	pagedRoom = 256 << 20
	// pagedSlack is how many bytes the program may allocate while makeRoom disables collections:
	// beyond that the memory limit starts one.
	pagedSlack = 32 << 20
	// smallHeap is the memory limit in bytes while the heap only seems to fill because marking is
	// slow.
	smallHeap = 40 << 20
)

// Grow makes collections rarer when the heap fills up. It is for a run that has the process to
// itself. After each collection it checks whether the heap fills; until then nothing changes.
// Checking from 8 MiB on, not 16, would save the workload json a twentieth of its time, but 10,000
// waiting tasks would take 2 MB more.
func Grow() { growHeapAfter(1, debug.SetMemoryLimit(-1)) }

// growHeapAfter checks whether the heap fills after this many more collections. limit is the user's
// limit on all memory, in bytes. The memory in use after a collection includes the allocations
// during marking; on a busy machine that may be most of it. So a heap that seems to fill is
// collected once more, and the share allocated during marking is subtracted.
func growHeapAfter(collections int, limit int64) {
	afterCollection(func() {
		switch {
		case collections > 1:
			growHeapAfter(collections-1, limit)
		case heapBytes().live < filling:
			growHeapAfter(1, limit)
		case fillsAtOnce(heapBytes()) || fills(collected()):
			makeRoom(limit)
		default: // marking is slow: the heap must not grow because of that
			debug.SetMemoryLimit(min(limit, smallHeap))
			growHeapAfter(8, limit)
		}
	})
}

// makeRoom requests large pages into which the heap grows, and lets it grow by fillingGrowth until
// the next collection. At its end limit applies again.
func makeRoom(limit int64) {
	debug.SetMemoryLimit(min(limit, int64(heapBytes().mapped+pagedRoom+pagedSlack)))
	debug.SetGCPercent(-1) // a collection now would count the room as used
	if leaveLargePages(pagedRoom) {
		runtime.GC() // the room is free again
	}
	afterCollection(func() { debug.SetGCPercent(UsualGrowth) })
	debug.SetGCPercent(fillingGrowth)
	debug.SetMemoryLimit(limit)
}

// heapSize is the state of Go's heap, in bytes.
type heapSize struct {
	live      uint64 // found in use by the last collection
	objects   uint64 // live, and the allocations since
	allocated uint64 // total since the start
	mapped    uint64 // mapped memory, free or not

	collections uint64
}

func heapBytes() heapSize {
	var s [6]metrics.Sample
	for i, name := range []string{"/gc/heap/live:bytes", "/memory/classes/heap/objects:bytes", "/gc/heap/allocs:bytes",
		"/memory/classes/total:bytes", "/memory/classes/heap/released:bytes", "/gc/cycles/total:gc-cycles"} {
		s[i].Name = name
	}
	metrics.Read(s[:])
	at := func(i int) uint64 { return s[i].Value.Uint64() }
	return heapSize{live: at(0), objects: at(1), allocated: at(2), mapped: at(3) - at(4), collections: at(5)}
}

// collected returns the heap before and after a collection.
func collected() (before, after heapSize) {
	before = heapBytes()
	runtime.GC()
	return before, heapBytes()
}

// fills reports whether a collection found much in use, without the bytes that were allocated while
// it marked.
func fills(before, after heapSize) bool {
	since := max(after.objects, after.live) - after.live // allocated after the collection
	marking := max(after.allocated-before.allocated, since) - since
	return after.live > filling+marking
}

// fillsAtOnce reports whether the heap fills already after the first collection, so that no second
// one is needed to measure. All allocations beyond firstMarked count as allocated during marking.
func fillsAtOnce(now heapSize) bool {
	now.objects = now.live
	return now.collections == 1 && fills(heapSize{allocated: firstMarked}, now)
}

// afterCollection calls f on a new goroutine when the next collection ends.
func afterCollection(f func()) {
	garbage := new([4]*int)
	runtime.AddCleanup(garbage, func(int) { f() }, 0)
}

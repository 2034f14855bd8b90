// Package heap configures how Go's heap grows, for commands that have the process to themselves.
package heap

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// Growth of Go's heap between two collections, in percent of the live heap.
const (
	// UsualGrowth replaces Go's default of 100. Programs run for a short time and allocate in
	// bursts, so fewer collections are worth the additional memory. The first collection starts at
	// 16 MiB.
	UsualGrowth = 400
	// fillingGrowth applies to the next collection after a collection has found most of the heap in
	// use. A collection soon afterwards would free little memory.
	fillingGrowth = 1000
	// ServingGrowth is for servers that run for days next to an editor.
	ServingGrowth = 100
)

const (
	// filling is the minimum size of the live heap, in bytes, at which the heap counts as filling
	// up.
	filling = 4 << 20
	// firstMarked is the minimum heap size, in bytes, at which the first collection begins to mark.
	// With UsualGrowth, Go begins to mark between 12 and 16 MiB.
	firstMarked = 12 << 20
	// pagedRoom is the amount of memory for which large pages are requested, in bytes.
	pagedRoom = 256 << 20
	// pagedSlack is the number of bytes that the program may allocate while makeRoom disables
	// collections. Beyond this number the memory limit starts a collection.
	pagedSlack = 32 << 20
	// smallHeap is the limit on the heap, in bytes, until a collection has found it filling. A
	// collection counts what is allocated during marking as in use. On a busy machine this may be
	// most of the heap, which would then grow to a multiple of it.
	smallHeap = 24 << 20
)

// Grow makes collections less frequent when the heap fills up, and limits the heap to smallHeap
// until then. It is for a run that has the process to itself. Checking from 8 MiB on instead of 16
// MiB would make the benchmark json 5 percent faster, but 10,000 waiting tasks would need 2 MB
// more.
func Grow() { growHeapAfter(1, debug.SetMemoryLimit(-1)) }

// growHeapAfter checks whether the heap is filling after the given number of further collections.
// Until then, the heap is limited to smallHeap. limit is the user's limit on all memory, in bytes.
// A heap that seems to be filling is collected once more, to subtract what was allocated during
// marking.
func growHeapAfter(collections int, limit int64) {
	debug.SetMemoryLimit(min(limit, smallHeap+int64(heapBytes().stacks)))
	afterCollection(func() {
		switch {
		case collections > 1:
			growHeapAfter(collections-1, limit)
		case heapBytes().live < filling:
			growHeapAfter(1, limit)
		case fillsAtOnce(heapBytes()) || fills(collected()):
			makeRoom(limit)
		default: // only marking is slow
			growHeapAfter(8, limit)
		}
	})
}

// makeRoom requests large pages for future allocations, and lets the heap grow by fillingGrowth
// until the next collection. Before it returns, it restores limit.
func makeRoom(limit int64) {
	debug.SetMemoryLimit(min(limit, int64(heapBytes().mapped+pagedRoom+pagedSlack)))
	debug.SetGCPercent(-1) // a collection at this moment would count the requested memory as used
	if leaveLargePages(pagedRoom) {
		runtime.GC() // free the requested memory, which remains in Go's heap
	}
	afterCollection(func() { debug.SetGCPercent(UsualGrowth) })
	debug.SetGCPercent(fillingGrowth)
	debug.SetMemoryLimit(limit)
}

// heapSize is the state of Go's heap, in bytes.
type heapSize struct {
	live      uint64 // bytes that the last collection found in use
	objects   uint64 // live, plus the bytes allocated since the last collection
	allocated uint64 // bytes allocated since the process started
	mapped    uint64 // mapped bytes, whether in use or free
	stacks    uint64 // bytes of the stacks of goroutines

	collections uint64
}

func heapBytes() heapSize {
	var s [7]metrics.Sample
	for i, name := range []string{"/gc/heap/live:bytes", "/memory/classes/heap/objects:bytes", "/gc/heap/allocs:bytes",
		"/memory/classes/total:bytes", "/memory/classes/heap/released:bytes", "/gc/cycles/total:gc-cycles",
		"/memory/classes/heap/stacks:bytes"} {
		s[i].Name = name
	}
	metrics.Read(s[:])
	at := func(i int) uint64 { return s[i].Value.Uint64() }
	return heapSize{live: at(0), objects: at(1), allocated: at(2), mapped: at(3) - at(4), collections: at(5), stacks: at(6)}
}

// collected runs a collection and returns the state of the heap before and after it.
func collected() (before, after heapSize) {
	before = heapBytes()
	runtime.GC()
	return before, heapBytes()
}

// fills reports whether a collection found much memory in use. It does not count the bytes that
// were allocated during marking.
func fills(before, after heapSize) bool {
	since := max(after.objects, after.live) - after.live // bytes allocated after the collection
	marking := max(after.allocated-before.allocated, since) - since
	return after.live > filling+marking
}

// fillsAtOnce reports whether the heap is filling already at the first collection, so that no
// second collection is needed for measuring. It counts all allocations beyond firstMarked as
// allocated during marking.
func fillsAtOnce(now heapSize) bool {
	now.objects = now.live
	return now.collections == 1 && fills(heapSize{allocated: firstMarked}, now)
}

// afterCollection calls f on a new goroutine when the next collection ends.
func afterCollection(f func()) {
	garbage := new([4]*int)
	runtime.AddCleanup(garbage, func(int) { f() }, 0)
}

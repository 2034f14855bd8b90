package main

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// How much Go's heap may grow between two collections, in percent of what the
// last one left.
const (
	// usualGrowth: programs live shortly and allocate in bursts, so collecting
	// less often is worth the memory. The first collection comes at 16 MiB.
	usualGrowth = 400
	// fillingGrowth is for the collection after one that found most of the heap in
	// use: it would soon find the same.
	fillingGrowth = 1000
)

const (
	// filling is how much is left in a heap that fills, in bytes.
	filling = 4 << 20
	// firstMarked is how large the heap is at least when the first collection begins:
	// with usualGrowth Go begins it between 12 and 16 MiB.
	firstMarked = 12 << 20
	// pagedRoom is for how much of the heap large pages are asked for, in bytes.
	pagedRoom = 256 << 20
	// pagedSlack is how much the program may take while they are, in bytes: at
	// that the limit of memory collects.
	pagedSlack = 32 << 20
	// smallHeap is how much memory Go may use while marking is slow and the heap
	// does not fill, in bytes.
	smallHeap = 40 << 20
)

// growHeap looks after collections of a run that has the process for itself
// whether the heap is filling. Until it is, nothing is different: to look at 8 MiB
// already would save json a twentieth, but 10,000 waiting tasks would take 2 MB more.
func growHeap() { growHeapAfter(1, debug.SetMemoryLimit(-1)) }

// growHeapAfter looks after so many collections; limit is the user's for all
// memory. What a collection finds in use includes what was allocated while it
// marked, which on a busy machine may be most of it: so a heap that seems to fill
// is collected once more, and that is taken off.
func growHeapAfter(collections int, limit int64) {
	afterCollection(func() {
		switch {
		case collections > 1:
			growHeapAfter(collections-1, limit)
		case heapBytes().live < filling:
			growHeapAfter(1, limit)
		case fillsAtOnce(heapBytes()) || fills(collected()):
			makeRoom(limit)
		default: // marking is slow: the heap must not grow by that
			debug.SetMemoryLimit(min(limit, smallHeap))
			growHeapAfter(8, limit)
		}
	})
}

// makeRoom lets the heap fill large pages. From then on limit is that of all
// memory.
func makeRoom(limit int64) {
	debug.SetMemoryLimit(min(limit, int64(heapBytes().mapped+pagedRoom+pagedSlack)))
	debug.SetGCPercent(-1) // a collection now would take the room for used
	if leaveLargePages(pagedRoom) {
		runtime.GC() // that room is free now
	}
	afterCollection(func() { debug.SetGCPercent(usualGrowth) })
	debug.SetGCPercent(fillingGrowth)
	debug.SetMemoryLimit(limit)
}

// heapSize is what is known of Go's heap, in bytes.
type heapSize struct {
	live      uint64 // found in use by the last collection
	objects   uint64 // live, and what has been allocated since
	allocated uint64 // in all, since the start
	mapped    uint64 // of memory, free or not

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

// collected gives the heap before and after a collection.
func collected() (before, after heapSize) {
	before = heapBytes()
	runtime.GC()
	return before, heapBytes()
}

// fills says whether a collection has left much, besides what was allocated while
// it marked.
func fills(before, after heapSize) bool {
	since := max(after.objects, after.live) - after.live // it was done
	marking := max(after.allocated-before.allocated, since) - since
	return after.live > filling+marking
}

// fillsAtOnce says that the first collection has left so much that it need not be
// asked again. Before it nothing was taken off, so that of what has been allocated
// at least firstMarked stood there when it began to mark.
func fillsAtOnce(now heapSize) bool {
	now.objects = now.live
	return now.collections == 1 && fills(heapSize{allocated: firstMarked}, now)
}

// afterCollection calls f on a goroutine of its own when the next collection is
// done.
func afterCollection(f func()) {
	garbage := new([4]*int)
	runtime.AddCleanup(garbage, func(int) { f() }, 0)
}

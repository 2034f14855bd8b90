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
	// pagedRoom is for how much of the heap large pages are asked for, in bytes.
	pagedRoom = 256 << 20
)

// growHeap looks after each collection of a run that has the process for itself
// whether the heap is filling. Until it is, nothing is different: to look at 8 MiB
// already would save json a twentieth, but 10,000 waiting tasks would take 2 MB more.
func growHeap() {
	afterCollection(func() {
		left := [1]metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(left[:])
		if left[0].Value.Uint64() < filling {
			growHeap()
			return
		}
		debug.SetGCPercent(-1)
		if leaveLargePages(pagedRoom) {
			runtime.GC() // that room is free now
		}
		afterCollection(func() { debug.SetGCPercent(usualGrowth) })
		debug.SetGCPercent(fillingGrowth)
	})
}

// afterCollection calls f on a goroutine of its own when the next collection is
// done.
func afterCollection(f func()) {
	garbage := new([4]*int)
	runtime.AddCleanup(garbage, func(int) { f() }, 0)
}

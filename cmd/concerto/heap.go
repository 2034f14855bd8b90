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
	// noticeGrowth lets the first one of a run come at 8 MiB: of a heap that fills
	// it is the cheapest. The workload json takes 0.95 of its time.
	noticeGrowth = 200
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

// growHeap prepares Go's heap for a run that has the process for itself.
func growHeap() {
	debug.SetGCPercent(noticeGrowth)
	watchHeap()
}

// watchHeap looks after each collection whether the heap is filling. Until it is,
// it grows as usual.
func watchHeap() {
	afterCollection(func() {
		left := [1]metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(left[:])
		if left[0].Value.Uint64() < filling {
			watchHeap()
			debug.SetGCPercent(usualGrowth)
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

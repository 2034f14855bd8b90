package heap

import (
	"bytes"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"

	"github.com/concerto-lang/concerto/internal/testkit/randtest"
)

// TestGrowingHeap checks that the heap is limited until it is filling, and that its growth limit is
// then raised for one collection. It also checks that the heap contains room for large pages on
// systems where large pages must be requested.
func TestGrowingHeap(t *testing.T) {
	usual := debug.SetGCPercent(UsualGrowth)
	defer debug.SetGCPercent(usual)
	objects := make([]*[64]byte, 2*filling/64)
	for i := range objects {
		objects[i] = new([64]byte)
	}
	limit := debug.SetMemoryLimit(-1)
	Grow()
	if now := debug.SetMemoryLimit(-1); now < smallHeap || now > smallHeap+filling {
		t.Errorf("memory limit after Grow = %d", now)
	}
	for _, want := range []uint64{fillingGrowth, UsualGrowth} {
		runtime.GC()
		for growth() != want { // each collection is handled on another goroutine
			runtime.Gosched()
		}
	}
	if now := debug.SetMemoryLimit(-1); now != limit {
		t.Errorf("memory limit when the heap is filling = %d, want %d", now, limit)
	}
	runtime.KeepAlive(objects)
	setting, _ := os.ReadFile("/sys/kernel/mm/transparent_hugepage/enabled")
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	if bytes.Contains(setting, []byte("[madvise]")) && !randtest.Raced && m.HeapIdle < pagedRoom {
		t.Errorf("%d bytes of the heap are free, want room for large pages", m.HeapIdle)
	}
	if m.HeapInuse >= pagedRoom {
		t.Errorf("%d bytes of the heap are in use: the large pages are not free", m.HeapInuse)
	}
}

// TestBusyHeap checks that bytes allocated during marking do not make a heap count as filling.
func TestBusyHeap(t *testing.T) {
	for _, c := range []struct {
		live, marking, since uint64
		want                 bool
	}{{filling, 0, 0, false}, {filling + 1, 0, 0, true}, {100 << 20, 99 << 20, 0, false}, {100 << 20, 10 << 20, 0, true},
		{100 << 20, 10 << 20, 200 << 20, true}, {100 << 20, 99 << 20, 200 << 20, false}} {
		before := heapSize{live: c.live, allocated: 1 << 30}
		after := heapSize{live: c.live, objects: c.live + c.since, allocated: 1<<30 + c.marking + c.since}
		if got := fills(before, after); got != c.want {
			t.Errorf("fills = %v for a heap of %d MiB of which %d MiB were allocated during marking", got, c.live>>20, c.marking>>20)
		}
	}
}

// TestRoomIsBounded checks that makeRoom maps a bounded amount of memory and restores the memory
// limit.
func TestRoomIsBounded(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(UsualGrowth))
	limit := debug.SetMemoryLimit(-1)
	mapped := heapBytes().mapped
	makeRoom(limit)
	if now := debug.SetMemoryLimit(-1); now != limit {
		t.Errorf("memory limit after makeRoom = %d, want %d", now, limit)
	}
	if grown := heapBytes().mapped - mapped; int64(grown) > pagedRoom+pagedSlack {
		t.Errorf("makeRoom mapped %d MiB, more than pagedRoom+pagedSlack", grown>>20)
	}
}

// growth returns the current growth limit of Go's heap, in percent.
func growth() uint64 {
	s := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

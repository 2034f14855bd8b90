package main

import (
	"bytes"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"
)

// A heap that fills grows faster, once, and has room for which large pages were
// asked for where they must be.
func TestHeapThatFills(t *testing.T) {
	usual := debug.SetGCPercent(usualGrowth)
	defer debug.SetGCPercent(usual)
	kept := make([]*[64]byte, 2*filling/64)
	for i := range kept {
		kept[i] = new([64]byte)
	}
	growHeap()
	for _, want := range []uint64{fillingGrowth, usualGrowth} {
		runtime.GC()
		for begun := time.Now(); growth() != want; runtime.Gosched() {
			if time.Since(begun) > time.Minute {
				t.Fatalf("the heap may grow by %d %%, want %d", growth(), want)
			}
		}
	}
	runtime.KeepAlive(kept)
	setting, _ := os.ReadFile("/sys/kernel/mm/transparent_hugepage/enabled")
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	if bytes.Contains(setting, []byte("[madvise]")) && !raced && m.HeapIdle < pagedRoom {
		t.Errorf("%d bytes of the heap are free, want room for large pages", m.HeapIdle)
	}
	if m.HeapInuse >= pagedRoom {
		t.Errorf("%d bytes of the heap are in use: the room was not left to it", m.HeapInuse)
	}
}

// growth is how much the heap may grow, in percent.
func growth() uint64 {
	s := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

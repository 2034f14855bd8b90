package vm

import "runtime"

// heap measures the heap of the process. Package runtime/metrics would add the descriptions of all
// its metrics to the playground's module. With the single thread of a page, the more expensive
// runtime.ReadMemStats has nothing to stop.
type heap struct{}

// objects returns the size of all objects, including garbage, in bytes.
func (heap) objects() int {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

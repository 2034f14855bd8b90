//go:build !js

package vm

import "runtime/metrics"

// heap measures the heap of the process.
type heap struct {
	samples [1]metrics.Sample
}

// objects returns the size of all objects, including garbage, in bytes.
func (h *heap) objects() int {
	h.samples[0].Name = "/memory/classes/heap/objects:bytes"
	metrics.Read(h.samples[:])
	return int(h.samples[0].Value.Uint64())
}

package client

import (
	"encoding/json"
	"path/filepath"
	"testing"
)

// BenchmarkEmitted measures the cost of reporting an emit while hostd has not acknowledged the
// earlier events.
func BenchmarkEmitted(b *testing.B) {
	payload := json.RawMessage(`{"n":1,"of":20000,"what":"a step of what an agent does"}`)
	const retained = 20_000
	var s *Source
	for i := range b.N {
		if i%retained == 0 {
			b.StopTimer()
			s.End(0)
			s = New(Options{Socket: filepath.Join(b.TempDir(), "none")})
			b.StartTimer()
		}
		s.Emitted("progress", payload, false)
	}
	b.StopTimer()
	s.End(0)
}

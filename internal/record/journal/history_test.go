package journal

import (
	"testing"
	"time"
)

// TestOwners checks that Ran adds up the times of all processes, and that Owner returns the last
// one.
func TestOwners(t *testing.T) {
	h := &History{Records: []*Record{{K: KStart, T: 1000, Owner: Owner{N: 1}}, {K: KBegin, T: 1700}, {K: KResume, T: 9000, Owner: Owner{N: 2}}, {K: KPark, T: 9250}, {K: KResume, T: 20000, Owner: Owner{N: 3}}}}
	for _, r := range h.Records {
		h.ran.add(r)
	}
	if got := h.Ran(); got != 950*time.Millisecond {
		t.Errorf("Ran() = %v, want the sum over all processes", got)
	}
	if h.Owner().N != 3 {
		t.Errorf("Owner() = %+v, want the last owner", h.Owner())
	}
}

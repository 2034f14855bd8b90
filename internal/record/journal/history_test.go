package journal

import (
	"testing"
	"time"
)

// TestOwners checks that Ran adds up the times of all processes, and that Owner returns the last
// one.
func TestOwners(t *testing.T) {
	h := &History{Records: []*Record{{RecordKind: KStart, Time: 1000, Owner: Owner{N: 1}}, {RecordKind: KBegin, Time: 1700}, {RecordKind: KResume, Time: 9000, Owner: Owner{N: 2}}, {RecordKind: KPark, Time: 9250}, {RecordKind: KResume, Time: 20000, Owner: Owner{N: 3}}}}
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

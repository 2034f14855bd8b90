package effect

import (
	"encoding/json"
	"math"
	"testing"
)

// TestSleepJSON compares the JSON that a Sleep appends with the output of encoding/json.
func TestSleepJSON(t *testing.T) {
	for _, ms := range []int64{0, 1, -1, 3600000, math.MaxInt64, math.MinInt64} {
		s := &Sleep{Milliseconds: ms}
		want, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := s.AppendJSON([]byte("[")); err != nil || string(got) != "["+string(want) {
			t.Errorf("%d ms: AppendJSON = %s, %v; want [%s", ms, got, err, want)
		}
	}
}

package stdlib

import (
	"testing"
	"time"
)

// TestTime compares with Go's own calendar: around the leap days, the ends of
// centuries, and before 1970.
func TestTime(t *testing.T) {
	if got := rfc3339(1772357400250); got != "2026-03-01T09:30:00.250Z" {
		t.Error(got)
	}
	for year := 0; year < 3000; year++ {
		for _, day := range []int{0, 58, 59, 60, 364, 365} {
			at := time.Date(year, 1, 1, 23, 59, 58, 7e6, time.UTC).AddDate(0, 0, day)
			if want, got := at.Format("2006-01-02T15:04:05.000Z"), rfc3339(at.UnixMilli()); got != want {
				t.Fatalf("%d: got %s, want %s", at.UnixMilli(), got, want)
			}
		}
	}
}

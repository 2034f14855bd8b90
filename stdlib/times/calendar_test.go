package times

import (
	"testing"
	"time"
)

// TestCalendar compares conversions in both directions with Go's package time: around leap days,
// around the ends of centuries, and before 1970.
func TestCalendar(t *testing.T) {
	for year := 0; year < 3000; year++ {
		for _, day := range []int{0, 58, 59, 60, 364, 365} {
			when := time.Date(year, 1, 1, 23, 59, 58, 7e6, time.UTC).AddDate(0, 0, day)
			m, _ := at(when.UnixMilli(), 0, "UTC")
			want := when.Format("2006-01-02T15:04:05.000Z Mon 002")
			if got := string(m.append(nil, rfc3339)) + string(m.append(nil, " %a %j")); got != want {
				t.Fatalf("at(%d) = %s, want %s", when.UnixMilli(), got, want)
			}
			if back, reason := (&timeReader{s: want[:24]}).moment(rfc3339); back != when.UnixMilli() || reason != "" {
				t.Fatalf("parsing %s returned %d, error %s", want, back, reason)
			}
		}
	}
}

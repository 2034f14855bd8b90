package effect

import "strconv"

// The kinds of requests about time.
const (
	KindSleep Kind = "sleep"
	KindClock Kind = "clock"
	KindZone  Kind = "clock.zone"
)

// Sleep waits for a duration. Its result is nil.
type Sleep struct {
	Milliseconds int64 `json:"ms"`
}

// AppendJSON appends the request as JSON. A run may have tens of thousands of timers, and
// encoding/json takes six times as long.
func (s *Sleep) AppendJSON(b []byte) ([]byte, error) {
	return append(strconv.AppendInt(append(b, `{"ms":`...), s.Milliseconds, 10), '}'), nil
}

// Clock returns the current time as a *Time.
type Clock struct{}

// Time is a point in time. Unix is in milliseconds since the epoch. Monotonic is in milliseconds
// since the start of the run.
type Time struct {
	Unix      int64 `json:"unix_ms"`
	Monotonic int64 `json:"monotonic_ms"`
}

// Zone returns the offset of a time zone as an *Offset. The zone is an IANA name ("Europe/Berlin").
// The time is in milliseconds since the epoch.
type Zone struct {
	Name string `json:"name"`
	Unix int64  `json:"unix_ms"`
}

// Offset describes a time zone at a point in time. Seconds is the offset east of UTC. Abbreviation
// is the zone's name at that time ("CEST").
type Offset struct {
	Seconds      int64  `json:"seconds"`
	Abbreviation string `json:"abbreviation"`
}

// Kind returns KindSleep.
func (*Sleep) Kind() Kind { return KindSleep }

// Kind returns KindClock.
func (*Clock) Kind() Kind { return KindClock }

// Kind returns KindZone.
func (*Zone) Kind() Kind { return KindZone }

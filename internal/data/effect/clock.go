package effect

// The kinds of the clock.
const (
	KindSleep Kind = "sleep"
	KindClock Kind = "clock"
	KindZone  Kind = "clock.zone"
)

// Sleep waits. Its result is nil.
type Sleep struct {
	Milliseconds int64 `json:"ms"`
}

// Clock returns the time as a *Time.
type Clock struct{}

// Time is an instant: Unix is in milliseconds since the epoch, Monotonic in
// milliseconds since the run began.
type Time struct {
	Unix      int64 `json:"unix_ms"`
	Monotonic int64 `json:"monotonic_ms"`
}

// Zone returns the offset of a time zone, given by its IANA name ("Europe/Berlin"), at an instant
// in milliseconds since the epoch, as an *Offset.
type Zone struct {
	Name string `json:"name"`
	Unix int64  `json:"unix_ms"`
}

// Offset describes a time zone at an instant: Seconds is the offset east of
// UTC, Abbreviation the zone's name at that time ("CEST").
type Offset struct {
	Seconds      int64  `json:"seconds"`
	Abbreviation string `json:"abbreviation"`
}

// Kind is KindSleep.
func (*Sleep) Kind() Kind { return KindSleep }

// Kind is KindClock.
func (*Clock) Kind() Kind { return KindClock }

// Kind is KindZone.
func (*Zone) Kind() Kind { return KindZone }

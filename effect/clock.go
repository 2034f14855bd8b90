package effect

// The kinds of the clock.
const (
	KindSleep Kind = "sleep"
	KindClock Kind = "clock"
)

// Sleep waits. Its result is nil.
type Sleep struct {
	Milliseconds int64 `json:"ms"`
}

// Clock reads the clocks and gives a *Time.
type Clock struct{}

// Time is an instant: Unix is milliseconds since the epoch, Monotonic
// milliseconds since the run began.
type Time struct {
	Unix      int64 `json:"unix_ms"`
	Monotonic int64 `json:"monotonic_ms"`
}

// Kind is KindSleep.
func (*Sleep) Kind() Kind { return KindSleep }

// Kind is KindClock.
func (*Clock) Kind() Kind { return KindClock }

// Package clock performs effect.Sleep, effect.Clock and effect.Zone. A running program reads the
// time only through this package.
package clock

import (
	"context"
	"errors"
	"syscall"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

// Clock performs effect.Sleep, effect.Clock and effect.Zone. It is safe for concurrent use.
type Clock struct {
	clock *PausableClock
	start time.Time
}

// New returns a Clock whose monotonic time starts now. It follows clock, which may be nil.
func New(clock *PausableClock) *Clock { return &Clock{clock: clock, start: clock.Now()} }

// Perform waits, reads the clocks, or looks up a time zone. It uses the system's time zone data, or
// that of package time/tzdata if the system has none and the program links it. If ctx ends during a
// wait, Perform returns ctx's cause.
func (c *Clock) Perform(ctx context.Context, r effect.Request) (effect.Result, error) {
	switch r := r.(type) {
	case *effect.Clock:
		now := c.clock.Now()
		return &effect.Time{Unix: now.UnixMilli(), Monotonic: now.Sub(c.start).Milliseconds()}, nil
	case *effect.Sleep:
		return nil, c.clock.Sleep(ctx, milliseconds(r.Milliseconds))
	case *effect.Zone:
		return zone(r)
	}
	return nil, &effect.UnperformedError{Who: "the clock", Kind: r.Kind()}
}

// maxSleep is the maximum sleep in milliseconds, about 292 years, so that it fits into a
// time.Duration.
const maxSleep = int64(1<<63-1) / int64(time.Millisecond)

func milliseconds(n int64) time.Duration { return time.Duration(min(n, maxSleep)) * time.Millisecond }

// zone returns the offset of a time zone from UTC. The system's local zone has no name, because a
// program must not depend on the settings of the machine.
func zone(q *effect.Zone) (effect.Result, error) {
	location, err := time.LoadLocation(q.Name)
	if errors.Is(err, syscall.EIO) { // in a page, the archive of time zones could not be fetched
		return nil, effect.Errorf("RuntimeError", "the time zones could not be read: %v", err)
	}
	if err != nil || q.Name == "" || q.Name == "Local" {
		return nil, effect.Errorf("RuntimeError", "unknown time zone %q: use a name such as \"Europe/Berlin\"", q.Name)
	}
	name, seconds := time.UnixMilli(q.Unix).In(location).Zone()
	return &effect.Offset{Seconds: int64(seconds), Abbreviation: name}, nil
}

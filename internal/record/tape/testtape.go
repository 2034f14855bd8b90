package tape

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

// TestTape answers a test's requests from its tape (spec/25-tapes.md) and, while a tape is
// recorded, performs and records requests that are missing there. A nil TestTape answers nothing.
// It is safe for concurrent use.
type TestTape struct {
	mu       sync.Mutex
	there    bool // the test has a tape
	player   *Player
	recorder *Recorder // nil records nothing
	n        int64     // number of effects so far
	base     int64     // added to the numbers of recorded effects
	recorded int
	why      error // why the last effect was not found
}

// recordedAreas lists the areas that a tape can answer for a test. Everything else depends only on
// the test itself.
var recordedAreas = []effect.Area{effect.Models, effect.Hosts, effect.Servers, effect.Web, effect.Commands, effect.Files, effect.Environment, effect.Applications}

// firstNumber is the first number of objects opened on a tape; the runtime's own are lower.
const firstNumber = 1 << 40

// NewTestTape begins a test. t is its tape, with secrets removed from its requests, or nil. record
// receives the lines of requests that are missing there; nil records none. clean removes secrets
// from lines and requests. Without a tape the lines begin with h.
func NewTestTape(t *Tape, record io.Writer, h Header, clean func([]byte) []byte) *TestTape {
	b := &TestTape{there: t != nil}
	if t == nil {
		t = &Tape{}
	}
	b.player = Play(t)
	b.player.Clean, b.player.before = clean, firstNumber
	for i := range t.Entries {
		b.base = max(b.base, t.Entries[i].E)
	}
	switch {
	case record == nil:
	case b.there:
		b.recorder = continueTape(record, clean)
	default:
		b.recorder = Record(record, h, clean)
	}
	return b
}

// isRecordable reports whether a tape can answer a request of a test.
func isRecordable(r effect.Request) bool {
	k := r.Kind()
	return Recorded(k) && slices.Contains(recordedAreas, effect.Of(k).By) && (effect.Of(k).By != effect.Applications || k == effect.KindAppCall)
}

// Perform returns the recorded result of a request, or performs and records it. Otherwise found is
// false.
func (b *TestTape) Perform(ctx context.Context, r effect.Request, next effect.Performer) (result effect.Result, found bool, err error) {
	if b == nil || !isRecordable(r) {
		return nil, false, nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	live := false
	if about, ok := r.(effect.Numbered); ok && *about.Number() < firstNumber {
		if live = b.opened(r, *about.Number()); !live {
			return nil, false, nil
		}
	}
	b.n++
	n := b.n
	if !live {
		var missing *DivergedError
		result, _, err = b.player.Result(firstNumber+n, r)
		if !errors.As(err, &missing) {
			return result, true, err
		}
		if b.why = nil; b.there {
			b.why = missing
		}
		if _, about := r.(effect.Numbered); about || b.recorder == nil {
			return nil, false, nil
		}
	}
	b.mu.Unlock()
	result, err = next.Perform(ctx, r)
	b.mu.Lock()
	if !errors.Is(err, effect.ErrWaits) {
		// a test that only reads variables needs no tape
		if effect.Of(r.Kind()).By != effect.Environment {
			b.recorded++
		}
		b.recorder.EffectEnded(b.base+n, r, result, err, nil)
	}
	return result, true, err
}

// opened reports whether the recorder knows the object of a request.
func (b *TestTape) opened(r effect.Request, number int64) bool {
	if b.recorder == nil {
		return false
	}
	_, ok := b.recorder.opened[objectKey{r.Kind().Family(), number}]
	return ok
}

// Closes reports whether a request that was not found must not be performed: the test has a tape,
// and tapes contain file accesses.
func (b *TestTape) Closes(r effect.Request) bool {
	return b != nil && b.there && isRecordable(r) && effect.Of(r.Kind()).By == effect.Files
}

// Why returns how the last request that was not found differs from the tape, or "".
func (b *TestTape) Why() string {
	if b == nil || b.why == nil {
		return ""
	}
	return b.why.Error()
}

// EndRecording ends the recording and returns how many of its lines require a tape. The exit
// code represents the end of the test.
func (b *TestTape) EndRecording() (lines int, err error) {
	if b.recorder == nil || b.recorded == 0 {
		return 0, nil
	}
	return b.recorded, b.recorder.Close(0)
}

// Unused counts the tape's entries that the test has not used, by kind.
func (b *TestTape) Unused() (kinds []string, n int) {
	kinds, n = b.player.Unused()
	if len(kinds) == 1 && kinds[0] == string(effect.KindAppCall) { // these are called functions
		return nil, 0
	}
	return kinds, n
}

// RecordCall records a call of a tool that reached outside, unless it is on the tape.
func (b *TestTape) RecordCall(r *effect.AppCall, result effect.Result) {
	if b == nil || b.recorder == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.n++
	if _, _, err := b.player.Result(firstNumber+b.n, r); err != nil {
		b.recorded++
		b.recorder.EffectEnded(b.base+b.n, r, result, nil, nil)
	}
}

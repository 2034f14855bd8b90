package tape

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

// TestTape answers the requests of a test from its tape (spec/25-tapes.md). While a tape is
// recorded, it performs and records requests that the tape does not contain. A nil TestTape answers
// no requests. It is safe for concurrent use.
type TestTape struct {
	mu       sync.Mutex
	there    bool // the test has a tape
	player   *Player
	recorder *Recorder // nil if nothing is recorded
	n        int64     // number of effects so far
	base     int64     // highest effect number on the tape, added to the numbers of new entries
	recorded int
	why      error // error of the last request that was not found
}

// recordedAreas lists the areas of effects that a test's tape can contain. All other effects depend
// only on the test itself.
var recordedAreas = []effect.Area{effect.Models, effect.Hosts, effect.Servers, effect.Web, effect.Commands, effect.Files, effect.Environment, effect.Applications}

// firstNumber is the first number of the objects that a tape opens. The runtime assigns smaller
// numbers.
const firstNumber = 1 << 40

// NewTestTape starts a test. t is its tape, whose requests must not contain secrets, or nil. record
// receives the lines of requests that the tape does not contain; nil means that such requests are
// not performed. clean replaces secrets in lines and requests. Without a tape, the header h is
// written first.
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

// isRecordable reports whether the tape of a test can contain a request.
func isRecordable(r effect.Request) bool {
	k := r.Kind()
	return Recorded(k) && slices.Contains(recordedAreas, effect.Lookup(k).By) && (effect.Lookup(k).By != effect.Applications || k == effect.KindAppCall)
}

// Perform returns the recorded result of a request, or performs and records it. found is false if
// it does neither.
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
		// variables alone do not require a tape
		if effect.Lookup(r.Kind()).By != effect.Environment {
			b.recorded++
		}
		b.recorder.EffectEnded(b.base+n, r, result, err, nil)
	}
	return result, true, err
}

// opened reports whether the recorder has recorded the opening of the request's object.
func (b *TestTape) opened(r effect.Request, number int64) bool {
	if b.recorder == nil {
		return false
	}
	_, ok := b.recorder.opened[objectKey{r.Kind().Family(), number}]
	return ok
}

// Closes reports whether a request that was not found must fail instead of being performed. This is
// the case for file accesses of a test with a tape.
func (b *TestTape) Closes(r effect.Request) bool {
	return b != nil && b.there && isRecordable(r) && effect.Lookup(r.Kind()).By == effect.Files
}

// Why returns the difference between the tape and the last request that was not found, or "".
func (b *TestTape) Why() string {
	if b == nil || b.why == nil {
		return ""
	}
	return b.why.Error()
}

// EndRecording ends the recording. It returns the number of recorded lines that require a tape. The
// tape's exit code 0 marks the end of the test.
func (b *TestTape) EndRecording() (lines int, err error) {
	if b.recorder == nil || b.recorded == 0 {
		return 0, nil
	}
	return b.recorded, b.recorder.Close(0)
}

// Unused returns the kinds of the recorded effects that the test has not performed, and their
// number.
func (b *TestTape) Unused() (kinds []string, n int) {
	kinds, n = b.player.Unused()
	if len(kinds) == 1 && kinds[0] == string(effect.KindAppCall) { // tools that are functions of programs are run again and do not use their entries
		return nil, 0
	}
	return kinds, n
}

// RecordCall records the call of a tool that was performed outside the tape, unless the tape
// contains it.
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

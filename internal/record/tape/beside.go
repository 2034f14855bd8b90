package tape

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

// Beside stands between a test and the world (spec/25-tapes.md): what the test asks of the world
// comes from the test's tape and, where a tape is recorded, what is missing there from the world.
// A nil Beside has nothing. Safe for concurrent use.
type Beside struct {
	mu       sync.Mutex
	there    bool // the test has a tape
	player   *Player
	recorder *Recorder // nil: nothing is recorded
	n        int64     // effects so far
	base     int64     // what precedes the numbers of recorded ones
	recorded int
	why      error // why the last effect was not found
}

// besides are the areas of what a test may get from its tape. In a test, all else follows from
// the test itself.
var besides = []effect.Area{effect.Models, effect.Hosts, effect.Servers, effect.Web, effect.Commands, effect.Files, effect.Environment, effect.Applications}

// firstTaped is the first number of what was opened on a tape; the runtime's own are below.
const firstTaped = 1 << 40

// NewBeside begins a test. t is its tape, without secrets in its requests, or nil; record takes
// the lines of what is missing there, nil for nothing, and clean removes secrets from them and from
// requests. Where there is no tape the lines begin with h.
func NewBeside(t *Tape, record io.Writer, h Header, clean func([]byte) []byte) *Beside {
	b := &Beside{there: t != nil}
	if t == nil {
		t = &Tape{}
	}
	b.player = Play(t)
	b.player.Clean, b.player.before = clean, firstTaped
	for i := range t.Entries {
		b.base = max(b.base, t.Entries[i].E)
	}
	switch {
	case record == nil:
	case b.there:
		b.recorder = recorder(record, clean)
	default:
		b.recorder = Record(record, h, clean)
	}
	return b
}

// asked says whether a test may get from its tape what a request is for.
func asked(r effect.Request) bool {
	k := r.Kind()
	return Recorded(k) && slices.Contains(besides, effect.Of(k).By) && (effect.Of(k).By != effect.Applications || k == effect.KindAppCall)
}

// Perform gives what is on the tape for a request, or performs and records it. found is false
// when neither is so.
func (b *Beside) Perform(ctx context.Context, r effect.Request, next effect.Performer) (result effect.Result, found bool, err error) {
	if b == nil || !asked(r) {
		return nil, false, nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	live := false
	if about, ok := r.(effect.Numbered); ok && *about.Number() < firstTaped {
		if live = b.opened(r, *about.Number()); !live {
			return nil, false, nil
		}
	}
	b.n++
	n := b.n
	if !live {
		var missing *DivergedError
		result, _, err = b.player.Perform(firstTaped+n, r)
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
		if effect.Of(r.Kind()).By != effect.Environment { // for variables alone no test needs a tape
			b.recorded++
		}
		b.recorder.Ended(b.base+n, r, result, err, nil)
	}
	return result, true, err
}

// opened says whether the recorder knows what a request is about.
func (b *Beside) opened(r effect.Request, number int64) bool {
	if b.recorder == nil {
		return false
	}
	_, known := b.recorder.opened[number64{r.Kind().Family(), number}]
	return known
}

// Closes says whether a request that was not found may not go to the world: the test has a tape,
// and files are on it.
func (b *Beside) Closes(r effect.Request) bool {
	return b != nil && b.there && asked(r) && effect.Of(r.Kind()).By == effect.Files
}

// Why says in what the last request that was not found differs from the tape; "" without a tape.
func (b *Beside) Why() string {
	if b == nil || b.why == nil {
		return ""
	}
	return b.why.Error()
}

// Recorded is how many lines a tape is needed for, of those that were recorded, and ends them. The code stands for how the test ended.
func (b *Beside) Recorded() (lines int, err error) {
	if b.recorder == nil || b.recorded == 0 {
		return 0, nil
	}
	return b.recorded, b.recorder.Close(0)
}

// Unused counts the entries of the tape that the test has not asked for, by their kinds.
func (b *Beside) Unused() (kinds []string, n int) {
	kinds, n = b.player.Unused()
	if len(kinds) == 1 && kinds[0] == string(effect.KindAppCall) { // of functions, which are called
		return nil, 0
	}
	return kinds, n
}

// Called records a call of a tool that reached outside, unless it is on the tape.
func (b *Beside) Called(r *effect.AppCall, result effect.Result) {
	if b == nil || b.recorder == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.n++
	if _, _, err := b.player.Perform(firstTaped+b.n, r); err != nil {
		b.recorded++
		b.recorder.Ended(b.base+b.n, r, result, nil, nil)
	}
}

package durable

import (
	"fmt"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/record/journal"
	"github.com/concerto-lang/concerto/internal/record/tape"
	"github.com/concerto-lang/concerto/internal/text/hexsum"
)

func digestOf(text []byte) string {
	if string(text) == "{}" {
		return ""
	}
	return hexsum.SHA256(text)[:32]
}

// diverged returns the error for a request of effect e that differs from the recorded one. x is the
// record of the effect, or nil if the journal does not contain it. text is the new request.
func (p *past) diverged(e int64, q effect.Request, x *journal.Record, text []byte) error {
	out := &tape.DivergedError{Journal: true, Effect: e, Kind: q.Kind(), Reason: ", but the program continues differently"}
	if x == nil {
		return out
	}
	was := effect.Kind(x.Kind)
	if x.RecordKind == journal.KLines {
		was = effect.KindExchangeNext
	}
	if out.Reason = fmt.Sprintf(": its request differs (record %d)", x.Seq); was != out.Kind {
		out.Reason = fmt.Sprintf(": effect %d was %s (record %d)", e, was, x.Seq)
	}
	out.Diff = tape.Differ(x.Request, text)
	return out
}

// divergedOutput returns the error for an output line that is missing or differs from the recorded
// line.
func divergedOutput(line int64) error {
	return &tape.DivergedError{Journal: true, Reason: fmt.Sprintf("line %d of the output differs from the recorded output", line)}
}

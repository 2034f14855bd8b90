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

// diverged returns the error for a request that differs from the recorded effect e. x is its
// record, or nil if the journal has no such effect.
func (p *past) diverged(e int64, q effect.Request, x *journal.Record, text []byte) error {
	out := &tape.DivergedError{Journal: true, Effect: e, Kind: q.Kind(), Reason: ", but the program continues differently"}
	if x == nil {
		return out
	}
	was := effect.Kind(x.Q)
	if x.K == journal.KLines {
		was = effect.KindExchangeNext
	}
	if out.Reason = fmt.Sprintf(": its request differs (record %d)", x.S); was != out.Kind {
		out.Reason = fmt.Sprintf(": effect %d was %s (record %d)", e, was, x.S)
	}
	out.Diff = tape.Differ(x.R, text)
	return out
}

// divergedOutput returns the error for a line of output that differs or is missing.
func divergedOutput(line int64) error {
	return &tape.DivergedError{Journal: true, Reason: fmt.Sprintf("line %d of the output differs from the recorded output", line)}
}

package durable

import (
	"fmt"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/record/journal"
	"github.com/concerto-lang/concerto/internal/record/tape"
)

func digestOf(text []byte) string {
	if string(text) == "{}" {
		return ""
	}
	return digest(text)
}

// Strayed says that a run has made another effect than the journal holds.
type Strayed struct {
	Effect int64
	Kind   effect.Kind
	Was    effect.Kind // "" when the journal has no such effect
	Record uint64      // where it stands; 0 for none
	Diff   string      // from what was asked to what is
	Output int64       // the line of output that is another one, or missing; then there is no effect
	Ended  bool        // it has ended before it had done what the run has
}

func (e *Strayed) Error() string {
	if e.Ended {
		return "the program ends before it has done what the run has"
	}
	if e.Output > 0 {
		return fmt.Sprintf("line %d of the output is another one than the run has put out", e.Output)
	}
	text := fmt.Sprintf("%s (effect %d) is not in the journal", e.Kind, e.Effect)
	switch {
	case e.Was == "":
		return text + ", which goes on otherwise"
	case e.Was != e.Kind:
		text += fmt.Sprintf(": effect %d was %s (record %d)", e.Effect, e.Was, e.Record)
	default:
		text += fmt.Sprintf(": it was asked for otherwise (record %d)", e.Record)
	}
	if e.Diff != "" {
		text += ":\n" + e.Diff
	}
	return text
}

func (p *past) strayed(e int64, q effect.Request, x *journal.Record, text []byte) error {
	out := &Strayed{Effect: e, Kind: q.Kind()}
	if x != nil {
		out.Was, out.Record = effect.Kind(x.Q), x.S
		if x.K == journal.KLines {
			out.Was = effect.KindExchangeNext
		}
		out.Diff = tape.Differ(x.R, text)
	}
	return out
}

package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/record/tape"
	"github.com/concerto-lang/concerto/ir"
	"github.com/concerto-lang/concerto/vm"
)

// IsSample reports whether the tape is that of a sample of an eval.
func (t *Tape) IsSample() bool { return t.tape.Eval != nil }

// errSampleTape is the error of a command that replays runs of main.
var errSampleTape = errors.New("it is the tape of a sample: `concerto eval --cached` runs samples from their tapes, and `concerto runs inspect` steps through one")

// WholeSample is a sample for package timetravel: its tape with all effects, and the call of the
// eval.
type WholeSample struct {
	Tape     []byte
	Program  []byte               // encoded
	Edit     func(effect.Request) // changes each request as in the sample
	Function int                  // index in ir.Program.Functions
	RowType  int                  // index in ir.Program.Types
	Row      []byte               // JSON
}

// WholeSample runs a sample from its tape, which is text, and returns a tape with all effects, also
// those that the sample itself answers. The program must have been compiled with its evals. Nothing
// is requested.
func (p *Program) WholeSample(ctx context.Context, text []byte, o Options) (*WholeSample, error) {
	t, err := tape.ReadCutOff(text)
	if err == nil {
		t, err = t.Restore(tape.NewSecrets(o.Environ).Value)
	}
	if err != nil {
		return nil, err
	}
	evals, err := p.Evals(o.Dir)
	if err != nil {
		return nil, err
	}
	for _, e := range evals {
		if e.Function != t.Eval.Function {
			continue
		}
		s, err := p.NewSampler(o, time.Hour, 0)
		if err != nil {
			return nil, err
		}
		seed, err := strconv.ParseInt(t.Seed, 10, 64)
		if err != nil {
			return nil, firstError(fmt.Errorf("could not read the seed of the tape: %w", err), s.Close())
		}
		var whole bytes.Buffer
		_, err = s.Run(ctx, SampleRequest{Eval: e, Row: t.Eval.Row, Seed: seed, Models: t.Eval.Models, Tape: text, Offline: true, Whole: &whole,
			Create: func([]byte) (io.WriteCloser, error) { return nil, errors.New("nothing is recorded") }})
		if err := firstError(err, s.Close()); err != nil {
			return nil, err
		}
		edit := func(r effect.Request) { s.changeModel(r, t.Eval.Models) }
		return &WholeSample{whole.Bytes(), ir.Encode(s.ir), edit, e.eval.Function, e.eval.Row, t.Eval.Row}, nil
	}
	return nil, fmt.Errorf("the program has no eval %s", t.Eval.Function)
}

// teeJournal passes everything to a sample's tape, and to a recorder that records all effects.
type teeJournal struct {
	*tape.Sample
	whole *tape.Recorder
}

// Journal implements vm.Durable.
func (j *teeJournal) Journal() vm.Journal { return j }

// EffectEnded records the result of an effect.
func (j *teeJournal) EffectEnded(e int64, r effect.Request, result effect.Result, err error, at *vm.Moment) {
	j.Sample.EffectEnded(e, r, result, err, at)
	j.whole.EffectEnded(e, r, result, err, at)
	_ = j.whole.Flush() // to memory
}

// EffectDeferred records that an effect could not be performed at once.
func (j *teeJournal) EffectDeferred(e int64, r effect.Request, at vm.Moment) {
	j.Sample.EffectDeferred(e, r, at)
	j.whole.EffectDeferred(e, r, at)
}

package engine

import (
	"context"
	"encoding/json"
	"io"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/record/tape"
	"github.com/concerto-lang/concerto/runtime/world/emit"
	"github.com/concerto-lang/concerto/vm"
)

// DecidedPrompt is the kind of a ReplayedDecision about the start of an exchange with a host.
const DecidedPrompt = "prompt"

// ReplayedDecision is a decision of a program while a recorded run was replayed, or, if Kind is
// DecidedPrompt, the start of an exchange: Answer then contains what the host receives.
type ReplayedDecision struct {
	vm.Decision
	// Entry is the index of the entry on the tape that the decision corresponds to, and Exchange
	// that of the entry that opens its exchange. -1 means none.
	Entry, Exchange int
}

// PolicyReplay is the replay of a recorded run by a program whose decisions may differ.
type PolicyReplay struct {
	Tape      *tape.Tape         // the recorded run
	Owners    []int              // for each entry of the tape, the index of the entry that opens its exchange; -1 for none
	Decisions []ReplayedDecision // of the program, in order, with marks for secrets
	Unused    []int              // indexes of the entries that the program has not used
	CutOff    bool               // the replay ended where the tape was cut off
	Err       error              // error with which the program ended, or a *tape.DivergedError; nil for none
	// SamePrompt reports whether two prompts are equal by the rules of the comparison.
	SamePrompt func(a, b json.RawMessage) bool
}

// ReplayPolicy replays a recorded run to find out which decisions of the program differ
// (spec/49-eval.md). Hosts send what they sent in the recorded run, whatever the program answers.
// It makes no requests, reads no environment variables and writes no output. If normalized is true,
// requests may differ from recorded ones in white space, in the working directory and in the ids of
// runs. The error is the cause of ctx's end, or the reason why the replay could not begin.
func (p *Program) ReplayPolicy(ctx context.Context, t *Tape, normalized bool, o Options) (*PolicyReplay, error) {
	o.Environ, o.Log = nil, io.Discard
	o.Output = Output{To: io.Discard, Mode: emit.None}
	cwd := o.WorkDir
	r, err := p.newReplay(t, &o)
	if err != nil {
		return nil, err
	}
	var normalize func([]byte) []byte
	if normalized {
		normalize = tape.NewNormalizer(cwd, o.Session.Cwd).JSON
	}
	r.player.ComparePolicy(normalize)
	made := &madeDecisions{places: map[int64]vm.Place{}, exchanges: map[int64]int64{}}
	r.config.Observer = &watch{activity: made, decisions: made}
	err = r.run(ctx, &o)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	clean := r.player.Clean
	out := &PolicyReplay{Tape: r.tape, Owners: r.player.Owners(), Decisions: made.all, Unused: r.player.UnusedEntries(), CutOff: r.player.CutOff(), Err: cleanError(r.world, err), SamePrompt: r.player.IsSame}
	for i := range out.Decisions {
		m := &out.Decisions[i]
		m.Entry, m.Exchange = r.player.EntryOf(m.Effect), r.player.ExchangeOf(made.exchanges[m.Effect])
		m.Answer, m.Asked = clean(m.Answer), clean(m.Asked)
		if m.At.File == "" {
			m.At = made.places[m.Effect]
		}
	}
	return out, nil
}

// madeDecisions collects the decisions of a replay. It is a vm.Activity and a vm.Decisions.
type madeDecisions struct {
	vm.NoActivity
	all       []ReplayedDecision
	places    map[int64]vm.Place // places of the effects that a decision may correspond to
	exchanges map[int64]int64    // numbers of the exchanges of replies, by effect
}

// Now returns 0, because durations are not compared.
func (*madeDecisions) Now() int64 { return 0 }

// Decided collects a decision.
func (m *madeDecisions) Decided(d *vm.Decision) error {
	m.all = append(m.all, ReplayedDecision{Decision: *d})
	return nil
}

// Requested collects the prompts of exchanges, and places.
func (m *madeDecisions) Requested(e int64, at vm.Caller, r effect.Request) func(effect.Result, error) {
	switch q := r.(type) {
	case *effect.ExchangeOpen:
		m.all = append(m.all, ReplayedDecision{Decision: vm.Decision{Kind: DecidedPrompt, Effect: e, Host: q.Host, Answer: tape.PromptOf(q)}})
		m.places[e] = at.Place()
	case *effect.ExchangeReply:
		m.exchanges[e] = q.ID
		m.places[e] = at.Place()
	case *effect.AwaitEmit, *effect.AppDecide:
		m.places[e] = at.Place()
	}
	return nil
}

package vm

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
)

// Gates of an exchange. The library runs them when a turn has ended with a result. This file
// contains their state, because a listen and a stream have different loops.

// gates is the state of the gates of an exchange.
type gates struct {
	turns    []int64         // number of further turns that each gate has requested
	proofs   []effect.Proof  // of the gates that have passed since the turn ended
	decision *openDecision   // on the gate that is running, if it is a function
	running  effect.Proof    // of the gate that is running
	of       json.RawMessage // what the record of the running gate contains as the request
}

// Gates lets the library run the gates of an exchange. It is valid during the call of a native.
type Gates struct {
	*gates
	args   *Args
	t      *task
	decl   *Host
	id     int64       // of the exchange
	effect int64       // number of the last request for messages
	turn   int64       // number of the turn that has ended, from 1
	stream *hostStream // nil for a listen
	scope  *scope      // nil for a stream
}

// GatesOf returns the gates of the stream in argument 0 of a native, or of the innermost listen if
// that is nil.
func GatesOf(a *Args) *Gates {
	t := a.run().sched.current
	if !value.Flatten(a.Slot(0)).IsNil() {
		x := a.hostStreamIn(0)
		return &Gates{x.gates, a, t, x.decl, x.id, x.effect, x.turns + 1, x, nil}
	}
	s := t.innermost()
	return &Gates{s.further.gates, a, t, s.decl, s.id, s.effect, s.further.turns + 1, nil, s}
}

// GateCommands returns the commands of the gate in the manifest of the host in argument 0, as an
// Array of Arrays, and the time limit of each in seconds.
func GateCommands(a *Args) value.Slot {
	d, all := a.Host(0), value.NewArray()
	for _, command := range d.Gate {
		words := value.NewArray()
		for _, word := range command {
			words.Push(value.String(word))
		}
		all.Push(words.Slot())
	}
	return value.Tuple(all.Slot(), value.Float(d.GateTimeout))
}

// BeginAll begins to run the gates on the result of a turn. It returns the number of the turn.
func (g *Gates) BeginAll() value.Slot {
	g.proofs = nil
	return value.Int(g.turn)
}

// Begin begins a gate: the function in argument 1, or the command that is a text there. It returns
// the gate's name.
func (g *Gates) Begin() value.Slot {
	name, by := "", value.Flatten(g.args.Slot(1))
	if by.Kind() == value.KindString {
		name = by.AsString()
	} else {
		name = gateName(g.t.m.image.entryOf(functionOf(by)))
	}
	g.running = effect.Proof{Gate: name, Turn: g.turn}
	g.of = jsonwrite.MustEncode(map[string]any{"gate": name})
	if d := g.t.m.observed.decisions; d != nil && by.Kind() == value.KindClosure {
		g.decision = &openDecision{outer: g.t.openDecision(), asked: g.of, since: d.Now()}
		g.t.setOpenDecision(g.decision)
	}
	return value.String(name)
}

// gateName returns the name of a function that is a gate; for a closure, its place.
func gateName(at Place) string {
	if strings.Contains(at.Function, " ") { // a closure
		return fmt.Sprintf("%s:%d", at.File, at.Line)
	}
	return at.Function
}

// Ask performs the gate that has begun: a command with a time limit in seconds, or a function,
// without a command, that has failed with failure or has passed. The result is the tuple (failure,
// output, tree, ms).
func (g *Gates) Ask(command []string, timeout float64, failure string) (value.Slot, error) {
	r := &effect.ExchangeGate{ID: g.id, Gate: g.running.Gate, Turn: g.turn, Command: command, Timeout: timeout, Failure: failure}
	return g.args.Ask(r, func(result effect.Result) (value.Slot, error) {
		o := result.(*effect.GateOutput)
		return value.Tuple(value.String(o.Failure), value.String(o.Output), value.String(o.Tree), value.Int(o.MS)), nil
	})
}

// End records the result of the gate that is running. problem is "" if it has passed.
func (g *Gates) End(problem, output, tree string, ms int64) error {
	p := g.running
	p.MS, p.Tree = ms, tree
	if problem == "" {
		g.proofs = append(g.proofs, p)
	}
	d := &Decision{Kind: DecidedGate, Effect: g.effect, Host: g.decl.Name, Asked: g.of, By: effect.ByRules, Name: p.Gate,
		Gate: &GateResult{Turn: p.Turn, Passed: problem == "", Output: output, Tree: tree}, Problem: problem, MS: ms}
	if g.decision != nil {
		if d.Path = g.decision.parts; len(d.Path) > 0 {
			d.By, d.Name = effect.ByHandler, ""
		}
		g.t.endDecision(g.decision)
		g.decision = nil
	}
	if listener := g.t.m.observed.decisions; listener != nil {
		if err := listener.Decided(d); err != nil {
			return &endsRun{err}
		}
	}
	return nil
}

// BeginTurn reports whether a further turn may begin because gate i, counted from 0, has not
// passed. most is the maximum number of turns that it may request.
func (g *Gates) BeginTurn(i, most int64) bool {
	for int64(len(g.turns)) <= i {
		g.turns = append(g.turns, 0)
	}
	if g.turns[i] >= most || !g.decl.Continues {
		return false
	}
	g.turns[i]++
	if g.scope != nil {
		g.scope.further.misfit = ""
	}
	return true
}

// Turns returns the number of further turns that gate i, counted from 0, has requested.
func (g *Gates) Turns(i int64) int64 {
	if i < int64(len(g.turns)) {
		return g.turns[i]
	}
	return 0
}

// withProofs returns the result of an exchange with its proofs.
func (g *gates) withProofs(result value.Slot) value.Slot {
	if g == nil || len(g.proofs) == 0 {
		return result
	}
	all := value.NewMap(result.Map().Len() + 1)
	copyMembers(all, result.Map())
	proofs, err := value.Parse(jsonwrite.MustEncode(g.proofs))
	if err != nil {
		panic(err) // it is encoded here
	}
	all.SetString("proved_by", proofs)
	return all.Slot()
}

// copyMembers adds the members of a map to another.
func copyMembers(to, from *value.Map) {
	from.Each(func(k, v value.Slot) bool {
		value.Share(v)
		to.Set(k, v)
		return true
	})
}

// Pass ends the gates of a stream after all have passed, and the stream if no message awaits an
// answer. It returns the members of the result in argument 1 with the proofs.
func (g *Gates) Pass() value.Slot {
	out := g.withProofs(value.Flatten(g.args.Slot(1)))
	value.Share(out)
	if g.stream.asks.live == 0 {
		g.stream.close(g.t, "")
	}
	return out
}

// Continue begins a further turn of the exchange of a stream, whose last turn has ended with the
// result in argument 1.
func (g *Gates) Continue(prompt string) (value.Slot, error) {
	x, result := g.stream, value.Flatten(g.args.Slot(1))
	value.Share(result)
	r := &effect.ExchangeContinue{ID: x.id, Prompt: prompt, Reason: effect.ContinueGate}
	return g.args.Ask(r, func(effect.Result) (value.Slot, error) {
		x.turns++
		x.over, x.prompt = false, prompt
		m := turnEnd(result)
		x.add(&m)
		return value.Nil, nil
	})
}

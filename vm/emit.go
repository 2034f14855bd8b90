package vm

import (
	"cmp"
	"errors"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/schema"
	"github.com/concerto-lang/concerto/internal/data/value"
)

func opEmit(t *task, in *ins) status {
	return t.emitFrom(in, &effect.Emit{Payload: t.json(*t.slot(in.b))})
}

func opEmitBare(t *task, in *ins) status { return t.emitFrom(in, &effect.Emit{}) }

func opAwaitEmit(t *task, in *ins) status { return t.awaitEmit(in, nil) }

func opAwaitEmitAs(t *task, in *ins) status { return t.awaitEmit(in, t.m.image.types[in.imm]) }

// json encodes a value for output.
func (t *task) json(s value.Slot) []byte { return value.AppendJSONWithin(nil, s, &t.m.memory.text) }

// emitFrom emits on the channel in register a.
func (t *task) emitFrom(in *ins, e *effect.Emit) status {
	channel := t.slot(in.a).Str()
	if channel == nil {
		return t.badOperand(in)
	}
	e.Channel = channel.S
	return t.emit(e)
}

// performEmit performs an emit and returns the resulting error without raising it.
func (t *task) performEmit(e *effect.Emit) error {
	t.m.stats.Requests++
	if t.served != nil {
		t.served.call.Emitted(e)
	}
	_, err := t.performEffect(t.m.requests.ctx, e)
	return err
}

// emit performs an emit of the program or of the VM itself.
func (t *task) emit(e *effect.Emit) status {
	if err := t.performEmit(e); err != nil {
		if t.cancelled() {
			return raising
		}
		return t.failRun(err)
	}
	return running
}

// awaitEmit asks the application for a value of type want, or of any type if want is nil.
func (t *task) awaitEmit(in *ins, want *value.Type) status {
	channel := t.slot(in.a + 1).Str()
	if channel == nil {
		return t.badOperand(in)
	}
	e := &effect.AwaitEmit{Channel: channel.S}
	if in.b > 1 {
		e.Payload = t.json(*t.slot(in.a + 2))
	}
	e.Asks = t.forwardedQuestion(e.Channel)
	w := &wait{kind: waitAnswer, window: in.a}
	if d := t.m.observed.decisions; d != nil {
		t.decisionState().since = d.Now()
	}
	if want != nil {
		if t.m.observed.onWait != nil || t.m.journaled.journal != nil {
			e.Schema, e.Type = schema.Text(want), want.String()
		}
		e.Format, w.payload = schema.AnswerFormat(want), value.NewTypeDesc(want)
	}
	return t.request(e, w)
}

// consumeAnswer passes the answer to an awaited emit to the program. If the answer does not fit the
// type and may be requested again, consumeAnswer repeats the emit.
func (t *task) consumeAnswer(w *wait) status {
	d := t.slot(w.window)
	var e *effect.Error
	if errors.As(w.err, &e) {
		if err := t.recordAwaitedAnswer(w, value.Nil, e.Message); err != nil {
			return t.decisionFailed(err)
		}
		*d = value.Err(programError(e))
		return running
	}
	a := w.result.(*effect.Answer)
	v, misfit := readAnswer(a, w.payload.TypeDesc())
	asked := w.request.(*effect.AwaitEmit)
	if misfit != "" && a.Repeatable {
		second := *asked
		second.Misfit = misfit
		return t.request(&second, &wait{kind: waitAnswer, window: w.window, payload: w.payload})
	}
	if want := w.payload.TypeDesc(); misfit != "" && a.Typed && want != nil {
		if text, err := value.Parse(a.Value); err == nil && text.Kind() == value.KindString {
			misfit = cmp.Or(schema.RefusedWord(text.AsString(), want), misfit)
		}
	}
	if err := t.recordAwaitedAnswer(w, v, misfit); err != nil {
		return t.decisionFailed(err)
	}
	if misfit == "" {
		*d = value.Ok(v)
	} else {
		*d = value.Err(value.NewError("EmitError", misfit, value.ErrorField{Name: "channel", Value: value.String(asked.Channel)},
			value.ErrorField{Name: "reason", Value: value.String("invalid")}))
	}
	return running
}

// readAnswer converts an answer to a value of type want, or returns it unchanged if want is nil.
// misfit is the reason why the answer does not fit, or "" if it does.
func readAnswer(a *effect.Answer, want *value.Type) (v value.Slot, misfit string) {
	v, err := value.Parse(a.Value)
	if err != nil {
		return v, "the answer is not JSON: " + err.Error()
	}
	if want == nil {
		return v, ""
	}
	var errs []schema.FieldError
	if a.Typed && v.Kind() == value.KindString {
		v, errs = schema.ReadAnswer(v.AsString(), want)
	} else {
		v, errs = schema.Convert(v, want)
	}
	return v, schema.Join(errs)
}

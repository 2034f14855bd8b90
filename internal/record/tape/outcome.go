package tape

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/value"
)

// Failure is the recorded error of an effect. Kind is the type of the error in the program, or one
// of the constants below.
type Failure struct {
	Kind    string         `json:"kind"`
	Message string         `json:"message"`
	Fields  map[string]any `json:"fields,omitempty"`
	X       string         `json:"x,omitempty"` // status of the effect; "" means "none"
	// By and Name identify who caused the error, and Seal is the signature of that decision, as in
	// effect.Answer.
	By   string          `json:"by,omitempty"`
	Name string          `json:"name,omitempty"`
	Seal json.RawMessage `json:"seal,omitempty"`
	// Attempts contains the failed attempts at a model.
	Attempts []effect.Attempt `json:"attempts,omitempty"`
}

// Kinds of errors that no program can catch.
const (
	cancelled = "Cancelled" // the effect was cancelled
	broken    = "Broken"    // the error stopped the run
)

var statuses = []string{effect.None: "", effect.Done: "done", effect.Unknown: "unknown"}

// FailureOf returns the recorded form of an error.
func FailureOf(err error) *Failure {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*effect.Error](err); ok {
		return &Failure{Kind: e.Kind, Message: e.Message, Fields: e.Fields, X: statuses[e.Status], By: e.By, Name: e.Name, Seal: e.Seal, Attempts: e.Attempts}
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return &Failure{Kind: cancelled, Message: err.Error()}
	}
	return &Failure{Kind: broken, Message: err.Error()}
}

// Cause converts the failure back to the error.
func (f *Failure) Cause() error {
	switch f.Kind {
	case cancelled:
		return context.Canceled
	case broken:
		return errors.New(f.Message)
	}
	e := &effect.Error{Kind: f.Kind, Message: f.Message, Status: effect.Status(max(slices.Index(statuses, f.X), 0)), By: f.By, Name: f.Name, Seal: f.Seal, Attempts: f.Attempts}
	for name, v := range f.Fields {
		e.With(name, v)
	}
	return e
}

// UnmarshalJSON parses a failure. A number without a point and an exponent is an Int.
func (f *Failure) UnmarshalJSON(text []byte) error {
	type plain Failure
	raw := struct {
		*plain
		Fields map[string]json.RawMessage `json:"fields"`
	}{plain: (*plain)(f)}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&raw); err != nil {
		return err
	}
	if f.Kind != cancelled && f.Kind != broken && value.ErrorType(f.Kind) == nil {
		return fmt.Errorf("there is no error type %q", f.Kind)
	}
	if !slices.Contains(statuses, f.X) {
		return fmt.Errorf("x is %q: done, unknown, or nothing", f.X)
	}
	for name, text := range raw.Fields {
		v, err := field(text)
		if err != nil {
			return fmt.Errorf("field %s: %w", name, err)
		}
		if f.Fields == nil {
			f.Fields = map[string]any{}
		}
		f.Fields[name] = v
	}
	return nil
}

// field returns the value of an error's field: a text, number, truth value or list of texts, or
// the JSON text of any other list or object.
func field(raw json.RawMessage) (any, error) {
	var v any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case string, bool:
		return v, nil
	case json.Number:
		return number(v)
	case []any:
		texts := make([]string, len(v))
		for i, x := range v {
			text, ok := x.(string)
			if !ok {
				return raw, nil
			}
			texts[i] = text
		}
		return texts, nil
	case map[string]any:
		return raw, nil
	}
	return nil, errors.New("it is null")
}

func number(n json.Number) (any, error) {
	if strings.ContainsAny(string(n), ".eE") {
		return n.Float64()
	}
	return n.Int64()
}

// MarshalJSON encodes the failure. A Float always has a point or an exponent.
func (f Failure) MarshalJSON() ([]byte, error) {
	type plain Failure
	fields := make(map[string]any, len(f.Fields))
	for name, v := range f.Fields {
		if x, ok := v.(float64); ok {
			v = json.RawMessage(value.AppendJSON(nil, value.Float(x)))
		}
		fields[name] = v
	}
	f.Fields = fields
	return json.Marshal(plain(f))
}

// Outcome returns the result or the error of the effect. opened is the number of the object that
// the effect has opened. The third result is an error if the entry is invalid.
func (e *Entry) Outcome(opened int64) (effect.Result, error, error) {
	if e.Err != nil {
		return nil, e.Err.Cause(), nil
	}
	if e.Q == effect.KindExchangeNext {
		result, err := e.messages()
		return result, nil, err
	}
	row := effect.Lookup(e.Q)
	if row.Result == nil || isNull(e.V) && !hasNumber(row) {
		if len(e.V) > 0 && !isNull(e.V) {
			return nil, nil, errors.New("it has no result")
		}
		return nil, nil, nil
	}
	result := row.Result()
	n, numbered := result.(effect.Numbered)
	if numbered {
		*n.Number() = opened // 0 means that the effect has opened no object
	}
	if len(e.V) > 0 {
		if err := json.Unmarshal(e.V, result); err != nil {
			return nil, nil, err
		}
	}
	return result, nil, nil
}

func isProgram(err error) bool {
	_, ok := errors.AsType[*effect.Error](err)
	return ok
}

func isNull(text json.RawMessage) bool { return len(text) == 0 || string(text) == "null" }

func hasNumber(row *effect.Info) bool {
	_, ok := row.Result().(effect.Numbered)
	return ok
}

// resultOf returns the recorded form of a result. It omits the number of an opened object, except
// 0, which means that the effect has opened none.
func resultOf(result effect.Result) (json.RawMessage, error) {
	if result == nil {
		return nil, nil
	}
	text, err := json.Marshal(result)
	if n, numbered := result.(effect.Numbered); !numbered || *n.Number() == 0 || err != nil {
		return text, err
	}
	return without(text, "id")
}

// without returns a JSON object without one member. The order within the other members remains,
// because the program may output them.
func without(text []byte, member string) ([]byte, error) {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, err
	}
	delete(all, member)
	return json.Marshal(all)
}

// setMessages sets the messages of a host. If a line contains a complete message, the line is
// recorded.
func (e *Entry) setMessages(all []effect.HostMessage) {
	translated := false
	for i := range all {
		m := &all[i]
		line := lineOf(m)
		if !bytes.Equal(line, m.Text) && isWholeMessage(m.Text, m) {
			line = m.Text
		}
		translated = translated || len(line) != len(m.Text)
		e.Lines = append(e.Lines, string(line))
		if m.Decided {
			e.Decided = append(e.Decided, i)
		}
	}
	for i := range all {
		if translated {
			e.Sizes = append(e.Sizes, len(all[i].Text))
		}
	}
}

// isWholeMessage reports whether a line contains all data of a message.
func isWholeMessage(line []byte, m *effect.HostMessage) bool {
	typ, id, payload, err := value.ParseMessage(line)
	return err == nil && typ == m.Type && string(id) == m.ID &&
		bytes.Equal(value.AppendJSON(nil, payload), value.AppendJSON(nil, m.Payload))
}

// lineOf encodes a message as a line of the host protocol.
func lineOf(m *effect.HostMessage) []byte {
	b := append([]byte(`{"type":`), value.AppendJSON(nil, value.String(m.Type))...)
	rest := value.AppendJSON(nil, m.Payload)
	if len(rest) > len("{}") {
		b = append(append(b, ','), rest[1:]...)
	} else {
		b = append(b, '}')
	}
	return b
}

// messages returns the recorded messages of a host.
func (e *Entry) messages() (*effect.ExchangeMessages, error) {
	out := &effect.ExchangeMessages{}
	if len(e.Sizes) > 0 && len(e.Sizes) != len(e.Lines) {
		return nil, fmt.Errorf("%d sizes of %d lines", len(e.Sizes), len(e.Lines))
	}
	for i, line := range e.Lines {
		typ, id, payload, err := value.ParseMessage([]byte(line))
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
		m := effect.HostMessage{Type: typ, ID: string(id), Payload: payload, Text: []byte(line), Decided: slices.Contains(e.Decided, i)}
		if m.Decided {
			m.ID = "" // the host cannot withdraw a request that its rules have decided
		}
		if len(e.Sizes) > 0 {
			if e.Sizes[i] < 0 || e.Sizes[i] > maxLine {
				return nil, fmt.Errorf("size %d of line %d", e.Sizes[i], i+1)
			}
			m.Text = make([]byte, e.Sizes[i])
		}
		out.Messages = append(out.Messages, m)
	}
	if len(out.Messages) == 0 {
		return nil, errors.New("it has no lines, and no err")
	}
	return out, nil
}

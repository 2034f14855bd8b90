package schema

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"github.com/concerto-lang/concerto/internal/data/value"
)

// Reading is what a text written by a model is as a value of a type.
type Reading struct {
	Value value.Slot // good only without Errors
	// Errors lists what does not fit. Repairs lists what was converted: a number in quotes, a
	// choice in another letter case, unknown members.
	Errors, Repairs []FieldError
	Hits            int // members of the type that were there
}

// Read is Decode for what a model wrote. When the type leaves only one reading,
// it accepts a number in quotes, a choice in another letter case, and yes or no
// for a Bool. It invents nothing, and lists what it repaired.
func Read(raw []byte, t *value.Type) Reading { return ReadIn(nil, raw, t) }

// ReadIn is Read under a pace.
func ReadIn(p *value.Pace, raw []byte, t *value.Type) Reading {
	s, err := value.ParseIn(raw, nil, p)
	if err != nil {
		return Reading{Errors: []FieldError{{"", "not valid JSON: " + err.Error()}}}
	}
	return read(p, s, t)
}

// ReadText is Read for a text that is itself the value: a number, a choice.
func ReadText(text string, t *value.Type) Reading { return read(nil, value.String(text), t) }

func read(p *value.Pace, s value.Slot, t *value.Type) Reading {
	l := &leniency{}
	c := converter{pace: p, fresh: true, lenient: l}
	v := c.convert(s, t, nil)
	return Reading{v, c.errs, l.repairs, l.hits}
}

// leniency is what a tolerant converter did. The strict one has none.
type leniency struct {
	repairs []FieldError
	hits    int
}

func (l *leniency) note(p *path, message string) {
	l.repairs = append(l.repairs, FieldError{p.String(), message})
}

// repair reads what does not fit t as what it can only mean.
func (c *converter) repair(s value.Slot, t *value.Type, p *path) (value.Slot, bool) {
	if c.lenient == nil {
		return s, false
	}
	if s.Kind() == value.KindFloat && t.Kind == value.TypeInt {
		if x := s.AsFloat(); x == math.Trunc(x) && math.Abs(x) < 1<<53 {
			c.lenient.note(p, "read "+value.Text(s)+" as a whole number")
			return value.Int(int64(x)), true
		}
	}
	if s.Kind() != value.KindString {
		return s, false
	}
	out, ok := fromText(strings.TrimSpace(s.AsString()), t)
	if ok {
		c.lenient.note(p, "read "+describeData(s)+" as "+string(value.AppendJSON(nil, out)))
	}
	return out, ok
}

// fromText returns the scalar in a string.
func fromText(text string, t *value.Type) (value.Slot, bool) {
	switch t.Kind {
	case value.TypeInt:
		if n, err := strconv.ParseInt(text, 10, 64); err == nil && json.Valid([]byte(text)) {
			return value.Int(n), true
		}
	case value.TypeFloat:
		if json.Valid([]byte(text)) {
			if x, err := strconv.ParseFloat(text, 64); err == nil {
				return value.Float(x), true
			}
		}
	case value.TypeBool:
		switch strings.ToLower(text) {
		case "yes", "true":
			return value.Bool(true), true
		case "no", "false":
			return value.Bool(false), true
		}
	case value.TypeUnion:
		if i := findChoice(text, len(t.Values), func(i int) string { return t.Values[i] }); i >= 0 {
			return value.String(t.Values[i]), true
		}
	}
	return value.Nil, false
}

// findChoice finds the one of n names that equals a text but for letter case; -1
// when there is none, or more than one.
func findChoice(text string, n int, name func(int) string) int {
	found := -1
	for i := range n {
		if strings.EqualFold(text, name(i)) {
			if found >= 0 {
				return -1
			}
			found = i
		}
	}
	return found
}

// noteUnknownMembers notes the members of an object that its type does not have.
func (c *converter) noteUnknownMembers(m *value.Map, fields []value.Field, p *path) {
	if c.lenient == nil {
		return
	}
	declared := map[string]bool{}
	for i := range fields {
		declared[fields[i].Name] = true
		if _, ok := m.GetString(fields[i].Name); ok {
			c.lenient.hits++
		}
	}
	m.Each(func(k, _ value.Slot) bool {
		c.pace.Step(2)
		if !declared[value.Text(k)] {
			c.lenient.note(p.in(value.Text(k)), "left out, there is no such member")
		}
		return true
	})
}

package schema

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"github.com/concerto-lang/concerto/internal/data/value"
)

// Reading is the result of reading a model's text as a value of a type.
type Reading struct {
	Value value.Slot // only valid if there are no Errors
	// Errors lists the parts that do not have their type. Repairs lists the parts that were
	// converted: a number in quotes, a choice in another letter case, unknown members.
	Errors, Repairs []FieldError
	Hits            int // number of members of the type that the text contains
}

// Read is like Decode, but more tolerant, for texts of models. If there is only one possible
// meaning, it accepts a number in quotes, a choice in another letter case, and yes or no for a
// Bool. It lists its repairs, and adds no missing values.
func Read(raw []byte, t *value.Type) Reading { return ReadIn(nil, raw, t) }

// ReadIn is like Read, and a Pace can interrupt it.
func ReadIn(p *value.Pace, raw []byte, t *value.Type) Reading {
	s, err := value.ParseIn(raw, nil, p)
	if err != nil {
		return Reading{Errors: []FieldError{{"", "not valid JSON: " + err.Error()}}}
	}
	return read(p, s, t)
}

// ReadText is like Read for a text that is itself the value, such as a number or a choice.
func ReadText(text string, t *value.Type) Reading { return read(nil, value.String(text), t) }

func read(p *value.Pace, s value.Slot, t *value.Type) Reading {
	l := &leniency{}
	c := converter{pace: p, fresh: true, lenient: l}
	v := c.convert(s, t, nil)
	return Reading{v, c.errs, l.repairs, l.hits}
}

// leniency collects what a tolerant converter has repaired.
type leniency struct {
	repairs []FieldError
	hits    int
}

func (l *leniency) note(p *path, message string) {
	l.repairs = append(l.repairs, FieldError{p.String(), message})
}

// repair converts s to type t if there is only one possible meaning. ok is false otherwise.
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

// fromText converts a text to a scalar of type t.
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

// findChoice returns the index of the only name that equals a text, ignoring case, or -1 if there
// is none or more than one.
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

// noteUnknownMembers adds a repair for each member of an object that its type does not declare.
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

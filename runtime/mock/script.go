package mock

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

// script contains the scripted outcomes of requests of type R: a queue for each URL or command
// line.
type script[R effect.Request, T any] struct {
	name     func(R) string
	queues   map[string][]*scripted[T]
	outcomes map[any]*scripted[T] // outcomes of requests whose delay has not passed
}

type scripted[T any] struct {
	result  T
	err     string // text of the error with which the request fails; "" for none
	delayMS int64
	raw     json.RawMessage // outcome in the JSON form of the script
}

// parseOutcome parses an outcome that is a Map. It stores the values of the members in to, of
// delay_ms and of error, and returns all members.
func (o *scripted[T]) parseOutcome(what string, members []string, to map[string]any) (map[string]json.RawMessage, error) {
	if len(o.raw) == 0 || o.raw[0] != '{' {
		return nil, bad("%s is neither a String nor a Map", what)
	}
	m, err := parseObject(what, o.raw, append(members, "delay_ms", "error")...)
	if err != nil {
		return nil, err
	}
	to["delay_ms"], to["error"] = &o.delayMS, &o.err
	for name, place := range to {
		if v := m[name]; v != nil && json.Unmarshal(v, place) != nil {
			return nil, bad("%s: `%s` cannot be %s", what, name, v)
		}
	}
	return m, nil
}

func newScript[R effect.Request, T any](name func(R) string) script[R, T] {
	return script[R, T]{name: name, queues: map[string][]*scripted[T]{}, outcomes: map[any]*scripted[T]{}}
}

func (s *script[R, T]) addOutcome(name string, o *scripted[T]) {
	s.queues[name] = append(s.queues[name], o)
}

// has reports whether a request has an outcome.
func (s *script[R, T]) has(r R) bool {
	_, has := s.outcomes[r]
	return has || len(s.queues[s.name(r)]) > 0
}

// outcomeOf returns the outcome of a request, or nil if none is left. A repeated request receives
// the same outcome.
func (s *script[R, T]) outcomeOf(r R) *scripted[T] {
	o, ok := s.outcomes[r]
	if queue := s.queues[s.name(r)]; !ok && len(queue) > 0 {
		o, s.queues[s.name(r)] = queue[0], queue[1:]
		s.outcomes[r] = o
	}
	return o
}

// finalOutcome is like outcomeOf, for a request that will not be repeated.
func (s *script[R, T]) finalOutcome(r R) *scripted[T] {
	o := s.outcomeOf(r)
	delete(s.outcomes, r)
	return o
}

// outcomeDelay returns the duration of a request in milliseconds. The timeout of the request limits
// the duration.
func (s *script[R, T]) outcomeDelay(r R, timeout int64) int64 {
	if o := s.outcomeOf(r); o != nil {
		return min(o.delayMS, timeout)
	}
	return 0
}

// leftovers returns a sentence for each outcome that was not used. function is the function with
// which tests define outcomes. answer and request are the words for an outcome and a request.
func (s *script[R, T]) leftovers(function, answer, request string) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(s.queues)) {
		if q := s.queues[name]; len(q) > 0 {
			out = append(out, fmt.Sprintf("%s(%q, …) has %s left that no %s used; the next is %s", function, name, plural(len(q), answer), request, q[0].raw))
		}
	}
	return out
}

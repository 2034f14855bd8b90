package mock

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

// script holds the scripted outcomes of requests R to the outside: a queue for
// each thing that is asked for (a URL, a command line).
type script[R effect.Request, T any] struct {
	name   func(R) string
	queues map[string][]*scripted[T]
	given  map[any]*scripted[T] // taken by requests that wait for their time
}

type scripted[T any] struct {
	result  T
	err     string // it fails instead
	delayMS int64
	raw     json.RawMessage // as it was scripted
}

// read reads an outcome that is scripted as a Map. It stores the members for
// which to has a place, and delay_ms and error, and gives all members.
func (o *scripted[T]) read(what string, members []string, to map[string]any) (map[string]json.RawMessage, error) {
	if len(o.raw) == 0 || o.raw[0] != '{' {
		return nil, bad("%s is neither a String nor a Map", what)
	}
	m, err := fields(what, o.raw, append(members, "delay_ms", "error")...)
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
	return script[R, T]{name: name, queues: map[string][]*scripted[T]{}, given: map[any]*scripted[T]{}}
}

func (s *script[R, T]) add(name string, o *scripted[T]) { s.queues[name] = append(s.queues[name], o) }

// outcomeOf gives the outcome of a request; nil when there is none. The same
// request gets the same outcome when it is asked for again.
func (s *script[R, T]) outcomeOf(r R) *scripted[T] {
	o, ok := s.given[r]
	if queue := s.queues[s.name(r)]; !ok && len(queue) > 0 {
		o, s.queues[s.name(r)] = queue[0], queue[1:]
		s.given[r] = o
	}
	return o
}

// last is outcomeOf for a request that is not asked for again.
func (s *script[R, T]) last(r R) *scripted[T] {
	o := s.outcomeOf(r)
	delete(s.given, r)
	return o
}

// pause is how long a request takes, in milliseconds, when it waits for timeout
// at most.
func (s *script[R, T]) pause(r R, timeout int64) int64 {
	if o := s.outcomeOf(r); o != nil {
		return min(o.delayMS, timeout)
	}
	return 0
}

// leftovers says what was scripted and not used. function is what scripts it;
// answer and request are the words for its outcomes and requests.
func (s *script[R, T]) leftovers(function, answer, request string) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(s.queues)) {
		if q := s.queues[name]; len(q) > 0 {
			out = append(out, fmt.Sprintf("%s(%q, …) has %s left that no %s asked for; the next is %s", function, name, plural(len(q), answer), request, q[0].raw))
		}
	}
	return out
}

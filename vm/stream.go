package vm

import (
	"slices"

	"github.com/concerto-lang/concerto/internal/effect"
	"github.com/concerto-lang/concerto/internal/value"
)

// The streams of models that tasks have open. The library closes them; those of
// a task that is cancelled, or ends by an error, are closed here.

// streamOpen makes the request of agent.stream.open(agent, messages, schema,
// schema_name).
func streamOpen(t *task, a *Args) (effect.Request, error) {
	return &effect.StreamOpen{AgentCall: *t.modelCall(a)}, nil
}

func streamOpened(r effect.Result) (value.Slot, error) {
	return value.Int(r.(*effect.StreamOpened).ID), nil
}

// streamPiece gives text, and at the end the whole reply.
func streamPiece(r effect.Result) (value.Slot, error) {
	p := r.(*effect.StreamPiece)
	if p.Reply == nil {
		return value.Tuple(value.String(p.Text), value.Nil), nil
	}
	reply, err := agentReply(p.Reply)
	return value.Tuple(value.String(p.Text), reply), err
}

// opened notes a stream of t.
func (m *VM) opened(t *task, id int64) {
	if m.streams == nil {
		m.streams = map[*task][]int64{}
	}
	m.streams[t] = append(m.streams[t], id)
}

// closed forgets a stream, whoever's it is.
func (m *VM) closed(t *task, id int64) {
	owners := []*task{t}
	if !slices.Contains(m.streams[t], id) { // another task has handed it on
		owners = owners[:0]
		for o, ids := range m.streams {
			if slices.Contains(ids, id) {
				owners = append(owners, o)
			}
		}
	}
	for _, o := range owners {
		m.streams[o] = slices.DeleteFunc(m.streams[o], func(x int64) bool { return x == id })
		if len(m.streams[o]) == 0 {
			delete(m.streams, o)
		}
	}
}

// passStreams makes what t has left open another task's: a stream that a body
// of `race` or `await (…)` has opened outlives it.
func (m *VM) passStreams(t, to *task) {
	if ids := m.streams[t]; len(ids) > 0 {
		m.streams[to] = append(m.streams[to], ids...)
		delete(m.streams, t)
	}
}

// closeStreams closes what t has left open. Closing does not wait, and what it
// says does not matter any more.
func (m *VM) closeStreams(t *task) {
	for _, id := range m.streams[t] {
		_, _ = t.perform(m.ctx, &effect.StreamClose{ID: id})
	}
	delete(m.streams, t)
}

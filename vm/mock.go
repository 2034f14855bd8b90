package vm

import (
	"fmt"

	"github.com/concerto-lang/concerto/internal/effect"
	"github.com/concerto-lang/concerto/internal/value"
)

// What a test scripts and reads back (spec/16-tests.md). A mock's closure stays
// with the VM, since only it can call one: the library calls it before the
// request and hands over what it gave. All else leaves by the door.

// mocks are what a test has scripted that stays with the VM.
type mocks struct {
	closures map[int64]value.Slot  // that answer for agents and hosts
	servers  map[string]*value.Map // answers for the functions of MCP servers
}

// bindMock makes the natives of mocks that are closures.
func (m *VM) bindMock(name string) Native {
	switch name {
	case "mock.by":
		return func(a *Args) (value.Slot, error) {
			key := mockKey(a)
			delete(m.mocks.closures, key)
			if f := value.Flat(a.Slot(1)); f.Kind() == value.KindClosure {
				if m.mocks.closures == nil {
					m.mocks.closures = map[int64]value.Slot{}
				}
				m.mocks.closures[key] = f
			}
			return value.Nil, nil
		}
	case "mock.closure":
		return func(a *Args) (value.Slot, error) { return m.mocks.closures[mockKey(a)], nil }
	}
	return m.bindMockMCP(name)
}

// mockKey is the agent in argument 0 by its index, or the host by that below -1.
func mockKey(a *Args) int64 {
	index := a.party(0)[partyIndex].AsInt()
	if a.Slot(0).Kind() == value.KindHost {
		return -1 - index
	}
	return index
}

func init() {
	performs["mock.script"] = &performing{request: mockScript, value: nothing}
	performs["mock.next"] = &performing{
		request: func(t *task, a *Args) (effect.Request, error) {
			return &effect.MockNext{Party: t.m.partyName(a, 0), Host: a.Slot(0).Kind() == value.KindHost, Prompt: a.String(1),
				Answer: value.AppendJSON(nil, a.Slot(2))}, nil
		},
		value: nothing,
	}
	performs["mock.answer"] = &performing{
		request: func(_ *task, a *Args) (effect.Request, error) {
			return &effect.MockAnswer{Channel: a.String(0), Value: value.AppendJSON(nil, a.Slot(1))}, nil
		},
		value: nothing,
	}
	performs["mock.env"] = &performing{
		request: func(_ *task, a *Args) (effect.Request, error) {
			r := &effect.MockEnv{Name: a.String(0)}
			if !a.Slot(1).IsNil() {
				r.Value, r.Set = a.String(1), true
			}
			return r, nil
		},
		value: nothing,
	}
	performs["mock.args"] = &performing{
		request: func(_ *task, a *Args) (effect.Request, error) {
			r := &effect.MockArgs{}
			for i := range a.Array(0).Len {
				r.Args = append(r.Args, a.Array(0).At(i).AsString())
			}
			return r, nil
		},
		value: nothing,
	}
	performs["mock.http"] = &performing{
		request: func(_ *task, a *Args) (effect.Request, error) {
			return &effect.MockHTTP{URL: a.String(0), Answer: value.AppendJSON(nil, a.Slot(1))}, nil
		},
		value: nothing,
	}
	performs["mock.command"] = &performing{
		request: func(_ *task, a *Args) (effect.Request, error) {
			return &effect.MockCommand{Line: a.String(0), Outcome: value.AppendJSON(nil, a.Slot(1))}, nil
		},
		value: nothing,
	}
	performs["mock.file"] = &performing{
		request: func(_ *task, a *Args) (effect.Request, error) {
			r := &effect.MockFile{Path: a.String(0), Missing: a.Slot(1).IsNil()}
			if !r.Missing {
				r.Text = a.String(1)
			}
			return r, nil
		},
		value: nothing,
	}
	performs["mock.time"] = &performing{
		request: func(_ *task, a *Args) (effect.Request, error) { return &effect.MockTime{Unix: a.Int(0)}, nil },
		value:   nothing,
	}
	for name, what := range map[string]string{"test.emits": "emits", "test.output": "output", "test.requests": "requests", "mock.replies": "replies", "mock.prompts": "prompts"} {
		performs[name] = &performing{
			request: func(t *task, a *Args) (effect.Request, error) {
				r := &effect.Record{What: what}
				if a.Len() > 0 {
					r.Party = t.m.partyName(a, 0)
				}
				return r, nil
			},
			value: func(r effect.Result) (value.Slot, error) {
				v, err := value.Parse(r.(*effect.Recorded).Value)
				if err != nil {
					return value.Nil, fmt.Errorf("read the test's record: %w", err)
				}
				return v, nil
			},
		}
	}
}

// partyName gives the declaration's name of the agent or host in argument i.
func (m *VM) partyName(a *Args, i int) string {
	index := a.party(i)[partyIndex].AsInt()
	if a.Slot(i).Kind() == value.KindAgent {
		return m.program.Agents[index].Name
	}
	return m.program.Hosts[index].Name
}

// mockScript makes the request of mock.script(party, fields). A closure among
// the fields is left out: it answers by mock.next.
func mockScript(t *task, a *Args) (effect.Request, error) {
	fields := value.Flat(a.Slot(1)).Map()
	if fields == nil {
		a.wrong(1, "a Map")
	}
	r := &effect.MockScript{Name: t.m.partyName(a, 0), Host: a.Slot(0).Kind() == value.KindHost}
	plain := value.NewMap(fields.Len())
	fields.Each(func(k, v value.Slot) bool {
		if value.Flat(v).Kind() == value.KindClosure {
			r.By = true
		} else {
			value.Share(v)
			plain.Set(k, v)
		}
		return true
	})
	r.Script = value.AppendJSON(nil, plain.Slot())
	return r, nil
}

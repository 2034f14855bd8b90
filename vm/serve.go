package vm

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/concerto-lang/concerto/schema"
	"github.com/concerto-lang/concerto/value"
)

// Offer is a tool function that a program offers to others: the functions with
// a description of its public tools, as far as [permissions] let them be called.
// One that is @approve is not among them, since nobody would be asked.
type Offer struct {
	Name        string // Tool_function
	Description string
	Parameters  json.RawMessage // their JSON Schema

	method *toolMethod
}

// BadArguments is the error of a call whose arguments do not fit: nothing ran.
type BadArguments struct{ Message string }

func (e *BadArguments) Error() string { return e.Message }

func badArguments(o Offer, format string, args ...any) error {
	return &BadArguments{"bad arguments for " + o.Name + ": " + fmt.Sprintf(format, args...)}
}

// Offers lists what the program offers, in the order of its tools.
func (m *VM) Offers() []Offer {
	var out []Offer
	for _, x := range m.tools {
		for i := range x.methods {
			method := &x.methods[i]
			if x.info.Public && method.info.Described && !method.info.Approve && m.permits(method) {
				out = append(out, Offer{x.info.Name + "_" + method.info.Name, method.info.Description, method.parameters(), method})
			}
		}
	}
	return out
}

// InitTools computes the first state of every tool, which CallOffer keeps from
// call to call.
func (m *VM) InitTools(ctx context.Context) error {
	m.memory.begin(m.program.Limits.MaxMemoryMB)
	return m.initTools(ctx)
}

// CallOffer calls an offered function with its arguments, a JSON object, as Run
// calls main, and gives its result. One call at a time. The VM can be called again
// after *BadArguments, after an *Uncaught that is no panic, and after ctx's end.
func (m *VM) CallOffer(ctx context.Context, o Offer, args json.RawMessage) (value.Slot, error) {
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	v, err := value.Parse(args)
	if err != nil {
		return value.Nil, badArguments(o, "%v", err)
	}
	object := value.Flat(v).Map()
	if object == nil {
		return value.Nil, badArguments(o, "they are no object")
	}
	given, errs := o.method.arguments(object)
	if len(errs) > 0 {
		return value.Nil, badArguments(o, "%s", schema.Join(errs))
	}
	return m.runTask(ctx, o.method.stub, append([]value.Slot{o.method.tool.self}, given...))
}

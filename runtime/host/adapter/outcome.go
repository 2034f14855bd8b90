package adapter

import (
	"encoding/json"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
	"github.com/concerto-lang/concerto/runtime/host/jsonobject"
)

// usage counts tokens.
type usage struct {
	In     int64 `json:"tokens_in"` // all input tokens, including Cached and Made
	Out    int64 `json:"tokens_out"`
	Cached int64 `json:"tokens_cached"`                // read from a cache
	Made   int64 `json:"tokens_cache_write,omitempty"` // written to a cache
}

func (u usage) plus(v usage) usage {
	return usage{u.In + v.In, u.Out + v.Out, u.Cached + v.Cached, u.Made + v.Made}
}

func (u usage) minus(v usage) usage {
	return usage{u.In - v.In, u.Out - v.Out, u.Cached - v.Cached, u.Made - v.Made}
}

// outcome is the outcome of a turn or of an exchange.
type outcome struct {
	Text    string
	Session string
	Usage   *usage
	Cost    *float64 // in USD; nil if unknown
	Turns   int64
	Stop    string
	Payload json.RawMessage

	Unasked map[string]int64 // number of calls without a request, by kind

	Code    string // of a failure; "" for a success
	Message string
	// a turn has failed after a limit of the plan was reached: the conversation contains its prompt
	Accepted bool
	Result   json.RawMessage // result of the last turn, in a failure; nil for none
}

// addTotals adds what was used to a message.
func (r *outcome) addTotals(o *jsonobject.Object) { addTotals(o, r.Usage, r.Cost, r.Turns) }

// addTotals adds what a turn has used to a message.
func addTotals(o *jsonobject.Object, used *usage, cost *float64, turns int64) {
	if used != nil {
		o.Raw("usage", jsonwrite.MustEncode(used))
	}
	if cost != nil {
		o.Raw("cost_usd", value.AppendFloat(nil, *cost))
	}
	if turns > 0 {
		o.Raw("turns", jsonwrite.MustEncode(turns))
	}
}

// message returns the message result or error. tasks are those of the exchange.
func (r *outcome) message(tasks []effect.HostTask) []byte {
	kind := hostmsg.Result
	if r.Code != "" {
		kind = hostmsg.Error
	}
	o := jsonobject.New(kind)
	if r.Code != "" {
		o.Text("message", r.Message)
		o.Text("code", r.Code)
		if r.Accepted {
			o.Raw("accepted", []byte("true"))
		}
	} else {
		o.Text("text", r.Text)
	}
	if r.Session != "" {
		o.Text("session", r.Session)
	}
	if r.Code == "" {
		r.addTotals(o)
		if r.Stop != "" {
			o.Text("stop_reason", r.Stop)
		}
		if len(r.Unasked) > 0 {
			o.Raw("unasked", jsonwrite.MustEncode(r.Unasked))
		}
	}
	if len(tasks) > 0 {
		o.Raw("tasks", jsonwrite.MustEncode(tasks))
	}
	if r.Result != nil {
		o.Raw("result", r.Result)
	}
	if r.Payload != nil {
		o.Raw("payload", r.Payload)
	}
	return o.End()
}

func (s *Output) result(r outcome) { s.Messages = append(s.Messages, r.message(nil)) }

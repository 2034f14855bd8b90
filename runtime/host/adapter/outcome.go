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

// modelUse is what a model has used.
type modelUse struct {
	usage
	Cost *usd `json:"cost_usd,omitempty"` // nil if unknown
}

// usd is an amount of USD. In JSON it is never an Int of the language.
type usd float64

func (n usd) MarshalJSON() ([]byte, error) { return value.AppendFloat(nil, float64(n)), nil }

// totals are what a turn or an exchange has used.
type totals struct {
	Usage  *usage
	Cost   *float64            // in USD; nil if unknown
	Turns  int64               // 0 if unknown
	Models map[string]modelUse // by the name of the model, without those that were not used; nil if unknown
}

// outcome is the outcome of a turn or of an exchange.
type outcome struct {
	Text    string
	Session string
	totals
	Stop    string
	Payload json.RawMessage

	Unasked map[string]int64 // number of calls without a request, by kind

	Code    string // of a failure; "" for a success
	Message string
	// a turn has failed after a limit of the plan was reached: the conversation contains its prompt
	Accepted bool
	Result   json.RawMessage // result of the last turn, in a failure; nil for none
}

// addTo adds the totals to a message.
func (t *totals) addTo(o *jsonobject.Object) {
	if t.Usage != nil {
		o.Raw("usage", jsonwrite.MustEncode(t.Usage))
	}
	if t.Cost != nil {
		o.Raw("cost_usd", value.AppendFloat(nil, *t.Cost))
	}
	if t.Turns > 0 {
		o.Raw("turns", jsonwrite.MustEncode(t.Turns))
	}
	if len(t.Models) > 0 {
		o.Raw("models", jsonwrite.MustEncode(t.Models))
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
		r.totals.addTo(o)
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

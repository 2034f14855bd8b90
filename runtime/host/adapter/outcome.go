package adapter

import (
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
	"github.com/concerto-lang/concerto/runtime/host/jsonobject"
)

// usage counts the tokens of one turn.
type usage struct {
	In     int64 `json:"tokens_in"` // all input tokens, including Cached
	Out    int64 `json:"tokens_out"`
	Cached int64 `json:"tokens_cached"`
}

func (u usage) minus(v usage) usage { return usage{u.In - v.In, u.Out - v.Out, u.Cached - v.Cached} }

// outcome is the result of a successful exchange.
type outcome struct {
	text    string
	session string
	usage   *usage
	cost    *float64 // cost of the turn in USD; nil if unknown
	turns   int64
	stop    string
	payload []byte
}

func (u usage) plus(v usage) usage { return usage{u.In + v.In, u.Out + v.Out, u.Cached + v.Cached} }

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

func (s *Output) result(r outcome) {
	o := jsonobject.New(hostmsg.Result)
	o.Text("text", r.text)
	if r.session != "" {
		o.Text("session", r.session)
	}
	addTotals(o, r.usage, r.cost, r.turns)
	if r.stop != "" {
		o.Text("stop_reason", r.stop)
	}
	o.Raw("payload", r.payload)
	s.addMessage(o)
}

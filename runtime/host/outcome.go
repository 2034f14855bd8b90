package host

import (
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/internal/data/value"
)

// usage counts tokens. All of it is of one exchange.
type usage struct {
	In     int64 `json:"tokens_in"` // all that was read, Cached included
	Out    int64 `json:"tokens_out"`
	Cached int64 `json:"tokens_cached"`
}

func (u usage) minus(v usage) usage { return usage{u.In - v.In, u.Out - v.Out, u.Cached - v.Cached} }

// outcome is the end of an exchange that succeeded.
type outcome struct {
	text    string
	session string
	usage   *usage
	cost    *float64 // in USD
	turns   int64
	stop    string
	payload []byte
}

func (s *said) result(r outcome) {
	o := newObject(hostmsg.Result)
	o.text("text", r.text)
	if r.session != "" {
		o.text("session", r.session)
	}
	if r.usage != nil {
		o.raw("usage", encode(r.usage))
	}
	if r.cost != nil {
		o.raw("cost_usd", value.AppendFloat(nil, *r.cost))
	}
	if r.turns > 0 {
		o.raw("turns", encode(r.turns))
	}
	if r.stop != "" {
		o.text("stop_reason", r.stop)
	}
	o.raw("payload", r.payload)
	s.add(o)
}

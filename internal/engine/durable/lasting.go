package durable

import (
	"cmp"
	"maps"
	"slices"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/record/journal"
)

// spent is the usage of a model by calls through one connection.
type spent struct {
	Connection string `json:"connection"`
	Model      string `json:"model"`
	Lost       bool   `json:"lost,omitempty"` // the usage is unknown, so In and Out are the maximum
	Calls      int64  `json:"calls"`
	In         int64  `json:"in"`
	Out        int64  `json:"out"`
}

// spending is the run's usage of models in all its processes.
type spending map[spent]*spent // keys contain only the connection, the model and Lost

func (s *spending) addCall(x spent) {
	if *s == nil {
		*s = spending{}
	}
	k := spent{Connection: x.Connection, Model: x.Model, Lost: x.Lost}
	of := (*s)[k]
	if of == nil {
		of = &k
		(*s)[k] = of
	}
	of.Calls, of.In, of.Out = of.Calls+x.Calls, of.In+x.In, of.Out+x.Out
}

func (s spending) allCalls() []spent {
	all := make([]spent, 0, len(s))
	for _, x := range s {
		all = append(all, *x)
	}
	slices.SortFunc(all, func(a, b spent) int {
		return cmp.Or(cmp.Compare(a.Connection, b.Connection), cmp.Compare(a.Model, b.Model), cmp.Compare(a.Out, b.Out), cmp.Compare(a.In, b.In))
	})
	return all
}

// lasting contains the results of ended effects that the run still needs.
type lasting struct {
	spent    spending
	openers  map[number]begunEffect // begin records of the objects that the program may still use
	approved []*journal.Record      // records of tool calls that were approved for the whole session
}

// spend counts the usage of the model in an effect's result. In a replay it also reports the usage
// to the runtime, which otherwise counts its calls itself.
func (r *Run) spend(q effect.Request, f *inFlight, result effect.Result) {
	reply, _ := result.(*effect.AgentReply)
	if piece, ok := result.(*effect.StreamPiece); ok {
		reply = piece.Reply
	}
	if reply != nil {
		x := spent{Connection: reply.Provider, Model: reply.Model, Calls: 1, In: reply.TokensIn, Out: reply.TokensOut}
		r.spent.addCall(x)
		if !r.live && r.c.World != nil {
			r.c.World.Used(x.Connection, x.Model, 1, x.In, x.Out, true)
		}
	}
	if call, ok := q.(*effect.AgentCall); ok && !r.live && f != nil {
		for range f.tries - 1 - f.counted { // the result of each earlier attempt is unknown
			r.lostCall(call)
		}
	}
}

// hostSpent is what a host has used in all processes of the run. Cost is in units of 10⁻¹² US
// dollars.
type hostSpent struct {
	Host      string `json:"host"`
	Exchanges int64  `json:"exchanges"`
	Cost      int64  `json:"cost,omitempty"`
	In        int64  `json:"in,omitempty"`
	Out       int64  `json:"out,omitempty"`
	Turns     int64  `json:"turns,omitempty"`
}

// spendHost counts what a host has used. In a replay it also reports it to the runtime, which
// otherwise counts it itself.
func (r *Run) spendHost(host string, exchanges int64, before, now *effect.HostUsage) {
	if r.c.World == nil {
		return
	}
	x := hostSpent{host, exchanges, r.c.World.HostCost(host, now) - r.c.World.HostCost(host, before),
		now.TokensIn - before.TokensIn, now.TokensOut - before.TokensOut, now.Turns - before.Turns}
	r.talks.addSpent(x)
	if !r.live {
		r.c.World.UsedByHost(x.Host, x.Exchanges, x.Cost, x.In, x.Out, x.Turns)
	}
}

func (t *openExchanges) addSpent(x hostSpent) {
	of := t.spent[x.Host]
	if of == nil {
		of = &hostSpent{Host: x.Host}
		t.spent[x.Host] = of
	}
	of.Exchanges, of.Cost, of.In, of.Out, of.Turns = of.Exchanges+x.Exchanges, of.Cost+x.Cost, of.In+x.In, of.Out+x.Out, of.Turns+x.Turns
}

// lostCall counts a call of a model whose usage is unknown. It counts the maximum of tokens.
func (r *Run) lostCall(q *effect.AgentCall) {
	if r.c.World == nil {
		return
	}
	in, out := r.c.World.Most(q)
	r.spent.addCall(spent{Connection: q.Connection, Model: q.Model, Lost: true, Calls: 1, In: in, Out: out})
	r.c.World.Used(q.Connection, q.Model, 1, in, out, false)
}

// dropOpener removes the opener of an object that the program no longer uses, after the effect q.
func (r *Run) dropOpener(q effect.Request, result effect.Result, err error) {
	event, _ := result.(*effect.MCPEvent)
	switch q := q.(type) {
	case *effect.AppCall:
		maps.DeleteFunc(r.openers, func(_ number, o begunEffect) bool { return preparedAs(o.Record) == q.CallID })
	case *effect.AppLeave, *effect.AuditDone, *effect.MergeClose:
		delete(r.openers, number{q.Kind().Family(), *q.(effect.Numbered).Number()})
	case *effect.MCPNext:
		if err != nil || event != nil && event.Kind == effect.MCPResult {
			delete(r.openers, number{q.Kind().Family(), q.ID})
		}
	case *effect.MergeNext:
		if e, ok := result.(*effect.MergeEvent); err != nil || ok && e.Kind == effect.MergeEnd {
			delete(r.openers, number{q.Kind().Family(), q.ID})
		}
	}
}

// storeOpener stores the begin record of an effect that has opened an object. It does not store
// exchanges, because openExchanges contains them.
func (r *Run) storeOpener(q effect.Request, x *journal.Record, tries int, result effect.Result, err error) {
	if n, ok := result.(effect.Numbered); !ok || *n.Number() == 0 {
		return
	}
	if k := q.Kind(); err == nil && x != nil && (k == effect.KindAppPrepare || k == effect.KindMCPOpen || k == effect.KindMergeOpen || k == effect.KindAuditCall) {
		r.openers[number{k.Family(), x.E}] = begunEffect{x, max(tries, 1), x.Until}
	}
}

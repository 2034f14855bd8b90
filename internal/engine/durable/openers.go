package durable

import (
	"maps"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/record/journal"
)

// begunEffect is an effect that has begun.
type begunEffect struct {
	Record *journal.Record
	Tries  int
	// latest deadline of all attempts in Unix milliseconds; 0 for none
	Until int64
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
		r.openers[number{k.Family(), x.Effect}] = begunEffect{x, max(tries, 1), x.Until}
	}
}

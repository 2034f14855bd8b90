package durable

import (
	"encoding/json"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/record/journal"
)

// calls contains the calls of servers that have no result so far, by the number of the effect that
// opened the call. Opening a call returns at once; the result of the call is a later event.
type calls map[int64]*call

type call struct {
	Begin  *journal.Record `json:"begin"`
	Opened bool            `json:"opened,omitempty"`
}

// addRecord updates the calls with the next record.
func (c calls) addRecord(r *journal.Record) {
	switch {
	case r.K == journal.KBegin && r.Q == string(effect.KindMCPOpen) && c[r.E] == nil:
		c[r.E] = &call{Begin: r}
	case r.K == journal.KBegin && c[r.E] != nil:
		c[r.E].Begin = r
	case r.K == journal.KEnd && c[r.E] != nil && r.X == "done":
		c[r.E].Opened = true
	case r.K == journal.KEnd:
		delete(c, r.E)
	case r.K == journal.KDid && r.Q == string(effect.KindMCPNext) && endsCall(r):
		delete(c, r.Of)
	}
}

// isRetry reports whether a record begins another attempt of an open call.
func (c calls) isRetry(r *journal.Record) bool { return c[r.E] != nil && c[r.E].Opened }

func endsCall(r *journal.Record) bool {
	var e effect.MCPEvent
	return r.Err != nil || json.Unmarshal(r.V, &e) == nil && e.Kind == "result" || r.Blob != ""
}

// countRunningCalls counts each open call as an effect that has begun and not ended.
func (s *Shown) countRunningCalls(all calls, open map[int64]*journal.Record) {
	for e, c := range all {
		if c.Opened && s.Exit == nil {
			s.Effects.Done--
			open[e] = c.Begin
		}
	}
}

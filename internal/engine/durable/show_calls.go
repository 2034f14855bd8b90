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
	case r.RecordKind == journal.KBegin && r.Kind == string(effect.KindMCPOpen) && c[r.Effect] == nil:
		c[r.Effect] = &call{Begin: r}
	case r.RecordKind == journal.KBegin && c[r.Effect] != nil:
		c[r.Effect].Begin = r
	case r.RecordKind == journal.KEnd && c[r.Effect] != nil && r.Outcome == "done":
		c[r.Effect].Opened = true
	case r.RecordKind == journal.KEnd:
		delete(c, r.Effect)
	case r.RecordKind == journal.KDid && r.Kind == string(effect.KindMCPNext) && endsCall(r):
		delete(c, r.Of)
	}
}

// isRetry reports whether a record begins another attempt of an open call.
func (c calls) isRetry(r *journal.Record) bool { return c[r.Effect] != nil && c[r.Effect].Opened }

func endsCall(r *journal.Record) bool {
	var e effect.MCPEvent
	return r.Err != nil || json.Unmarshal(r.Result, &e) == nil && e.Kind == "result" || r.Blob != ""
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

package durable

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/record/journal"
	"github.com/concerto-lang/concerto/internal/record/journal/rundir"
	"github.com/concerto-lang/concerto/internal/record/tape"
	"github.com/concerto-lang/concerto/internal/text/hexsum"
	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
	"github.com/concerto-lang/concerto/vm"
)

// TestDroppedHistoryCannotBeResumed opens a run whose first records were dropped. Without a valid
// snapshot the run cannot be resumed, and the error must state what is wrong with each snapshot.
func TestDroppedHistoryCannotBeResumed(t *testing.T) {
	d := rundir.At(filepath.Join(t.TempDir(), "job"))
	d.SegmentBytes = 600
	w, start := createRun(t, d)
	for e := range int64(30) {
		w.Append(&journal.Record{K: journal.KDid, E: e + 1, Q: "clock", Gave: journal.Gave{V: json.RawMessage("{}")}})
	}
	err := w.Flush(journal.Written)
	w.(journal.Dropper).Drop(20, newTally())
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	h, err := d.Read()
	if err != nil || h.Head == nil {
		t.Fatal(h, err)
	}
	last := h.At()
	put := func(s uint64, hash, ir string, engine int) {
		t.Helper()
		line := fmt.Sprintf(`{"format":%d,"s":%d,"h":%q,"engine":%d,"ir":%q,"counts":{"effects":29},"runner":{"out":0,"out_sum":""}}`, vm.SnapshotFormat, s, hash, engine, ir)
		data, err := vm.Timed(append([]byte(line+"\n"), make([]byte, 32)...), 1)
		if err != nil {
			t.Fatal(err)
		}
		w, _, err := d.Open(nil, journal.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(w.PutSnapshot(s, data), w.Close()); err != nil {
			t.Fatal(err)
		}
	}
	wants := func(what, text string) {
		t.Helper()
		_, err := Latest(d)
		if damaged, ok := errors.AsType[*journal.DamagedError](err); !ok || damaged.Next != journal.RestoreAdvice || !strings.HasPrefix(err.Error(), "damaged: "+text+", and the history before them is not stored") {
			t.Errorf("Latest with %s: error = %v", what, err)
		}
	}
	wants("no snapshot", "snapshots: the run has no snapshot")
	put(last.S-1, strings.Repeat("0", 32), start.IR, tape.Engine)
	wants("one of another journal", journal.SnapshotName(last.S-1)+": "+journal.ErrOtherRecord.Error())
	put(last.S, last.H, hexsum.SHA256(""), tape.Engine)
	wants("one of another program, too", journal.SnapshotName(last.S)+": it belongs to another program; "+journal.SnapshotName(last.S-1)+": "+journal.ErrOtherRecord.Error())
	put(last.S, last.H, start.IR, tape.Engine+1)
	var other *OtherEngine
	if _, err := Latest(d); !errors.As(err, &other) || other.Engine != tape.Engine+1 {
		t.Errorf("Latest with the snapshot of another engine: error = %v, want an OtherEngine", err)
	}
	put(last.S, last.H, start.IR, tape.Engine)
	s, err := Latest(d)
	if err != nil || s.After != last.S || len(s.bad) != 0 {
		t.Fatalf("Latest with a valid snapshot = %+v, %v, want a run after record %d", s, err, last.S)
	}
	if from, err := s.FirstStored(); from != 30 || err != nil {
		t.Errorf("FirstStored() = %d, %v, want 30, nil", from, err)
	}
	var dropped *DroppedError
	if err := s.Whole(); !errors.As(err, &dropped) || dropped.From != 30 {
		t.Errorf("Whole() = %v, want a DroppedError from effect 30", err)
	}
	if _, err := s.Earlier(&BadSnapshot{errors.New("the VM cannot read it")}); err == nil || !strings.HasPrefix(err.Error(), "damaged: "+journal.SnapshotName(last.S)+": the VM cannot read it; ") {
		t.Errorf("Earlier without another valid snapshot: error = %v, want a DamagedError with the reason", err)
	}
}

// createRun creates a run in a directory and returns its start record.
func createRun(t *testing.T, d *rundir.Directory) (journal.Writer, *journal.Start) {
	t.Helper()
	program := []byte("program")
	start := journal.Start{Run: "r_1", IR: hexsum.SHA256(program), Args: []string{}, Inputs: json.RawMessage("{}"), Session: json.RawMessage("{}"), Seed: "1", Flags: json.RawMessage("{}")}
	w, err := d.Create(start, program, journal.Options{Sync: journal.SyncNever})
	if err != nil {
		t.Fatal(err)
	}
	return w, &start
}

// TestSummaryAfterDrop drops the first records of a journal, up to each possible record. The
// summary of the run must always be the same.
func TestSummaryAfterDrop(t *testing.T) {
	reply := json.RawMessage(`{"provider":"p","model":"m","tokens_in":3,"tokens_out":2}`)
	all := []*journal.Record{
		{S: 1, K: journal.KStart, Start: &journal.Start{Run: "r_1"}},
		{S: 2, K: journal.KBegin, E: 1, Q: "agent.call", C: "retry"},
		{S: 3, K: journal.KBegin, E: 2, Q: "emit.await", C: "waits", Asked: journal.Asked{R: json.RawMessage(`{"channel":"ask"}`)}},
		{S: 4, K: journal.KBegin, E: 1, Q: "agent.call", C: "retry", Asked: journal.Asked{Try: 2}},
		{S: 5, K: journal.KEnd, E: 1, Gave: journal.Gave{X: "done", V: reply}},
		{S: 6, K: journal.KBegin, E: 3, Q: "exchange.open", C: "kept"},
		{S: 7, K: journal.KEnd, E: 3, Gave: journal.Gave{X: "done"}},
		{S: 8, K: journal.KBegin, E: 4, Q: "mcp.open", C: "once"},
		{S: 9, K: journal.KEnd, E: 4, Gave: journal.Gave{X: "done"}},
		{S: 10, K: journal.KDid, E: 5, Q: "agent.stream.next", Gave: journal.Gave{V: json.RawMessage(`{"reply":` + string(reply) + `}`)}},
		{S: 11, K: journal.KBegin, E: 6, Q: "http", C: "once"},
		{S: 12, K: journal.KEnd, E: 6, Gave: journal.Gave{X: "none"}},
		{S: 13, K: journal.KDid, E: 7, Of: 3, Q: "exchange.close"},
	}
	countsOf := func(head *journal.Head, records []*journal.Record) string {
		x, err := tallied(&journal.History{Head: head, Records: records})
		if err != nil {
			t.Fatal(err)
		}
		rest, err := x.Encode()
		if err != nil {
			t.Fatal(err)
		}
		usage, err := jsonwrite.Encode(x.usage(func(_, _ string, in, out int64) float64 { return float64(in + out) }))
		if err != nil {
			t.Fatal(err)
		}
		return string(rest) + string(usage)
	}
	for n := 1; n <= len(all); n++ {
		want := countsOf(nil, all[:n])
		for cut := 1; cut < n; cut++ {
			before := newTally()
			for _, r := range all[:cut] {
				before.Add(r)
			}
			rest, err := before.Encode()
			if err != nil {
				t.Fatal(err)
			}
			other := newTally() // a second drop that drops no further records
			err = other.Restore(rest)
			if err == nil {
				rest, err = other.Encode()
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := countsOf(&journal.Head{Rest: rest}, append(all[:1:1], all[cut:n]...)); got != want {
				t.Fatalf("summary of %d records after %d were dropped:\n%s\nwant:\n%s", n, cut, got, want)
			}
		}
	}
	if got := countsOf(nil, all); !strings.Contains(got, `"effects":{"done":5,"none":1,"unknown":0,"pending":0},"calls":2,"lost":1`) || !strings.Contains(got, `"tokens_in":6,"tokens_out":4,"cost_usd":10`) {
		t.Error(got)
	}
}

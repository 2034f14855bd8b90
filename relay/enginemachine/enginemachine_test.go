package enginemachine

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/concerto-lang/concerto/internal/record/journal/postgres"
	"github.com/concerto-lang/concerto/internal/testkit/pgtest"
	"github.com/concerto-lang/concerto/relay/protocol"
)

// TestManyRuns follows an engine with 1,000 runs that wait for an answer. A poll without changes
// reads the marks only, and neither it nor a restart commits an event.
func TestManyRuns(t *testing.T) {
	const n = 1000
	url := pgtest.Make(t, pgtest.Start(t), "engine")
	e, err := postgres.Connect(t.Context(), url, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	if _, err := e.Init(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	pgtest.Do(t, url, fmt.Sprintf(`INSERT INTO concerto.programs VALUES (repeat('0', 64), 'ir');
		INSERT INTO concerto.runs (id, program, ir, start) SELECT 'r' || i, 'main.conc', repeat('0', 64), '{}' FROM generate_series(1, %d) i;
		UPDATE concerto.runs SET state = 'waiting', output_count = 2;
		INSERT INTO concerto.output SELECT id, n, CASE n WHEN 1 THEN '{"n":1,"channel":"print","payload":"hello"}' ELSE '{"n":2,"channel":"c","payload":7}' END FROM concerto.runs, generate_series(1, 2) n;
		INSERT INTO concerto.questions SELECT id, 'q1', 'approve', '"ship it?"', 'Bool', '{"type":"boolean"}', clock_timestamp() FROM concerto.runs`, n))
	file := filepath.Join(t.TempDir(), "spool.db")
	open := func() *Machine {
		t.Helper()
		h, err := Open(t.Context(), Options{Engine: e, ID: "e_1", Name: "engine", Spool: file, Server: "http://127.0.0.1:1", Token: "t", Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	poll := func(h *Machine) {
		t.Helper()
		if err := h.poll(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	check := func(h *Machine, when string) {
		t.Helper()
		all := h.spool.Runs()
		if len(all) != n {
			t.Fatalf("%s: the spool has %d runs, want %d", when, len(all), n)
		}
		for _, r := range all {
			if r.Last != 5 || r.Offset != 2 { // started, output, emit, meta and the request
				t.Fatalf("%s: run %s has %d events and %d lines of output", when, r.ID, r.Last, r.Offset)
			}
			if q := h.requests.Open(r.ID); len(q) != 1 || q[0].Prompt != "ship it?" {
				t.Fatalf("%s: requests of run %s = %+v", when, r.ID, q)
			}
		}
	}
	h := open()
	poll(h)
	poll(h)
	check(h, "after two polls")
	marks, _, err := h.readMarks(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if changed, err := h.changed(t.Context(), marks); err != nil || len(changed) != 0 {
		t.Errorf("runs that have changed = %d, error = %v, want none", len(changed), err)
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	h = open()
	poll(h)
	check(h, "after a restart")
	h.Source.o.Stored = func(context.Context) (int, error) { return protocol.MaxRunsOfMachine - 2, nil }
	pgtest.Do(t, url, `INSERT INTO concerto.runs (id, program, ir, start) SELECT 'more' || i, 'main.conc', repeat('0', 64), '{}' FROM generate_series(1, 5) i`)
	for _, r := range h.spool.Runs() {
		h.spool.Ack(r.ID, 1)
	}
	poll(h)
	poll(h)
	if all := h.spool.Runs(); len(all) != n+2 {
		t.Errorf("runs = %d, want only the two that the server accepts besides %d", len(all), n)
	}
	events, err := h.spool.Next(t.Context(), h.spool.Runs()[0].ID, 1, 10)
	if err != nil || events[0].Type != protocol.RunOutput || string(events[1].Data) != `{"channel":"c","payload":7,"awaited":false}` {
		t.Errorf("events = %+v, error = %v", events, err)
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
}

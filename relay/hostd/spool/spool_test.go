package spool_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto/internal/testkit/powercut"
	"github.com/concerto-lang/concerto/relay/hostd/spool"
	"github.com/concerto-lang/concerto/relay/protocol"
)

var ctx = context.Background()

func commit(t testing.TB, s *spool.Spool, run string, events ...spool.Event) int64 {
	t.Helper()
	last, err := s.Append(ctx, run, events...)
	if err != nil {
		t.Fatal(err)
	}
	return last
}

var (
	started = spool.Event{Type: protocol.RunStarted, Data: protocol.Started{Tool: "t", Cwd: "/", Command: "c"}}
	exited  = spool.Event{Type: protocol.RunExited, Data: protocol.Exited{ExitCode: 3}}
)

// describe returns a short form of events, with which tests compare them.
func describe(t testing.TB, all []protocol.Envelope) (out []string) {
	for _, e := range all {
		text := e.Type
		switch e.Type {
		case protocol.RunOutput:
			text = textOf(t, e)
		case protocol.RunGap:
			gap, err := protocol.Decode[protocol.Gap](&e)
			if err != nil || gap.To != e.Seq {
				t.Errorf("gap %+v: %v", gap, err)
			}
			text = fmt.Sprintf("gap %d-%d %s", gap.From, gap.To, gap.Reason)
		}
		out = append(out, fmt.Sprintf("%d %s", e.Seq, text))
	}
	return out
}

func expect(t testing.TB, got []string, want ...string) {
	t.Helper()
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("events =\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestSpool checks the life of events. They are numbered in each run, stored together with the
// notes of their change, and deleted only after their acknowledgement. A run accepts no events
// after its exit.
func TestSpool(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a b?%41.db")
	s := open(t, file, spool.Options{})
	if _, err := spool.Open(ctx, file, spool.Options{}); !errors.Is(err, spool.ErrInUse) {
		t.Errorf("second open: error = %v, want ErrInUse", err)
	}
	off := int64(77)
	last, err := s.Commit(ctx, spool.Change{Run: "run_a", Events: []spool.Event{started, output("1")}, Offset: &off,
		Notes:   []spool.Note{{Kind: "desk", Key: "r1", Data: []byte(`{"a":1}`)}, {Kind: "desk", Key: "r2", Data: []byte(`2`)}, {Kind: "input", Key: "r1", Data: []byte(`3`)}},
		Results: []spool.Result{{CommandDone: protocol.CommandDone{ID: "i1", Kind: "input", State: "applied"}}}})
	if err != nil || last != 2 {
		t.Fatal(last, err)
	}
	commit(t, s, "run_b", started)
	if _, err := s.Append(ctx, "run_a", spool.Event{Type: protocol.RunOutput, Data: protocol.Empty{}}); err == nil || !strings.Contains(err.Error(), "data.stream is missing") {
		t.Errorf("append of an invalid event: error = %v", err)
	}
	if _, err := s.Append(ctx, "../a", started); err == nil {
		t.Error("a run id with invalid characters was accepted")
	}
	epoch := s.Epoch()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Append(ctx, "run_a", output("x")); !errors.Is(err, spool.ErrClosed) {
		t.Errorf("append after Close: error = %v, want ErrClosed", err)
	}
	s = open(t, file, spool.Options{})
	if s.Epoch() != epoch+1 {
		t.Errorf("epoch = %d, want %d + 1", s.Epoch(), epoch)
	}
	if _, err := s.Commit(ctx, spool.Change{Run: "run_a", Notes: []spool.Note{{Kind: "desk", Key: "r2"}}}); err != nil {
		t.Error(err)
	}
	notes, err := s.Notes(ctx, "run_a", "desk")
	if err != nil || len(notes) != 1 || string(notes["r1"]) != `{"a":1}` {
		t.Errorf("notes = %s, error = %v", notes, err)
	}
	commit(t, s, "run_a", exited)
	if _, err := s.Append(ctx, "run_a", output("late")); !errors.Is(err, spool.ErrEnded) {
		t.Errorf("append after the exit: error = %v, want ErrEnded", err)
	}
	expect(t, describe(t, next(t, s, "run_a", 0, 2)), "1 run.started", "2 1", "3 run.exited")
	if got := fmt.Sprint(s.Runs()); got != "[{run_a 3 0 77 true} {run_b 1 0 0 false}]" {
		t.Error(got)
	}
	s.Ack("run_a", 9) // acknowledges more than the last event, so it does nothing
	s.Ack("run_a", 2)
	s.Ack("run_a", 1) // a late acknowledgement
	expect(t, describe(t, next(t, s, "run_a", 0, 9)), "3 run.exited")
	s.Ack("run_a", 3)
	s.Ack("run_b", 1)
	if err := s.Close(); err != nil { // Close commits the acknowledgements
		t.Fatal(err)
	}
	s = open(t, file, spool.Options{})
	if got := fmt.Sprint(s.Runs()); got != "[{run_b 1 1 0 false}]" {
		t.Error(got)
	}
	if r, ok := s.Run("run_a"); !ok || !r.Ended || s.Health().Used != 0 {
		t.Errorf("run = %+v, exists = %v, health = %+v; want it ended and acknowledged", r, ok, s.Health())
	}
	if note, err := s.Note(ctx, "run_a", "desk", "r1"); note != nil || err != nil {
		t.Errorf("note of an ended run = %s, error = %v; want none", note, err)
	}
	testResults(t, s)
}

// testResults checks that a result is stored until it is acknowledged. A newer result of the same
// command is sent again.
func testResults(t *testing.T, s *spool.Spool) {
	all, err := s.Results(ctx, 0)
	if err != nil || len(all) != 1 || all[0].Run != "run_a" || all[0].ID != "i1" || all[0].State != "applied" {
		t.Fatalf("results = %+v, error = %v; want i1 as applied", all, err)
	}
	if _, err := s.Commit(ctx, spool.Change{Run: "run_a", Results: []spool.Result{{CommandDone: protocol.CommandDone{ID: "i1", Kind: "input", State: "rejected", Error: "why"}}}}); err != nil {
		t.Fatal(err)
	}
	rest, err := s.Results(ctx, all[0].N)
	if err != nil || len(rest) != 1 || rest[0].State != "rejected" || rest[0].Error != "why" {
		t.Fatalf("results = %+v, error = %v; want i1 as rejected", rest, err)
	}
	for _, r := range []spool.Result{all[0], rest[0]} {
		if err := s.ResultAcked(ctx, r.N); err != nil {
			t.Error(err)
		}
	}
	if all, err = s.Results(ctx, 0); err != nil || len(all) != 0 {
		t.Errorf("results after the acknowledgement = %+v, error = %v; want none", all, err)
	}
}

// TestSpoolFull fills the spool. Above 80 % of its size, output is merged with events that were not
// read. At 100 %, output waits for a minute, and then the oldest output is replaced with a gap.
// Requests and exits are always accepted. An acknowledgement ends the waiting.
func TestSpoolFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, filepath.Join(t.TempDir(), "spool.db"), spool.Options{Max: 16000})
		commit(t, s, "run_a", started)
		kilo := strings.Repeat("x", 1000)
		for s.Health().Used < 12800 {
			commit(t, s, "run_a", output(kilo))
		}
		last := commit(t, s, "run_a", output("a"))
		if seq := commit(t, s, "run_a", output("b")); seq != last {
			t.Errorf("sequence number = %d, want %d: output was not merged", seq, last)
		}
		all := next(t, s, "run_a", 0, 1000)
		if text := textOf(t, all[len(all)-1]); !strings.HasSuffix(text, "ab") {
			t.Errorf("end of the merged output = %q, want ab", text[max(0, len(text)-9):])
		}
		if seq := commit(t, s, "run_a", output("c")); seq != last+1 {
			t.Errorf("sequence number = %d after %d: output was merged with an event that Next had returned", seq, last)
		}
		for s.Health().Used < 15000 {
			commit(t, s, "run_b", output(kilo))
		}
		began := time.Now()
		commit(t, s, "run_a", output(kilo))
		if took := time.Since(began); took != time.Minute || !s.Health().Full {
			t.Errorf("output waited %v, want a minute", took)
		}
		commit(t, s, "run_a", output(kilo))
		commit(t, s, "run_a", exited)
		if took := time.Since(began); took != time.Minute || s.Health().Used > 16000 {
			t.Errorf("output waited %v in total, used bytes = %d", took, s.Health().Used)
		}
		got := describe(t, next(t, s, "run_a", 0, 1000))
		if got[0] != "1 run.started" || !strings.HasPrefix(got[1], "3 gap 2-3 spool_full") && !strings.Contains(got[1], "spool_full") || !strings.HasSuffix(got[len(got)-1], "run.exited") {
			t.Errorf("events = %.300s, want a gap in place of the oldest output", got)
		}
		if all := next(t, s, "run_a", 2, 1); !strings.Contains(describe(t, all)[0], "gap 3-") {
			t.Errorf("gap after event 2 = %s, want it to begin with 3", describe(t, all)[0])
		}
		testResumeAfterRoom(t, s, kilo)
	})
}

func testResumeAfterRoom(t *testing.T, s *spool.Spool, kilo string) {
	for s.Health().Used+1200 < 16000 {
		commit(t, s, "run_b", output(kilo))
	}
	r, _ := s.Run("run_a")
	s.Ack("run_a", r.Last)
	synctest.Wait()
	for s.Health().Used >= 16000 || s.Health().Full {
		t.Fatalf("health = %+v", s.Health())
	}
	for s.Health().Used+1200 < 16000 {
		commit(t, s, "run_c", output(kilo))
	}
	began := time.Now()
	waits, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if _, err := s.Append(waits, "run_c", output(strings.Repeat("y", 3000))); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("append with a deadline: error = %v, want DeadlineExceeded", err)
	}
	done := make(chan error)
	go func() {
		_, err := s.Append(ctx, "run_c", output(strings.Repeat("y", 3000)))
		done <- err
	}()
	synctest.Wait()
	commit(t, s, "run_c", spool.Event{Type: protocol.RunMeta, Data: protocol.Meta{}})
	c, _ := s.Run("run_c")
	s.Ack("run_c", c.Last)
	if err := <-done; err != nil || time.Since(began) != time.Second {
		t.Errorf("the commit returned after %v with error %v, want after a second", time.Since(began), err)
	}
}

// TestDiskFull checks that writes wait while the disk is full, that Health reports the full disk,
// and that the writes continue when there is space.
func TestDiskFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, filepath.Join(t.TempDir(), "spool.db"), spool.Options{})
		commit(t, s, "run_a", started)
		if err := s.LimitPages(1); err != nil {
			t.Fatal(err)
		}
		done := make(chan int64)
		go func() { done <- commit(t, s, "run_a", output(strings.Repeat("x", 30000))) }()
		time.Sleep(5500 * time.Millisecond) // in the time of the synctest bubble
		if h := s.Health(); h.WriteErr == nil || !strings.Contains(h.WriteErr.Error(), "full") {
			t.Errorf("health on a full disk = %+v", h)
		}
		if err := s.LimitPages(0); err != nil {
			t.Fatal(err)
		}
		if seq := <-done; seq != 2 || s.Health().WriteErr != nil {
			t.Errorf("sequence number = %d, health = %+v; want 2 and no error", seq, s.Health())
		}
		if err := s.LimitPages(1); err != nil {
			t.Fatal(err)
		}
		go func() {
			_, err := s.Append(ctx, "run_a", output(strings.Repeat("x", 30000)))
			if err == nil {
				done <- 0
			}
			close(done)
		}()
		time.Sleep(2500 * time.Millisecond)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if _, committed := <-done; committed {
			t.Error("Commit returned without an error")
		}
	})
}

// TestLostSpool checks that the loss of a spool, by the machine or by the server, leaves a gap, and
// that no sequence number is used twice.
func TestLostSpool(t *testing.T) {
	resume := func(s *spool.Spool, run string, has int64) (after int64, first string) {
		after, gap, err := s.Resume(ctx, run, has)
		if err != nil {
			t.Fatal(err)
		}
		if gap != nil {
			first = describe(t, []protocol.Envelope{*gap})[0]
		}
		return after, first
	}
	s := open(t, filepath.Join(t.TempDir(), "spool.db"), spool.Options{})
	for _, run := range []string{"run_a", "run_b"} {
		if err := s.Adopt(ctx, run); err != nil {
			t.Fatal(err)
		}
		commit(t, s, run, output("1"), output("2"), spool.Event{Type: protocol.RunGap, Data: protocol.Gap{From: 1, To: 10, Reason: "source_lag"}})
		if all := next(t, s, run, 0, 10); all != nil || s.Runs()[0].Last != 0 {
			t.Errorf("events of an adopted run = %v, want none before Resume", all)
		}
	}
	if after, first := resume(s, "run_a", 40); after != 40 || first != "" {
		t.Error(after, first)
	}
	if err := s.Adopt(ctx, "run_a"); err != nil { // the run is already known
		t.Error(err)
	}
	expect(t, describe(t, next(t, s, "run_a", 40, 10)), "41 gap 41-41 spool_lost", "42 1", "43 2", "53 gap 44-53 source_lag")
	if after, err := s.ResumeUnreported(ctx, "run_b"); after != 0 || err != nil {
		t.Error(after, err)
	}
	e := s.Epoch()
	expect(t, describe(t, next(t, s, "run_b", 0, 10)), fmt.Sprintf("%d gap 1-%d spool_lost", e+1, e+1), fmt.Sprintf("%d 1", e+2), fmt.Sprintf("%d 2", e+3),
		fmt.Sprintf("%d gap %d-%d source_lag", e+13, e+4, e+13))
	s.Ack("run_a", 43)
	if after, first := resume(s, "run_a", 7); after != 43 || first != "43 gap 8-43 store_lost" {
		t.Error(after, first)
	}
	if after, first := resume(s, "run_a", 50); after != 50 || first != "" {
		t.Error(after, first)
	}
	expect(t, describe(t, next(t, s, "run_a", 50, 10)), "53 gap 51-53 source_lag")
	if after, first := resume(s, "run_a", 99); after != 99 || first != "" {
		t.Error(after, first)
	}
	commit(t, s, "run_a", exited)
	expect(t, describe(t, next(t, s, "run_a", 99, 10)), "100 gap 100-100 spool_lost", "101 run.exited")
	if after, first := resume(s, "run_x", 5); after != 0 || first != "" {
		t.Error(after, first)
	}
}

// TestRefused opens a damaged spool, a spool of a newer version, and a spool in a missing
// directory. Each must be refused and not changed.
func TestRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.db")
	text := strings.Repeat("this is no database, but a text. ", 50)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := spool.Open(ctx, file, spool.Options{}); !errors.Is(err, spool.ErrDamaged) || !strings.Contains(err.Error(), "move the file away") {
		t.Errorf("open of a damaged spool: error = %v", err)
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != text {
		t.Errorf("damaged file = %q (%v), want it unchanged", got, err)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := open(t, file, spool.Options{}).Close(); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite3", "file:"+file)
	if err == nil {
		_, err = db.Exec(`UPDATE meta SET schema = 1000`)
	}
	if err == nil {
		err = db.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	before := powercut.Files(t, filepath.Dir(file))
	if _, err := spool.Open(ctx, file, spool.Options{}); !errors.Is(err, spool.ErrNewer) || !strings.Contains(err.Error(), "newer concerto-relay") {
		t.Errorf("open of a newer spool: error = %v", err)
	}
	if diff := cmp.Diff(before, powercut.Files(t, filepath.Dir(file))); diff != "" {
		t.Errorf("the newer one was touched (-before +after):\n%.300s", diff)
	}
	if _, err := spool.Open(ctx, filepath.Join(file, "y"), spool.Options{}); err == nil || !strings.Contains(err.Error(), "open the spool") {
		t.Errorf("open in a missing directory: error = %v", err)
	}
}

// TestTooLong checks that data too large for a frame is refused. Otherwise the server would never
// accept the event, nor later events of the run.
func TestTooLong(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "x.db"), spool.Options{})
	meta := func(n int) spool.Event {
		return spool.Event{Type: protocol.RunMeta, Data: map[string]string{"title": strings.Repeat("<", n)}}
	}
	var why *protocol.Refusal
	if _, err := s.Append(ctx, "run_a", meta(spool.MaxData/6)); !errors.As(err, &why) || why.Code != protocol.TooLarge {
		t.Errorf("append of too large data: error = %v, want too_large", err)
	}
	if last := commit(t, s, "run_a", meta(100)); last != 1 {
		t.Errorf("sequence number of the next event = %d, want 1", last)
	}
}

func open(t testing.TB, file string, o spool.Options) *spool.Spool {
	t.Helper()
	s, err := spool.Open(context.Background(), file, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func output(text string) spool.Event {
	return spool.Event{Type: protocol.RunOutput, Data: protocol.Output{Stream: "stdout", Text: text}}
}

func textOf(t interface {
	Helper()
	Fatal(...any)
}, e protocol.Envelope) string {
	t.Helper()
	out, err := protocol.Decode[protocol.Output](&e)
	if err != nil {
		t.Fatal(err)
	}
	return out.Text
}

func next(t testing.TB, s *spool.Spool, run string, after int64, n int) (all []protocol.Envelope) {
	t.Helper()
	for {
		some, err := s.Next(context.Background(), run, after, n)
		if err != nil {
			t.Fatal(err)
		}
		if len(some) == 0 {
			return all
		}
		all, after = append(all, some...), some[len(some)-1].Seq
	}
}

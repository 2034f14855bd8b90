package spool_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/concerto-lang/concerto/relay/hostd/spool"
	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/seal"
)

func request(id string) spool.Event {
	return spool.Event{Type: protocol.RunPermissionRequested, Data: protocol.PermissionRequested{RequestID: id, Reason: "permission", Prompt: "run it?"}}
}

func lag(n int64) spool.Event {
	return spool.Event{Type: protocol.RunGap, Data: protocol.Gap{From: 1, To: n, Reason: "source_lag"}}
}

// describeSealed returns a short form of the events that a reader reads, in which a gap may begin
// with an event that the reader has.
func describeSealed(t testing.TB, r *reader, all []protocol.Envelope) (out []string) {
	t.Helper()
	for i := range all {
		plain, err := r.read(&all[i])
		switch {
		case err != nil:
			t.Fatal(err)
		case plain.Type == seal.TypeHead:
			out = append(out, fmt.Sprintf("%d head", plain.Seq))
		case plain.Type == protocol.RunGap:
			var gap protocol.Gap
			if err := json.Unmarshal(plain.Data, &gap); err != nil || gap.To != plain.Seq {
				t.Errorf("gap %s: %v", plain.Data, err)
			}
			out = append(out, fmt.Sprintf("%d gap %d-%d %s", plain.Seq, gap.From, gap.To, gap.Reason))
		default:
			out = append(out, describe(t, []protocol.Envelope{*plain})...)
		}
	}
	return out
}

// TestSealed checks the life of a sealed run: which events require a head, that others are covered
// after a second or 256 events, and that one head follows the exit.
func TestSealed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAccount("a_1")
		s := open(t, filepath.Join(t.TempDir(), "spool.db"), spool.Options{Keys: a})
		if last := commit(t, s, "run_a", started, request("r1"), output("1")); last != 4 {
			t.Errorf("sequence number = %d, want 4 with the head", last)
		}
		commit(t, s, "run_a", output("2"), spool.Event{Type: protocol.RunMeta, Data: protocol.Meta{}})
		all := next(t, s, "run_a", 0, 2)
		if got := fmt.Sprint(all[1].Type, string(all[1].Enc), all[3].Type, all[5].Type); got != `run.permission_requested{"epoch":1,"v":1}run.sealed`+"run.sealed" {
			t.Error(got)
		}
		if d, err := parse(&all[1]); err != nil || d.Data.RequestID != "r1" {
			t.Errorf("data = %+v, error = %v", d, err)
		}
		r := newReader(a)
		expect(t, describeSealed(t, r, all), "1 run.started", "2 run.permission_requested", "3 1", "4 head", "5 2", "6 run.meta")
		time.Sleep(seal.HeadInterval - time.Millisecond)
		synctest.Wait()
		expect(t, describeSealed(t, r, next(t, s, "run_a", 6, 9)))
		time.Sleep(time.Millisecond)
		synctest.Wait()
		expect(t, describeSealed(t, r, next(t, s, "run_a", 6, 9)), "7 head")
		calls := a.callCount()
		time.Sleep(time.Hour)
		if got := a.callCount(); got != calls {
			t.Errorf("keys were requested %d times without events", got-calls)
		}
		a.rotate()
		for range 300 {
			commit(t, s, "run_a", output("x"))
		}
		got := describeSealed(t, r, next(t, s, "run_a", 7, 99))
		if len(got) != 301 || got[256] != "264 head" || r.heads != 3 {
			t.Errorf("%d events and %d heads: %s", len(got), r.heads, got[250:])
		}
		commit(t, s, "run_a", output("end"), exited)
		expect(t, describeSealed(t, r, next(t, s, "run_a", 308, 9)), "309 end", "310 run.exited", "311 head")
		if _, err := s.Append(ctx, "run_a", output("late")); !errors.Is(err, spool.ErrEnded) {
			t.Errorf("append after the exit: error = %v, want ErrEnded", err)
		}
		time.Sleep(time.Hour)
		if run, _ := s.Run("run_a"); run.Last != 311 || !run.Ended || len(r.pending) > 0 {
			t.Errorf("run = %+v, unconfirmed events = %v", run, r.pending)
		}
		if a.messages < 311 {
			t.Errorf("keys were requested for %d messages", a.messages)
		}
	})
}

// TestOldestEpoch returns the lowest epoch of the events that the server has not acknowledged.
func TestOldestEpoch(t *testing.T) {
	a := newAccount("a_1")
	s := open(t, filepath.Join(t.TempDir(), "spool.db"), spool.Options{Keys: a})
	check := func(want int64) {
		t.Helper()
		if got, err := s.OldestEpoch(ctx); err != nil || got != want {
			t.Errorf("oldest epoch = %d, %v; want %d", got, err, want)
		}
	}
	check(0)
	commit(t, s, "run_a", started, exited)
	a.rotate()
	commit(t, s, "run_b", started, exited)
	check(1)
	last, _ := s.Run("run_a")
	if _, _, err := s.Resume(ctx, "run_a", last.Last); err != nil {
		t.Fatal(err)
	}
	check(2)
}

// framesOf returns the events as they are sent, one in a line.
func framesOf(all []protocol.Envelope) string {
	var b []byte
	for i := range all {
		b = append(all[i].Append(b), '\n')
	}
	return string(b)
}

// TestSealedResend checks that an event has the same bytes whenever it is sent, also after a
// restart, and that the head which hostd owed then follows.
func TestSealedResend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAccount("a_1")
		file := filepath.Join(t.TempDir(), "spool.db")
		s := open(t, file, spool.Options{Keys: a})
		commit(t, s, "run_a", started, request("r1"))
		commit(t, s, "run_a", output("1"), output("2"))
		commit(t, s, "run_b", request("r1")) // needs no further head
		before := framesOf(next(t, s, "run_a", 0, 9))
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		a.rotate()
		s = open(t, file, spool.Options{Keys: a})
		all := next(t, s, "run_a", 0, 9)
		if after := framesOf(all); after != before {
			t.Errorf("events after the restart =\n%s\nwant\n%s", after, before)
		}
		s.Ack("run_a", 4)
		time.Sleep(seal.HeadInterval)
		synctest.Wait()
		r := newReader(a)
		describeSealed(t, r, all)
		expect(t, describeSealed(t, r, next(t, s, "run_a", 5, 9)), "6 head")
		if len(r.pending) > 0 {
			t.Errorf("unconfirmed events = %v", r.pending)
		}
		if run, _ := s.Run("run_b"); run.Last != 2 {
			t.Errorf("run = %+v, want no further head", run)
		}
		s.Ack("run_a", 6) // no event remains; the chain continues
		synctest.Wait()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = open(t, file, spool.Options{Keys: a})
		commit(t, s, "run_a", exited)
		expect(t, describeSealed(t, r, next(t, s, "run_a", 6, 9)), "7 run.exited", "8 head")
	})
}

// TestSealedDiskFull checks that heads wait while the disk is full.
func TestSealedDiskFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAccount("a_1")
		s := open(t, filepath.Join(t.TempDir(), "spool.db"), spool.Options{Keys: a})
		for i := range 20 { // the heads need more pages
			commit(t, s, fmt.Sprint("run_", i), output("1"))
		}
		if err := s.LimitPages(1); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * seal.HeadInterval)
		if err := s.Health().WriteErr; err == nil {
			t.Error("the heads were written to a full disk")
		}
		if err := s.LimitPages(0); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * seal.HeadInterval)
		for i := range 20 {
			expect(t, describeSealed(t, newReader(a), next(t, s, fmt.Sprint("run_", i), 0, 9)), "1 1", "2 head")
		}
	})
}

// TestAccount checks that a run is sealed for the account in which it began. It accepts no events
// without that account, and no event is stored in plaintext. Other runs are not affected.
func TestAccount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, other := newAccount("a_1"), newAccount("a_2")
		file := filepath.Join(t.TempDir(), "spool.db")
		plain := open(t, file, spool.Options{})
		commit(t, plain, "run_plain", output("1"))
		if err := plain.Close(); err != nil {
			t.Fatal(err)
		}
		s := open(t, file, spool.Options{Keys: a})
		commit(t, s, "run_a", output("1"))
		commit(t, s, "run_plain", output("2"))
		refused := func(s *spool.Spool, want string) {
			t.Helper()
			if last, err := s.Append(ctx, "run_a", output("x")); !errors.Is(err, spool.ErrAccount) || !strings.Contains(err.Error(), want) {
				t.Errorf("append returned %d and error %v, want ErrAccount with %q", last, err, want)
			}
			off := int64(9)
			if _, err := s.Commit(ctx, spool.Change{Run: "run_a", Offset: &off, Notes: []spool.Note{{Kind: "k", Key: "a", Data: []byte("1")}}}); err != nil {
				t.Errorf("a change without events: error = %v", err)
			}
			commit(t, s, "run_plain", output("x"))
		}
		a.set(true, nil)
		refused(s, "sealed for account a_1, and this machine has no account")
		commit(t, s, "run_late", output("1")) // a run that begins without an account
		time.Sleep(2 * time.Hour)             // the head cannot be sealed
		calls := a.callCount()
		time.Sleep(time.Hour)
		if got := a.callCount() - calls; got > 61 {
			t.Errorf("keys were requested %d times in an hour", got)
		}
		a.set(false, errors.New("the file is damaged"))
		if _, err := s.Append(ctx, "run_a", output("x")); err == nil || !strings.Contains(err.Error(), "the file is damaged") {
			t.Errorf("append without keys: error = %v", err)
		}
		if _, err := s.Append(ctx, "run_new", output("x")); err == nil || !strings.Contains(err.Error(), "the file is damaged") {
			t.Errorf("append to a new run without keys: error = %v", err)
		}
		if _, ok := s.Run("run_new"); ok {
			t.Error("a run was created without its first event")
		}
		commit(t, s, "run_plain", output("x"))
		a.set(false, nil)
		time.Sleep(time.Hour)
		r := newReader(a)
		expect(t, describeSealed(t, r, next(t, s, "run_a", 0, 9)), "1 1", "2 head")
		expect(t, describe(t, next(t, s, "run_late", 0, 9)), "1 1")
		commit(t, s, "run_late", output("2"))
		expect(t, describe(t, next(t, s, "run_late", 1, 9)), "2 2")
		for _, keys := range []spool.Keys{other, nil} {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s = open(t, file, spool.Options{Keys: keys})
			refused(s, map[bool]string{true: "this machine is in account a_2", false: "has no account"}[keys != nil])
		}
		if run, _ := s.Run("run_a"); run.Last != 2 {
			t.Errorf("run = %+v", run)
		}
	})
}

// TestRefusedEvent checks that an event which cannot be sealed is refused with its whole change,
// and that the next one is not affected.
func TestRefusedEvent(t *testing.T) {
	a := newAccount("a_1")
	s := open(t, filepath.Join(t.TempDir(), "spool.db"), spool.Options{Keys: a})
	var why *protocol.Refusal
	for name, e := range map[string]spool.Event{
		"a request id that is no id": request("r/1"), "a type in upper case": {Type: "RUN", Data: protocol.Empty{}}, "no object": {Type: "run.x", Data: json.RawMessage(`[]`)},
	} {
		if last, err := s.Append(ctx, "run_a", output("1"), e); !errors.As(err, &why) || why.Code != protocol.BadMessage {
			t.Errorf("%s: append returned %d and error %v, want bad_message", name, last, err)
		}
	}
	if _, ok := s.Run("run_a"); ok {
		t.Error("the run was created")
	}
	var all sync.WaitGroup
	for i := range 50 { // some of them in one batch
		all.Go(func() {
			if _, err := s.Append(ctx, "run_a", output("1"), request("r/1")); err == nil {
				t.Error("an event was not refused")
			}
		})
		all.Go(func() {
			if _, err := s.Append(ctx, "run_a", output(fmt.Sprint(i)), request("r1")); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if got := describeSealed(t, newReader(a), next(t, s, "run_a", 0, 99)); len(got) != 150 {
		t.Errorf("%d events, want 150", len(got))
	}
}

// TestSealedTooLong checks that the longest event that is accepted fits into a frame, and that
// Fits reports the same limit.
func TestSealedTooLong(t *testing.T) { synctest.Test(t, testSealedTooLong) }

func testSealedTooLong(t *testing.T) {
	a := newAccount("a_1")
	s := open(t, filepath.Join(t.TempDir(), "x.db"), spool.Options{Keys: a})
	run := "run_" + strings.Repeat("a", 60)
	try := func(data string, want bool) {
		t.Helper()
		if got := s.Fits(run, protocol.RunMeta, []byte(data)); got != want {
			t.Errorf("Fits for %d bytes = %v", len(data), got)
		}
		_, err := s.Append(ctx, run, spool.Event{Type: protocol.RunMeta, Data: json.RawMessage(data)})
		var why *protocol.Refusal
		if got := err == nil; got != want || !want && (!errors.As(err, &why) || why.Code != protocol.TooLarge) {
			t.Errorf("append of %d bytes: error = %v, want accepted = %v", len(data), err, want)
		}
	}
	const rest = len(`{"data":{"title":""},"ts":"2026-01-01T00:00:00.000Z","type":"run.meta"}`)
	try(`{"title":"`+strings.Repeat("x", seal.MaxPlaintext-rest)+`"}`, true)
	try(`{"title":"`+strings.Repeat("x", seal.MaxPlaintext-rest+1)+`"}`, false)
	if !s.Fits(run, "x", []byte(`[`+strings.Repeat("1e20,", (seal.MaxPlaintext-200)/22)+`1]`)) || // each number has 21 digits
		s.Fits(run, "x", []byte(`[`+strings.Repeat("1e20,", seal.MaxPlaintext/22)+`1]`)) {
		t.Error("the size of the canonical form is wrong")
	}
	all := next(t, s, run, 0, 9)
	for i := range all {
		all[i].MachineID = strings.Repeat("h", 64)
		if frame := all[i].Append(nil); len(frame) > protocol.MaxFrame {
			t.Errorf("a frame has %d bytes", len(frame))
		}
	}
	if got := describeSealed(t, newReader(a), all); len(got) != 1 {
		t.Errorf("events = %q", got)
	}
	plain := open(t, filepath.Join(t.TempDir(), "y.db"), spool.Options{})
	data := `{"title":"` + strings.Repeat("x", spool.MaxData-12) + `"}`
	if _, err := plain.Append(ctx, run, spool.Event{Type: protocol.RunMeta, Data: json.RawMessage(data)}); err != nil || !plain.Fits(run, protocol.RunMeta, []byte(data)) || plain.Fits(run, protocol.RunMeta, []byte(data+" ")) {
		t.Errorf("append of %d bytes that are not sealed: error = %v", len(data), err)
	}
}

// TestSealedGaps checks the gaps that callers commit: all earlier events are confirmed, also if
// there are none.
func TestSealedGaps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAccount("a_1")
		s := open(t, filepath.Join(t.TempDir(), "spool.db"), spool.Options{Keys: a})
		commit(t, s, "run_a", lag(3), lag(1), output("1"), lag(2), request("r1"))
		commit(t, s, "run_b", request("r1"), lag(9))
		commit(t, s, "run_a", output("2"))
		time.Sleep(seal.HeadInterval)
		synctest.Wait()
		r := newReader(a)
		all := next(t, s, "run_a", 0, 9)
		expect(t, describeSealed(t, r, all), "3 gap 1-3 source_lag", "4 gap 4-4 source_lag", "5 1", "6 head", "8 gap 7-8 source_lag",
			"9 run.permission_requested", "10 head", "11 2", "12 head")
		if d, err := parse(&all[4]); err != nil || d.Data.From != 7 {
			t.Errorf("data of a gap = %+v, error = %v; want from 7", d, err)
		}
		b := next(t, s, "run_b", 0, 9)
		expect(t, describeSealed(t, newReader(a), b), "1 run.permission_requested", "2 head", "11 gap 3-11 source_lag")
		s.Ack("run_b", 5) // inside the gap, which cannot be shortened
		synctest.Wait()
		if rest := next(t, s, "run_b", 5, 9); len(rest) != 1 || !bytes.Equal(rest[0].Data, b[2].Data) {
			t.Errorf("the gap after an acknowledgement = %+v", rest)
		}
	})
}

// TestMarker checks that nothing of the events of sealed runs is in the files, except those of an
// adopted run, until they are sealed.
func TestMarker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const marker = "Ma7rK3r"
		a := newAccount("a_1")
		dir := t.TempDir()
		file := filepath.Join(dir, "spool.db")
		s := open(t, file, spool.Options{Max: sealedMax, Keys: a})
		find := func() (found []string) {
			for _, end := range []string{"", "-wal"} {
				b, err := os.ReadFile(file + end)
				if err != nil && !os.IsNotExist(err) {
					t.Fatal(err)
				}
				if bytes.Contains(b, []byte(marker)) {
					found = append(found, "spool.db"+end)
				}
			}
			return found
		}
		ask := request("r1")
		ask.Data = protocol.PermissionRequested{RequestID: "r1", Reason: "permission", Prompt: marker}
		if err := s.Adopt(ctx, "run_b"); err != nil {
			t.Fatal(err)
		}
		commit(t, s, "run_b", output(marker), ask)
		if find() == nil {
			t.Error("the marker of an adopted run was not found, so this test finds none")
		}
		if _, _, err := s.Resume(ctx, "run_b", 3); err != nil {
			t.Fatal(err)
		}
		commit(t, s, "run_a", started, ask, spool.Event{Type: protocol.RunEmit, Data: json.RawMessage(`{"channel":"` + marker + `","payload":1,"awaited":false}`)})
		for range 80 {
			commit(t, s, "run_a", output(strings.Repeat(marker, 80)))
		}
		if err := s.Checkpoint(); err != nil {
			t.Fatal(err)
		}
		if found := find(); found != nil {
			t.Errorf("the marker is in %v", found)
		}
		commit(t, s, "run_a", output(marker), exited)
		if found := find(); found != nil {
			t.Errorf("the marker is in %v", found)
		}
	})
}

// TestVersion1 opens a file of version 1. Its events are sent as before, and its new runs are
// sealed.
func TestVersion1(t *testing.T) {
	packed, err := os.ReadFile("testdata/version1.db.gz")
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	db, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "spool.db")
	if err := os.WriteFile(file, db, 0o600); err != nil {
		t.Fatal(err)
	}
	a := newAccount("a_1")
	for start := range 2 {
		s := open(t, file, spool.Options{Keys: a})
		expect(t, describe(t, next(t, s, "run_a", 0, 9))[:3], "3 two", "13 gap 4-13 source_lag", "14 run.meta")
		if start == 0 {
			if r, _ := s.Run("run_a"); r.Acked != 2 || r.Last != 14 || r.Offset != 77 {
				t.Errorf("run = %+v", r)
			}
			commit(t, s, "run_a", output("three"))
			commit(t, s, "run_new", request("r1"))
		}
		if r, ok := s.Run("run_b"); !ok || !r.Ended {
			t.Errorf("run = %+v", r)
		}
		note, err := s.Note(ctx, "run_a", "desk", "r1")
		if err != nil || string(note) != `{"a":1}` {
			t.Errorf("note = %s, error = %v", note, err)
		}
		if all, err := s.Results(ctx, 0); err != nil || len(all) != 1 {
			t.Errorf("results = %v, error = %v", all, err)
		}
		expect(t, describe(t, next(t, s, "run_a", 14, 9)), "15 three")
		expect(t, describeSealed(t, newReader(a), next(t, s, "run_new", 0, 9)), "1 run.permission_requested", "2 head")
		if start == 1 {
			if _, _, err := s.Resume(ctx, "run_c", 4); err != nil {
				t.Fatal(err)
			}
			expect(t, describe(t, next(t, s, "run_c", 4, 9)), "5 gap 5-5 spool_lost", "6 three")
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestOldRunsOnly continues to seal a run after the machine has stopped to seal new ones.
func TestOldRunsOnly(t *testing.T) {
	t.Parallel()
	a, file := newAccount("a_1"), filepath.Join(t.TempDir(), "spool.db")
	s := open(t, file, spool.Options{Keys: a})
	emit := spool.Event{Type: protocol.RunEmit, Data: map[string]any{"channel": "c", "payload": marker, "awaited": false}}
	add := func(run string, want bool) {
		t.Helper()
		last, err := s.Append(t.Context(), run, emit)
		if err != nil {
			t.Fatal(err)
		}
		events, err := s.Next(t.Context(), run, last-1, 1)
		if err != nil || len(events) != 1 || (events[0].Enc != nil) != want || bytes.Contains(events[0].Data, []byte(marker)) == want {
			t.Errorf("%s: events = %v, error %v; want sealed: %v", run, events, err, want)
		}
	}
	add("run_a", true)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	a.oldOnly = true
	s = open(t, file, spool.Options{Keys: a})
	add("run_a", true)
	add("run_b", false)
	a.oldOnly = false
	add("run_b", false)
	add("run_c", true)
}

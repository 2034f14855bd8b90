package spool_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/concerto-lang/concerto/relay/hostd/spool"
	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/seal"
)

// sealedMax is a size of the spool for about 40 sealed events.
const sealedMax = 24000

// TestSealedFull fills the spool. The oldest output is replaced with gaps that continue the chain,
// also after acknowledgements of some of their events and after a restart.
func TestSealedFull(t *testing.T) {
	for _, acked := range []int64{0, 1, 4, 5} { // with 5, the first gap follows the last event that was sent
		synctest.Test(t, func(t *testing.T) {
			a := newAccount("a_1")
			file := filepath.Join(t.TempDir(), "spool.db")
			s := open(t, file, spool.Options{Max: sealedMax, Keys: a})
			r := newReader(a)
			commit(t, s, "run_a", started)
			for range 10 {
				commit(t, s, "run_a", output(strings.Repeat("x", 500)))
			}
			early := next(t, s, "run_a", 0, 5)[:5] // these were sent
			describeSealed(t, r, early)
			if acked > 0 {
				s.Ack("run_a", acked)
				synctest.Wait()
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				s = open(t, file, spool.Options{Max: sealedMax, Keys: a})
			}
			fill := func(n int) {
				for range n {
					commit(t, s, "run_a", output(strings.Repeat("y", 1000)))
				}
			}
			fill(40)
			if !s.Health().Full || s.Health().Used > sealedMax {
				t.Errorf("health = %+v", s.Health())
			}
			s.Ack("run_a", 5) // perhaps inside the gap
			synctest.Wait()
			fill(20)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			a.rotate()
			s = open(t, file, spool.Options{Max: sealedMax, Keys: a})
			fill(20)
			commit(t, s, "run_a", exited)
			all := next(t, s, "run_a", 5, 99)
			got := describeSealed(t, r, all)
			if !strings.Contains(got[0], "spool_full") || !strings.HasSuffix(got[len(got)-1], "head") || len(r.pending) > 0 {
				t.Errorf("events = %.2000s", got)
			}
			for i := range all {
				if d, err := parse(&all[i]); err != nil || (d.Data.From > 0) != strings.Contains(got[i], "gap") {
					t.Errorf("%s has from %d (%v)", got[i], d.Data.From, err)
				}
			}
			s.Ack("run_a", all[len(all)-1].Seq)
			synctest.Wait()
			if used := s.Health().Used; used != 0 {
				t.Errorf("size of no events = %d", used)
			}
		})
	}
}

// TestSealedFullAcked acknowledges some events of a gap, which then includes later events. It still
// begins with the same event.
func TestSealedFullAcked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAccount("a_1")
		s := open(t, filepath.Join(t.TempDir(), "spool.db"), spool.Options{Max: sealedMax, Keys: a})
		r := newReader(a)
		commit(t, s, "run_a", started, output("1"), output("2"))
		describeSealed(t, r, next(t, s, "run_a", 0, 9))
		fill := func() {
			for !s.Health().Full {
				commit(t, s, "run_a", output(strings.Repeat("x", 500)))
			}
		}
		fill()
		before := describeSealed(t, newReader(a), next(t, s, "run_a", 0, 99))[1]
		s.Ack("run_a", 3)
		synctest.Wait()
		if s.Health().Full {
			t.Errorf("health = %+v", s.Health())
		}
		fill()
		after := describeSealed(t, r, next(t, s, "run_a", 3, 99))[0]
		if !strings.Contains(before, "gap 2-") || !strings.Contains(after, "gap 2-") || before == after {
			t.Errorf("gap = %s, then %s; want a longer one", before, after)
		}
	})
}

// TestSealedFullOfHeads checks that output is dropped only if that frees space: a sealed gap is
// larger than a short output.
func TestSealedFullOfHeads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAccount("a_1")
		s := open(t, filepath.Join(t.TempDir(), "spool.db"), spool.Options{Max: sealedMax, Keys: a})
		for i := range 40 {
			commit(t, s, "run_a", output(fmt.Sprint(i)))
			time.Sleep(seal.HeadInterval)
			synctest.Wait()
		}
		for range 10 {
			commit(t, s, "run_b", output(strings.Repeat("x", 2000)))
		}
		got := describeSealed(t, newReader(a), next(t, s, "run_a", 0, 99))
		if len(got) < 60 || strings.Contains(strings.Join(got, ""), "gap") {
			t.Errorf("events = %q", got)
		}
		if got := describeSealed(t, newReader(a), next(t, s, "run_b", 0, 99)); !strings.Contains(got[0], "gap") {
			t.Errorf("events = %.99q, want a gap in place of the long output", got)
		}
		r, _ := s.Run("run_a")
		s.Ack("run_a", r.Last)
		synctest.Wait()
		if s.Health().Full {
			t.Errorf("health = %+v", s.Health())
		}
	})
}

// TestSealedFullWithoutKeys checks that the output of a sealed run is not dropped without the keys
// for the gap, and that of another run is.
func TestSealedFullWithoutKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAccount("a_1")
		s := open(t, filepath.Join(t.TempDir(), "spool.db"), spool.Options{Max: sealedMax, Keys: a})
		for range 8 {
			commit(t, s, "run_a", output(strings.Repeat("x", 1000)))
		}
		for _, err := range []error{nil, errors.New("damaged")} {
			a.set(true, nil)
			commit(t, s, "run_b", started)
			a.set(true, err)
			for range 20 {
				commit(t, s, "run_b", output(strings.Repeat("y", 2000)))
			}
		}
		if got := describeSealed(t, newReader(a), next(t, s, "run_a", 0, 99)); len(got) != 8 || strings.Contains(strings.Join(got, ""), "gap") {
			t.Errorf("events = %.99q", got)
		}
		if got := describe(t, next(t, s, "run_b", 0, 99)); !strings.Contains(got[1], "gap") || s.Health().Used > sealedMax {
			t.Errorf("events = %.99q, health = %+v", got, s.Health())
		}
	})
}

// TestSealedMerge checks that the last event is sealed again if output is appended to it.
func TestSealedMerge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAccount("a_1")
		s := open(t, filepath.Join(t.TempDir(), "spool.db"), spool.Options{Max: 16000, Keys: a})
		r := newReader(a)
		for s.Health().Used < 12800 {
			commit(t, s, "run_a", output(strings.Repeat("x", 1000)))
		}
		describeSealed(t, r, next(t, s, "run_a", 0, 99))
		last := commit(t, s, "run_a", output("a"))
		a.rotate()
		if seq := commit(t, s, "run_a", output("b"), output("c")); seq != last {
			t.Errorf("sequence number = %d, want %d: output was not merged", seq, last)
		}
		expect(t, describeSealed(t, r, next(t, s, "run_a", last-1, 99)), fmt.Sprint(last, " abc"))
		commit(t, s, "run_a", output("d"))
		time.Sleep(seal.HeadInterval)
		synctest.Wait() // output is not merged over a head
		commit(t, s, "run_a", output("e"))
		commit(t, s, "run_a", exited)
		expect(t, describeSealed(t, r, next(t, s, "run_a", last, 99)), fmt.Sprint(last+1, " d"), fmt.Sprint(last+2, " head"),
			fmt.Sprint(last+3, " e"), fmt.Sprint(last+4, " run.exited"), fmt.Sprint(last+5, " head"))
		if len(r.pending) > 0 {
			t.Errorf("unconfirmed events = %v", r.pending)
		}
	})
}

// TestSealedLost checks sealed runs after the loss of a spool or of the server's store. The events
// of an adopted run are sealed before they are sent.
func TestSealedLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAccount("a_1")
		s := open(t, filepath.Join(t.TempDir(), "spool.db"), spool.Options{Keys: a})
		resume := func(run string, has, wantAfter int64, wantFirst bool) {
			t.Helper()
			after, first, err := s.Resume(ctx, run, has)
			if err != nil || after != wantAfter || (first != nil) != wantFirst {
				t.Errorf("Resume = %d, %v, %v", after, first, err)
			}
		}
		for _, run := range []string{"run_a", "run_b", "run_c"} {
			if err := s.Adopt(ctx, run); err != nil {
				t.Fatal(err)
			}
			commit(t, s, run, output("1"), request("r1"), output("2"), lag(10), spool.Event{Type: protocol.RunMeta, Data: protocol.Meta{}})
			for _, e := range []spool.Event{request("r/1"), {Type: protocol.RunGap, Data: protocol.Gap{From: 1, To: 1, Reason: "no reason"}}} {
				if _, err := s.Append(ctx, run, e); err == nil {
					t.Errorf("an event that cannot be sealed was accepted: %+v", e)
				}
			}
			if all := next(t, s, run, 0, 10); all != nil {
				t.Errorf("events of an adopted run = %v, want none before Resume", all)
			}
		}
		time.Sleep(2 * seal.HeadInterval) // no head yet
		a.set(true, nil)
		resume("run_a", 40, 40, false) // the events are held
		if _, err := s.Append(ctx, "run_a", output("3")); !errors.Is(err, spool.ErrAccount) {
			t.Errorf("append without the account: error = %v, want ErrAccount", err)
		}
		if all := next(t, s, "run_a", 0, 10); all != nil {
			t.Errorf("events = %v, want none without keys", all)
		}
		a.set(false, nil)
		resume("run_a", 40, 40, false)
		r := newReader(a)
		all := next(t, s, "run_a", 40, 10)
		expect(t, describeSealed(t, r, all), "41 gap 41-41 spool_lost", "42 1", "43 run.permission_requested", "44 2", "45 head", "55 gap 46-55 source_lag", "56 run.meta")
		if all[0].Enc != nil || all[6].Type != seal.TypeSealed {
			t.Errorf("events = %+v", all)
		}
		time.Sleep(seal.HeadInterval)
		synctest.Wait()
		expect(t, describeSealed(t, r, next(t, s, "run_a", 56, 10)), "57 head")
		if after, err := s.ResumeUnreported(ctx, "run_b"); after != 0 || err != nil {
			t.Error(after, err)
		}
		e := s.Epoch() + 1
		expect(t, describeSealed(t, newReader(a), next(t, s, "run_b", 0, 3))[:3], fmt.Sprintf("%d gap 1-%d spool_lost", e, e), fmt.Sprintf("%d 1", e+1), fmt.Sprintf("%d run.permission_requested", e+2))

		s.Ack("run_a", 43)
		resume("run_a", 7, 43, true)
		if got := describeSealed(t, newReader(a), append([]protocol.Envelope{{Type: protocol.RunGap, RunID: "run_a", Seq: 43, Data: []byte(`{"from":8,"to":43,"reason":"store_lost"}`)}}, next(t, s, "run_a", 43, 10)...)); len(got) != 6 {
			t.Errorf("events = %q", got)
		}
		resume("run_a", 50, 50, false) // inside a sealed gap
		if got := next(t, s, "run_a", 50, 10); len(got) != 3 || got[0].Seq != 55 {
			t.Errorf("events = %v", got)
		}
		resume("run_a", 99, 99, false)
		commit(t, s, "run_a", request("r2"))
		commit(t, s, "run_a", exited)
		expect(t, describeSealed(t, r, next(t, s, "run_a", 99, 10)), "100 gap 100-100 spool_lost", "101 run.permission_requested", "102 head", "103 run.exited", "104 head")
		resume("run_a", 120, 120, false) // the run has ended: there is nothing to send
		time.Sleep(time.Minute)
		if got := next(t, s, "run_a", 0, 10); got != nil {
			t.Errorf("events = %v", got)
		}
		testHeldExit(t, s, a)
	})
}

// testHeldExit seals the events of an adopted run that has ended.
func testHeldExit(t *testing.T, s *spool.Spool, a *account) {
	for i := range 600 {
		commit(t, s, "run_c", output(fmt.Sprint(i)))
	}
	commit(t, s, "run_c", exited)
	if _, _, err := s.Resume(ctx, "run_c", 0); err != nil {
		t.Fatal(err)
	}
	r := newReader(a)
	got := describeSealed(t, r, next(t, s, "run_c", 0, 99))
	if len(got) != 611 || got[len(got)-1] != "620 head" || len(r.pending) > 0 || r.heads != 4 {
		t.Errorf("%d events, %d heads, unconfirmed %v: %q", len(got), r.heads, r.pending, got[len(got)-5:])
	}
	if run, _ := s.Run("run_c"); run.Last != 620 || !run.Ended {
		t.Errorf("run = %+v", run)
	}
}

// TestFullDropsLast drops the last output of a run. Later output is then not appended to it.
func TestFullDropsLast(t *testing.T) {
	a := newAccount("a_1")
	for _, keys := range []spool.Keys{nil, a} {
		synctest.Test(t, func(t *testing.T) {
			s := open(t, filepath.Join(t.TempDir(), "spool.db"), spool.Options{Max: sealedMax, Keys: keys})
			commit(t, s, "run_a", started)
			for s.Health().Used < sealedMax-1000 { // these are never dropped
				commit(t, s, "run_b", request("r1"))
			}
			for range 3 {
				commit(t, s, "run_a", output(strings.Repeat("x", 1000)), output(strings.Repeat("y", 1000)))
			}
			last := commit(t, s, "run_a", output("z"))
			all := next(t, s, "run_a", 0, 99)
			var got []string
			if keys == nil {
				got = describe(t, all)
			} else {
				got = describeSealed(t, newReader(a), all)
			}
			if end := got[len(got)-1]; end != fmt.Sprint(last, " z") && !strings.Contains(end, "gap") || !strings.Contains(strings.Join(got, ""), "gap") {
				t.Errorf("the events up to %d are %.60q, want a gap", last, got)
			}
		})
	}
}

// TestSealedHeldFull fills the spool with the events of an adopted run, before and after they are
// sealed. The gap for the later events includes that for the earlier ones.
func TestSealedHeldFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAccount("a_1")
		file := filepath.Join(t.TempDir(), "spool.db")
		s := open(t, file, spool.Options{Max: sealedMax, Keys: a})
		if err := s.Adopt(ctx, "run_a"); err != nil {
			t.Fatal(err)
		}
		fill := func(n int) {
			for range n {
				commit(t, s, "run_a", output(strings.Repeat("x", 1000)))
			}
		}
		commit(t, s, "run_a", started, request("r1"))
		fill(40)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = open(t, file, spool.Options{Max: sealedMax, Keys: a})
		if _, _, err := s.Resume(ctx, "run_a", 7); err != nil {
			t.Fatal(err)
		}
		read := func() []string {
			return describeSealed(t, newReader(a), next(t, s, "run_a", 7, 99))
		}
		before := read()
		fill(20)
		commit(t, s, "run_a", exited)
		after := read()
		expect(t, after[:4], "8 gap 8-8 spool_lost", "9 run.started", "10 run.permission_requested", "11 head")
		gaps := func(all []string) int { return strings.Count(strings.Join(all, "\n"), "gap 12-") }
		if gaps(before) != 1 || gaps(after) != 1 || before[4] == after[4] || strings.Count(fmt.Sprint(after), "spool_full") != 1 {
			t.Errorf("events =\n%.40q\nthen\n%.40q, want one gap that grows", before, after)
		}
		used := s.Health().Used
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = open(t, file, spool.Options{Max: sealedMax, Keys: a})
		if now := s.Health().Used; now != used {
			t.Errorf("size of all events = %d before the restart, and %d after it", used, now)
		}
		if r, _ := s.Run("run_a"); after[len(after)-1] != fmt.Sprint(r.Last, " head") {
			t.Errorf("the last event is %.40q", after[len(after)-1])
		}
	})
}

package ledger

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/internal/record/audit"
	"github.com/concerto-lang/concerto/vm"
)

// testClock returns a clock that advances by a second at each reading.
func testClock(from int) func() time.Time {
	at := time.Date(2026, 1, 5, 10, 0, from, 0, time.UTC)
	return func() time.Time { at = at.Add(time.Second); return at }
}

func openLedger(t *testing.T, path string) *Ledger {
	t.Helper()
	l, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func beginRun(t *testing.T, l *Ledger, o RunOptions) *Run {
	t.Helper()
	if o.ID == "" {
		o.ID = "r_1"
	}
	if o.Now == nil {
		o.Now = testClock(0)
	}
	r, err := Begin(l, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// decisions returns a decision of each kind.
func decisions() []*vm.Decision {
	place := vm.Place{Function: "main", File: "main.conc", Line: 4, Column: 9}
	return []*vm.Decision{
		{Kind: KindAwait, Effect: 3, Channel: "go", Asked: json.RawMessage(`{"é":9007199254740993}`), Answer: json.RawMessage(`"yes"`), By: effect.ByAnswer, Name: "eve", MS: 7},
		{Kind: hostmsg.Question, Effect: 5, Host: "W", ID: json.RawMessage(`"q"`), Asked: json.RawMessage(`{"question":"a \"hash\":\"x\","}`), Answer: json.RawMessage(`"no"`), By: effect.ByHandler, At: place, MS: 1,
			Path: []vm.Part{{Actor: effect.Actor{Type: effect.ActorAgent, Name: "Judge"}, Effect: 4}, {Actor: effect.Actor{Type: effect.ActorHuman}, Effect: 3}}},
		{Kind: hostmsg.Approval, Effect: 9, Host: "W", ID: json.RawMessage(`1`), Asked: json.RawMessage(`{"tool":"rm","args":{"path":"x"}}`), Problem: "withdrawn by the host", By: effect.ByHost, Name: "W"},
		{Kind: hostmsg.Approval, Effect: 9, Host: "W", ID: json.RawMessage(`2`), Asked: json.RawMessage(`{"description":"sure?"}`), Answer: json.RawMessage(`"allow"`), By: effect.ByRules, Name: "[hosts.w.permissions]"},
		{Kind: KindTool, Effect: 12, ID: json.RawMessage(`"r_1-10"`), Asked: json.RawMessage(`{"tool":"x","args":{}}`), MS: 300,
			Call: &effect.AppDecided{Decision: "allow", Scope: "once", Actor: effect.Actor{Type: effect.ActorTimeout}, MS: 300, ArgsSHA256: "ab", ExecutedSHA256: "ab"}},
	}
}

func decideAll(t *testing.T, r *Run, all []*vm.Decision) {
	t.Helper()
	for _, d := range all {
		if err := r.Decided(d); err != nil {
			t.Fatal(err)
		}
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// readBack parses and verifies a ledger as the manual describes it, without code of the package.
func readBack(text string) (kinds []string, head string, err error) {
	head = strings.Repeat("0", 64)
	for n, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		var r struct {
			Seq              int
			Kind, Prev, Hash string
			Actor            struct{ Type, Name, At string }
			Subject          struct {
				Effect   int
				Host, ID any
			}
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			return nil, "", err
		}
		rest := strings.Replace(line, `"hash":"`+r.Hash+`",`, "", 1)
		if sum := sha256.Sum256([]byte(rest)); fmt.Sprintf("%x", sum) != r.Hash || r.Prev != head || r.Seq != n+1 {
			return nil, "", fmt.Errorf("line %d does not follow the previous one", n+1)
		}
		head = r.Hash
		kinds = append(kinds, fmt.Sprintf("%s %d %v by %s %s %s", r.Kind, r.Subject.Effect, r.Subject.ID, r.Actor.Type, r.Actor.Name, r.Actor.At))
	}
	return kinds, head, nil
}

// TestRecords checks that a ledger can be parsed and verified as the manual describes it.
func TestRecords(t *testing.T) {
	path := filepath.Join(t.TempDir(), "l")
	l := openLedger(t, path)
	decideAll(t, beginRun(t, l, RunOptions{}), decisions())
	got, head, err := readBack(readFile(t, path))
	want := []string{"await 3 q3 by human eve ", "question 5 q by human  main.conc:4:9", "approval 9 1 by host W ", "approval 9 2 by rule [hosts.w.permissions] ", "tool 12 r_1-10 by timeout  "}
	if err != nil || head != l.Head().Hash || cmp.Diff(want, got) != "" {
		t.Errorf("records differ (-want +got), error %v:\n%s", err, cmp.Diff(want, got))
	}
	first, _, _ := strings.Cut(readFile(t, path), "\n")
	if i := strings.Index(first, `"hash"`); first[:i] != `{"actor":{"name":"eve","type":"human"},"data":{"answer":"yes","asked":{"é":9007199254740993},"channel":"go","ms":7},` {
		t.Error(first)
	}
}

// TestEachByte changes each byte of a ledger, and cuts the ledger off at each byte. Verify must
// report the changed line or the missing end.
func TestEachByte(t *testing.T) {
	path := filepath.Join(t.TempDir(), "l")
	l := openLedger(t, path)
	decideAll(t, beginRun(t, l, RunOptions{}), decisions()[:3])
	text, head := readFile(t, path), l.Head().Hash
	line := 1
	for i := range text {
		for _, other := range []byte{text[i] ^ 1, text[i] ^ 0x20, 0} {
			changed := text[:i] + string([]byte{other}) + text[i+1:]
			_, err := audit.Verify(strings.NewReader(changed), "l", head)
			broken, ok := errors.AsType[*audit.BrokenError](err)
			if !ok || broken.Line != line {
				t.Fatalf("byte %d changed to %q: error = %v, want a BrokenError in line %d", i, other, err, line)
			}
		}
		if _, err := audit.Verify(strings.NewReader(text[:i]), "l", head); err == nil {
			t.Fatalf("ledger cut off at byte %d: Verify returned no error", i)
		}
		if text[i] == '\n' {
			line++
		}
	}
}

// TestResumedRunWritesMissingRecords cuts a ledger off at each byte and resumes its run. The run
// must write the missing records, and no record twice.
func TestResumedRunWritesMissingRecords(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "l")
	whole := openLedger(t, path)
	decideAll(t, beginRun(t, whole, RunOptions{}), decisions())
	text := readFile(t, path)
	for cutAt := range len(text) + 1 {
		copied := filepath.Join(dir, "again")
		if err := os.WriteFile(copied, []byte(text[:cutAt]), 0o600); err != nil {
			t.Fatal(err)
		}
		l := openLedger(t, copied)
		remaining := text[:strings.LastIndexByte(text[:cutAt], '\n')+1]
		if l.Torn() != int64(cutAt-len(remaining)) {
			t.Fatalf("ledger cut off at byte %d: Torn() = %d", cutAt, l.Torn())
		}
		// The resumed run has another clock, so a rewritten record would have another time.
		r := beginRun(t, l, RunOptions{Resumed: true, Now: testClock(100)})
		decideAll(t, r, decisions())
		if n, err := r.EndReplay(); n != 0 || err != nil {
			t.Fatal(n, err)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		now := readFile(t, copied)
		kinds, _, err := readBack(now)
		if err != nil || len(kinds) != len(decisions()) || !strings.HasPrefix(now, remaining) {
			t.Fatalf("ledger cut off at byte %d, after the resumed run: error %v, records %q", cutAt, err, kinds)
		}
	}
}

// TestUnreproducedRecordsAreCut checks that existing records are removed if the resumed run does
// not produce them again, unless records of other runs follow them.
func TestUnreproducedRecordsAreCut(t *testing.T) {
	path := filepath.Join(t.TempDir(), "l")
	l := openLedger(t, path)
	decideAll(t, beginRun(t, l, RunOptions{}), decisions())
	r := beginRun(t, l, RunOptions{Resumed: true})
	decideAll(t, r, decisions()[:2])
	if n, err := r.EndReplay(); n != 3 || err != nil {
		t.Fatal(n, err)
	}
	other := *decisions()[2]
	other.By, other.Name, other.Problem, other.Answer = effect.ByTimeout, "", "", json.RawMessage(`"no"`)
	decideAll(t, r, []*vm.Decision{&other})
	kinds, _, err := readBack(readFile(t, path))
	if err != nil || len(kinds) != 3 || kinds[2] != "approval 9 1 by timeout  " {
		t.Fatalf("records after the changed decision = %q, error %v", kinds, err)
	}
	decideAll(t, beginRun(t, l, RunOptions{ID: "r_2"}), decisions()[:1])
	r = beginRun(t, l, RunOptions{Resumed: true})
	decideAll(t, r, decisions()[:1])
	if n, err := r.EndReplay(); n != 0 || err != nil {
		t.Fatal(n, err)
	}
	if kinds, _, err := readBack(readFile(t, path)); err != nil || len(kinds) != 4 {
		t.Fatalf("records after another run's record = %q, error %v, want 4 records", kinds, err)
	}
}

// TestConflict checks that a resumed run fails if its decision differs from the existing record.
func TestConflict(t *testing.T) {
	path := filepath.Join(t.TempDir(), "l")
	l := openLedger(t, path)
	decideAll(t, beginRun(t, l, RunOptions{}), decisions())
	r := beginRun(t, l, RunOptions{Resumed: true})
	other := *decisions()[0]
	other.Answer = json.RawMessage(`"no"`)
	err := r.Decided(&other)
	conflict, ok := errors.AsType[*ConflictError](err)
	if !ok || conflict.Seq != 1 || conflict.Effect != 3 || !strings.HasPrefix(err.Error(), path+": seq 1: it does not follow from the run: effect 3 decided {") {
		t.Error(err)
	}
}

// TestRecordFollowsItsCause checks that Before is called before a record is written, and that its
// error prevents the record.
func TestRecordFollowsItsCause(t *testing.T) {
	path := filepath.Join(t.TempDir(), "l")
	l := openLedger(t, path)
	full := errors.New("no space left")
	before := error(nil)
	r := beginRun(t, l, RunOptions{Before: func() error { return before }})
	decideAll(t, r, decisions()[:1])
	before = full
	if err := r.Decided(decisions()[1]); !errors.Is(err, full) {
		t.Error(err)
	}
	before = nil
	decideAll(t, r, decisions()[1:2])
	if kinds, _, err := readBack(readFile(t, path)); err != nil || len(kinds) != 2 {
		t.Errorf("records = %q, error %v, want 2 records", kinds, err)
	}
}

// outside returns a decision on a request outside of exchanges.
func outside(id string) *vm.Decision {
	return &vm.Decision{Kind: hostmsg.Approval, Host: "W", ID: json.RawMessage(`"` + id + `"`), Asked: json.RawMessage(`{"tool":"rm"}`), Answer: json.RawMessage(`"deny"`), Problem: "no", By: effect.ByRules, Name: "concerto"}
}

// TestOutside checks that a resumed run records each decision outside of exchanges once, also if
// it makes the decisions before it again.
func TestOutside(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger")
	l := openLedger(t, path)
	all := decisions()
	r := beginRun(t, l, RunOptions{})
	for _, line := range []string{"1:4", "1:4", "2:4"} {
		if err := r.DecidedOutside(outside("a"+line), line); err != nil {
			t.Fatal(err)
		}
	}
	decideAll(t, r, all[:2])
	if err := r.DecidedOutside(outside("late"), "1:9"); err != nil {
		t.Fatal(err)
	}

	again := beginRun(t, l, RunOptions{Resumed: true, Now: testClock(30)})
	decideAll(t, again, all[:1])
	for line, id := range map[string]string{"1:4": "a1:4", "1:9": "late"} {
		if err := again.DecidedOutside(outside(id), line); err != nil {
			t.Fatal(err)
		}
	}
	if cut, err := again.EndReplay(); cut != 1 || err != nil {
		t.Fatalf("cut %d, error %v; want 1", cut, err)
	}
	if err := again.DecidedOutside(outside("late"), "1:9"); err != nil {
		t.Fatal(err)
	}
	other := *all[1]
	other.Answer = json.RawMessage(`"another answer"`)
	decideAll(t, again, []*vm.Decision{&other})
	got, _, err := readBack(readFile(t, path))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"approval 0 a1:4 by rule concerto ", "approval 0 a2:4 by rule concerto ", "await 3 q3 by human eve ", "approval 0 late by rule concerto ", "question 5 q by human  main.conc:4:9"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
}

// TestOutsideConcurrently records decisions outside of exchanges while the run decides.
func TestOutsideConcurrently(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger")
	r := beginRun(t, openLedger(t, path), RunOptions{Now: time.Now})
	var group sync.WaitGroup
	for n := range 8 {
		group.Go(func() {
			for i := range 50 {
				if err := r.DecidedOutside(outside("x"), fmt.Sprintf("%d:%d", n%4, i)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	decideAll(t, r, decisions())
	group.Wait()
	got, _, err := readBack(readFile(t, path))
	if want := 4*50 + len(decisions()); len(got) != want || err != nil {
		t.Errorf("%d records, error %v; want %d", len(got), err, want)
	}
}

// TestOutsideOneLine checks that each request in a line has a record.
func TestOutsideOneLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger")
	r := beginRun(t, openLedger(t, path), RunOptions{})
	for _, id := range []string{"a", "b", "a"} {
		if err := r.DecidedOutside(outside(id), "1:1"); err != nil {
			t.Fatal(err)
		}
	}
	if got, _, err := readBack(readFile(t, path)); len(got) != 2 || err != nil {
		t.Errorf("records %q, error %v; want those of a and b", got, err)
	}
}

// TestUndeliveredBeforeOutside resumes a run in which a request outside of exchanges had the ID of
// an earlier one, whose answer was not delivered.
func TestUndeliveredBeforeOutside(t *testing.T) {
	l := openLedger(t, filepath.Join(t.TempDir(), "ledger"))
	lost := &vm.Decision{Kind: effect.UndeliveredDecision, Effect: 2, Host: "W", ID: json.RawMessage(`"3"`), Problem: "late", By: effect.ByHost, Name: "W"}
	r := beginRun(t, l, RunOptions{})
	decideAll(t, r, []*vm.Decision{lost})
	if err := r.DecidedOutside(outside("3"), "2:7"); err != nil {
		t.Fatal(err)
	}
	again := beginRun(t, l, RunOptions{Resumed: true})
	decideAll(t, again, []*vm.Decision{lost})
	if cut, err := again.EndReplay(); cut != 0 || err != nil {
		t.Errorf("cut %d, error %v; want none", cut, err)
	}
}

// TestOrigin checks that the record of a host's request names the agent's call as the message does,
// and that other records do not take these members from their payload.
func TestOrigin(t *testing.T) {
	asked := json.RawMessage(`{"tool":"Bash","session":"S","call":"c","agent":{"id":"a","name":"helper"}}`)
	for _, c := range []struct {
		d    vm.Decision
		want Data
	}{
		{vm.Decision{Kind: hostmsg.Approval, Host: "W", Asked: asked}, Data{Session: "S", Call: "c", Agent: json.RawMessage(`{"id":"a","name":"helper"}`)}},
		{vm.Decision{Kind: hostmsg.Question, Host: "W", Asked: json.RawMessage(`{"session":7,"call":"c"}`)}, Data{Call: "c"}},
		{vm.Decision{Kind: KindAwait, Asked: asked}, Data{}},
		{vm.Decision{Kind: effect.RefusedRequest, Host: "W", Asked: asked, Session: "T"}, Data{Session: "T"}},
	} {
		l := openLedger(t, filepath.Join(t.TempDir(), "l"))
		c.d.Effect, c.d.ID = 1, json.RawMessage(`"1"`)
		if err := beginRun(t, l, RunOptions{}).Decided(&c.d); err != nil {
			t.Fatal(err)
		}
		var got struct{ Data Data }
		if err := json.Unmarshal([]byte(readFile(t, l.Path())), &got); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(c.want, Data{Session: got.Data.Session, Call: got.Data.Call, Agent: got.Data.Agent}); d != "" {
			t.Errorf("record of %+v differs (-want +got):\n%s", c.d, d)
		}
	}
}

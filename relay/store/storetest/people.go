package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/concerto-lang/concerto/internal/record/audit"
	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/store"
)

// rec returns an audit record of a kind.
func rec(kind string) audit.Record {
	return audit.Record{Kind: kind, Actor: audit.Actor{Type: "user", Name: "ann"}, Subject: json.RawMessage(`{"b":1,"a":"x"}`)}
}

// kinds verifies the audit log and returns the kinds of its records.
func (f *fixture) kinds() (out []string) {
	f.Helper()
	lines, err := f.AuditLines(ctx, 0, 100_000)
	if err != nil {
		f.Fatal(err)
	}
	text := strings.Join(lines, "\n")
	if text != "" {
		text += "\n"
	}
	for line, err := range audit.Lines(strings.NewReader(text), "audit") {
		if err != nil {
			f.Fatal(err)
		}
		out = append(out, line.Kind)
	}
	return out
}

func (f *fixture) version() int64 {
	f.Helper()
	n, err := f.UsersVersion(ctx)
	if err != nil {
		f.Fatal(err)
	}
	return n
}

func (f *fixture) token(t store.Token) {
	f.Helper()
	if err := f.AddToken(ctx, t, rec("token_created")); err != nil {
		f.Fatal(err)
	}
}

// users checks which data is removed with a user or token, and which changes are refused.
func users(t *testing.T, open Opener) {
	f := begin(t, open)
	ann := store.User{Name: "ann", Role: "owner", Hash: "h1"}
	if err := f.FirstUser(ctx, ann, 1, rec("user_changed")); err != nil {
		t.Fatal(err)
	}
	if err := f.FirstUser(ctx, ann, 1, rec("user_changed")); !errors.Is(err, store.ErrConflict) {
		t.Errorf("FirstUser with an existing user = %v, want ErrConflict", err)
	}
	if made, err := f.PutUser(ctx, store.User{Name: "bob", Role: "viewer", Hash: "h2"}, 2, rec("user_changed")); err != nil || !made {
		t.Errorf("new user: made = %v, error = %v", made, err)
	}
	for kind, id := range map[string]string{store.SessionToken: "s", store.AccessToken: "t", store.TicketToken: "k"} {
		f.token(store.Token{ID: id, Hash: "#" + id, User: "bob", Role: "operator", Runs: []string{"run_a", "b*"}, Kind: kind, Name: "n", Created: 3, Expires: 1000, Slides: 7})
	}
	if err := f.AddToken(ctx, store.Token{ID: "x", Hash: "x", User: "eve"}, rec("token_created")); !errors.Is(err, store.ErrUnknown) {
		t.Errorf("token of an unknown user: error = %v, want ErrUnknown", err)
	}
	got, err := f.Token(ctx, "#t")
	if err != nil || got.ID != "t" || got.User != "bob" || got.Role != "operator" || got.UserRole != "viewer" || !slices.Equal(got.Runs, []string{"run_a", "b*"}) || got.Slides != 7 || got.Expires != 1000 {
		t.Errorf("token = %+v, %v", got, err)
	}
	if all, err := f.Tokens(ctx, 5); err != nil || len(all) != 2 {
		t.Errorf("number of tokens = %d (%v), want 2", len(all), err)
	}
	if err := f.ExtendToken(ctx, "t", 2000); err != nil {
		t.Error(err)
	}
	if got, err := f.TokenOf(ctx, "t"); err != nil || got.Expires != 2000 {
		t.Errorf("extended token = %+v, %v", got, err)
	}
	v := f.version()
	if made, err := f.PutUser(ctx, store.User{Name: "bob", Role: "viewer", Hash: "h2"}, 3, rec("user_changed")); err != nil || made || f.version() != v {
		t.Errorf("PutUser without a change: made = %v, error = %v, version = %d, want version %d", made, err, f.version(), v)
	}
	if _, err := f.PutUser(ctx, store.User{Name: "bob", Role: "viewer", Hash: "h3"}, 3, rec("user_changed")); err != nil || f.version() == v {
		t.Errorf("PutUser with another password: error = %v, or the version is unchanged", err)
	}
	if _, err := f.Token(ctx, "#s"); !errors.Is(err, store.ErrUnknown) {
		t.Errorf("session after a change of the password: error = %v, want ErrUnknown", err)
	}
	v = f.version()
	if err := f.RemoveToken(ctx, "t", 4, rec("token_revoked")); err != nil || f.version() == v {
		t.Error(err)
	}
	if err := f.RemoveToken(ctx, "t", 4, rec("token_revoked")); !errors.Is(err, store.ErrUnknown) {
		t.Error(err)
	}
	if _, err := f.PutUser(ctx, store.User{Name: "ann", Role: "viewer", Hash: "h1"}, 5, rec("user_changed")); !errors.Is(err, store.ErrLastOwner) {
		t.Errorf("change of the last owner's role: error = %v, want ErrLastOwner", err)
	}
	if err := f.RemoveUser(ctx, "ann", 5, rec("user_changed")); !errors.Is(err, store.ErrLastOwner) {
		t.Errorf("removal of the last owner: error = %v, want ErrLastOwner", err)
	}
	f.token(store.Token{ID: "u", Hash: "#u", User: "bob", Kind: store.AccessToken, Created: 6, Expires: 1000})
	if err := f.RemoveUser(ctx, "bob", 6, rec("user_changed")); err != nil {
		t.Error(err)
	}
	if _, err := f.Token(ctx, "#u"); !errors.Is(err, store.ErrUnknown) {
		t.Errorf("token of a removed user: error = %v, want ErrUnknown", err)
	}
	if all, err := f.Users(ctx); err != nil || len(all) != 1 || *all[0] != ann {
		t.Errorf("users = %v, %v; want only ann", all, err)
	}
	if got := strings.Join(f.kinds(), " "); got != "user_changed user_changed token_created token_created token_created user_changed token_revoked token_created user_changed" {
		t.Errorf("kinds in the audit log = %s", got) // refused changes are not recorded
	}
}

// tickets uses a ticket several times concurrently. Only one use may succeed.
func tickets(t *testing.T, open Opener) {
	f := begin(t, open)
	if err := f.FirstUser(ctx, store.User{Name: "ann", Role: "owner"}, 1); err != nil {
		t.Fatal(err)
	}
	f.token(store.Token{ID: "k", Hash: "#k", User: "ann", Kind: store.TicketToken, Parent: "s", Created: 3, Expires: 1000})
	var wg sync.WaitGroup
	var mu sync.Mutex
	had := map[string]int{}
	for range 8 {
		wg.Go(func() {
			got, err := f.UseTicket(ctx, "#k", 5)
			mu.Lock()
			defer mu.Unlock()
			if err != nil || got.Parent != "s" {
				t.Errorf("ticket = %+v, %v", got, err)
				return
			}
			had[got.Kind]++
		})
	}
	wg.Wait()
	if had[store.TicketToken] != 1 || had[store.UsedTicket] != 7 {
		t.Errorf("uses by kind = %v, want one successful use", had)
	}
	if _, err := f.UseTicket(ctx, "#no", 5); !errors.Is(err, store.ErrUnknown) {
		t.Error(err)
	}
}

// audits checks that a change writes its audit record once, and that a refused change writes none.
func audits(t *testing.T, open Opener) {
	f := begin(t, open)
	f.mustStore(1, f.event(1, protocol.RunStarted, started))
	f.mustStore(2, f.event(2, protocol.RunPermissionRequested, `{"request_id":"q","reason":"permission","prompt":"?"}`))
	f.mustStore(3, f.output(3))
	c := store.Command{RunID: "run_a", Kind: store.InputCommand, ID: "i", SHA256: "s", By: "ann", Created: 9, Audit: []audit.Record{rec("input")}}
	for range 2 {
		if _, _, err := f.Accept(ctx, c); err != nil {
			t.Fatal(err)
		}
	}
	c.SHA256 = "other"
	if _, _, err := f.Accept(ctx, c); !errors.Is(err, store.ErrConflict) {
		t.Error(err)
	}
	d := store.Command{RunID: "run_a", Kind: store.DecisionCommand, ID: "q", Decision: "approve", By: "ann", Created: 9, Audit: []audit.Record{rec("decision")}}
	if _, _, err := f.Accept(ctx, d); err != nil {
		t.Fatal(err)
	}
	conflict := f.event(3, protocol.RunOutput, `{"stream":"stdout","text":"other"}`)
	if out, _ := f.append(conflict, conflict); out[0].Refused != protocol.SeqConflict {
		t.Errorf("outcomes = %+v, want seq_conflict", out)
	}
	other := f.machine("host_b")
	theirs := f.output(4)
	theirs.MachineID, theirs.Gen = "host_b", other
	f.append(theirs)
	if got := strings.Join(f.kinds(), " "); got != "run_started input decision host_violation host_violation" {
		t.Errorf("kinds in the audit log = %s", got)
	}
	lines, err := f.AuditLines(ctx, 3, 1)
	if err != nil || len(lines) != 1 || !strings.Contains(lines[0], `"actor":{"name":"host_a","type":"host"},"data":{"code":"seq_conflict","seq":3}`) || !strings.Contains(lines[0], `"run":"run_a","seq":4,`) {
		t.Errorf("audit record = %s, %v", lines, err)
	}
}

// oneChain checks that two servers on one database write a single chain of audit records.
func oneChain(t *testing.T, open Opener) {
	f := begin(t, open)
	second := open(t, "db")
	t.Cleanup(func() { _ = second.Close() })
	var wg sync.WaitGroup
	for _, s := range []*store.Store{f.Store, second} {
		for i := range 4 {
			wg.Go(func() {
				for n := range 10 {
					var err error
					if i == 0 {
						_, err = s.PutUser(ctx, store.User{Name: fmt.Sprintf("u%p", s), Role: "owner", Hash: fmt.Sprint(n)}, 5, rec("user_changed"))
					} else {
						err = s.Record(ctx, int64(n), rec("login_failed"), rec("login"))
					}
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	wg.Wait()
	if n := len(f.kinds()); n != 2*(10+3*20) {
		t.Errorf("number of audit records = %d", n)
	}
}

// removed removes a machine. When the machine connects again, it is a new machine, and events from
// its old connection are not stored.
func removed(t *testing.T, open Opener) {
	f := begin(t, open)
	f.mustStore(1, f.event(1, protocol.RunStarted, started))
	if err := f.RemoveMachine(ctx, "host_a", 5, rec("host_removed")); err != nil {
		t.Fatal(err)
	}
	if err := f.RemoveMachine(ctx, "host_a", 5, rec("host_removed")); !errors.Is(err, store.ErrUnknown) {
		t.Error(err)
	}
	if _, err := f.Machine(ctx, "host_a"); !errors.Is(err, store.ErrUnknown) {
		t.Error(err)
	}
	if _, err := f.TakeOver(ctx, store.Takeover{Machine: "host_a", At: 5}); !errors.Is(err, store.ErrUnknown) {
		t.Error(err)
	}
	if all, err := f.Machines(ctx); err != nil || len(all) != 0 {
		t.Errorf("machines = %v, %v; want none", all, err)
	}
	if out, _ := f.append(f.output(2)); !out[0].Stale {
		t.Errorf("outcome of an event of the removed machine = %+v, want stale", out)
	}
	for range 2 {
		if was, err := f.AddMachine(ctx, store.Machine{ID: "host_a", TokenHash: "new"}, rec("host_tofu")); err != nil || was.TokenHash != "new" {
			t.Errorf("machine that connects again = %+v, %v; want the new token", was, err)
		}
	}
	if out, _ := f.append(f.output(2)); !out[0].Stale {
		t.Errorf("outcome of an event of the old connection = %+v, want stale", out)
	}
	if got := strings.Join(f.kinds(), " "); got != "run_started host_removed host_tofu" {
		t.Errorf("kinds in the audit log = %s", got)
	}
}

// forgotten checks that the events of runs that ended before a time are deleted. Other runs retain
// all their events.
func forgotten(t *testing.T, open Opener) {
	f := begin(t, open)
	f.mustStore(1, f.event(1, protocol.RunStarted, started))
	f.mustStore(2, f.output(2))
	recordOf := func(n int64) audit.Record {
		r := rec("retention")
		r.Run, r.Data = "run_a", json.RawMessage(fmt.Sprintf(`{"events":%d}`, n))
		return r
	}
	late := f.at + 1000
	if got, err := f.EndedRuns(ctx, late, 10); err != nil || len(got) != 0 {
		t.Errorf("ended runs = %v, %v; want none", got, err)
	}
	if n, err := f.Forget(ctx, "run_a", late, 7, recordOf); err != nil || n != 0 {
		t.Errorf("deleted events of a run that has not ended = %d, %v; want 0", n, err)
	}
	f.mustStore(3, f.event(3, protocol.RunExited, `{"exit_code":0}`))
	if got, err := f.EndedRuns(ctx, f.at, 10); err != nil || len(got) != 0 {
		t.Errorf("runs that ended earlier = %v, %v; want none", got, err)
	}
	if got, err := f.EndedRuns(ctx, late, 10); err != nil || !slices.Equal(got, []string{"run_a"}) {
		t.Errorf("ended runs = %v, %v; want run_a", got, err)
	}
	if n, err := f.Forget(ctx, "run_a", late, 7, recordOf); err != nil || n != 3 {
		t.Errorf("deleted events = %d, %v; want 3", n, err)
	}
	if got, err := f.EndedRuns(ctx, late, 10); err != nil || len(got) != 0 {
		t.Errorf("ended runs with events = %v, %v; want none", got, err)
	}
	f.expectEvents()
	if r := f.run(); r.Status != protocol.StatusExited || r.Prefix != 3 {
		t.Errorf("run without events = %+v, want exited with prefix 3", r)
	}
	if got := strings.Join(f.kinds(), " "); got != "run_started retention" {
		t.Errorf("kinds in the audit log = %s", got)
	}
}

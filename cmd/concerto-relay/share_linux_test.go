package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/seal"
)

// reader is somebody who has the link of a share.
type reader struct {
	*remoteServer
	token  string
	secret seal.Key
}

// reader returns the reader of a link that was printed.
func (r *remoteServer) reader(link, run string) *reader {
	r.t.Helper()
	var out reader
	page, rest, _ := strings.Cut(strings.TrimSpace(link), "#/s/")
	rest, shown, _ := strings.Cut(rest, "/")
	token, secret, _ := strings.Cut(rest, ".")
	if err := out.secret.UnmarshalText([]byte(secret)); err != nil || page != r.server.url+"/" || shown != run {
		r.t.Fatalf("link = %q, %v", link, err)
	}
	out.remoteServer, out.token = r, token
	return &out
}

// texts returns the text of the run's output that the link opens, and the number of events that it
// does not open.
func (x *reader) texts(run string) (texts string, closed int) {
	x.t.Helper()
	account, host, keys, err := seal.OpenShare([]byte(strings.TrimSpace(x.server.text(x.t, "/seal/share/"+x.secret.ShareID(), x.token))), x.secret)
	if err != nil {
		x.t.Fatal(err)
	}
	var page struct {
		Events []protocol.Envelope
	}
	if code := x.server.ask("GET", "/runs/"+run+"/events?after=0&limit=500", x.token, "", &page); code != 200 {
		x.t.Fatalf("events: status = %d", code)
	}
	for _, e := range page.Events {
		s := &seal.SealedEvent{Type: e.Type, TS: e.TS, Run: run, Seq: e.Seq}
		if err := s.Parse(e.Enc, e.Data); err != nil {
			x.t.Fatal(err)
		}
		key := keys.RunKey(account, host, run, s.Enc.Epoch)
		if key == nil {
			closed++
			continue
		}
		plain, err := key.Open(s)
		if err != nil {
			x.t.Fatal(err)
		}
		var d struct {
			Text string `json:"text"`
		}
		_ = json.Unmarshal(plain.Data, &d) // others have no text
		texts += d.Text
	}
	return texts, closed
}

// TestShare shares a sealed run with those who have a link, who read that run alone, from the start
// or from now on, until the link ends. The server has nothing with which it can read the run.
func TestShare(t *testing.T) {
	t.Parallel()
	r := newRemote(t)
	r.config(r.server.url)
	r.do(0, "seal", "init", "--user", "ann", "--code-file", "code")
	run := r.waitForRun(r.detached(`printf '` + marker + ` one? [y/N] '; read x; echo "` + marker + ` two"; printf 'Really? [y/N] '; read x; echo "` + marker + ` three"`))
	other := r.waitForRun(r.detached("read x"))
	q := r.atServer(run, marker+" one?")
	if err := os.WriteFile(filepath.Join(r.dir, "owner"), []byte(r.server.login("ann", "correct horse")), 0o600); err != nil {
		t.Fatal(err)
	}
	share := func(code int, args ...string) string {
		t.Helper()
		return r.do(code, append(append([]string{"share"}, args...), "--server", r.server.url, "--token-file", "owner")...)
	}
	all := r.reader(share(0, run), run)
	later := r.reader(share(0, run, "--from", "now", "--for", "30m"), run)
	if got, closed := all.texts(run); !strings.Contains(got, marker+" one") || closed > 0 {
		t.Errorf("the link opens %q, and not %d events", got, closed)
	}
	if got, closed := later.texts(run); strings.Contains(got, marker) || closed == 0 {
		t.Errorf("the link from now on opens %q, and not %d events", got, closed)
	}
	r.do(0, "approve", run, q.RequestID)
	second := r.request(run, "Really?")
	for name, x := range map[string]*reader{"all": all, "later": later} {
		r.eventually(name+" reads the new output", func() (string, bool) {
			got, _ := x.texts(run)
			return got, strings.Contains(got, marker+" two")
		})
		for path, want := range map[string]int{"/runs/" + other: http.StatusNotFound, "/hosts": http.StatusForbidden, "/runs/" + run: http.StatusOK} {
			if code := r.server.ask("GET", path, x.token, "", nil); code != want {
				t.Errorf("%s: GET %s = %d, want %d", name, path, code, want)
			}
		}
		if code := r.server.ask("POST", "/runs/"+run+"/stop", x.token, `{"id":"s1"}`, nil); code != http.StatusForbidden {
			t.Errorf("%s: stop = %d, want 403", name, code)
		}
	}

	id := all.secret.ShareID()
	var listed []string
	for _, line := range strings.Split(strings.TrimSpace(share(0, "list", "--format", "ndjson")), "\n") {
		var one struct {
			ID   string
			Host string   `json:"host_id"`
			Runs []string `json:"runs"`
		}
		if err := json.Unmarshal([]byte(line), &one); err != nil || one.Host != "desk" || fmt.Sprint(one.Runs) != fmt.Sprint([]string{run}) {
			t.Errorf("a line of the list = %s, %v", line, err)
		}
		listed = append(listed, one.ID)
	}
	if len(listed) != 2 || listed[0] != id || listed[1] != later.secret.ShareID() {
		t.Errorf("list = %q", listed)
	}
	if out := share(0, "end", id); !strings.Contains(out, "ended "+id+": the link is refused, and opens no later events") {
		t.Errorf("end = %s", out)
	}
	if code := r.server.ask("GET", "/runs/"+run, all.token, "", nil); code != http.StatusUnauthorized {
		t.Errorf("a run with an ended link: status = %d, want 401", code)
	}
	all.token = later.token // somebody who had the link, and the help of the server
	r.do(0, "approve", run, second.RequestID)
	r.eventually("the other link reads the end", func() (string, bool) {
		got, _ := later.texts(run)
		return got, strings.Contains(got, marker+" three")
	})
	if got, closed := all.texts(run); strings.Contains(got, marker+" three") || closed == 0 {
		t.Errorf("the ended link opens %q, and not %d events", got, closed)
	}

	approver := r.reader(share(0, run, "--role", "approver", "--for", "30m"), run)
	if _, _, got, err := seal.OpenShare([]byte(strings.TrimSpace(r.server.text(t, "/seal/share/"+approver.secret.ShareID(), approver.token))), approver.secret); err != nil || got.Roster == nil {
		t.Errorf("an approver's share has the roster %+v, error %v", got, err)
	}
	if out := share(0, "list"); !strings.Contains(out, approver.secret.ShareID()+"  approver  no ") {
		t.Errorf("list with an approver's link = %s", out)
	}
	share(0, "end", approver.secret.ShareID())
	for want, args := range map[string][]string{
		"viewer or approver": {run, "--role", "owner"}, "there is no share " + id: {"end", id}, "at least 1m": {run, "--for", "1s"}, "start or now": {run, "--from", "later"}, "this command line is none": {run, "--state", "none"},
		"concerto-relay share RUN": {}, "concerto-relay share end": {"end"},
	} {
		if out := share(2, args...); !strings.Contains(out, want) {
			t.Errorf("share %q = %s, want %s", args, out, want)
		}
	}
	if out := share(1, "run_none"); !strings.Contains(out, "there is no run") {
		t.Errorf("share of an unknown run = %s", out)
	}
	r.stop(other)
	key := later.secret.ShareKey()
	r.serverHasNothing(marker, string(later.secret[:]), string(key[:]))
}

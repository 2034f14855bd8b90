package doctor_test

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/relay/hostd/doctor"
	"github.com/concerto-lang/concerto/relay/hostd/link"
	"github.com/concerto-lang/concerto/relay/hostd/sealer"
	"github.com/concerto-lang/concerto/relay/hostd/spool"
	"github.com/concerto-lang/concerto/relay/seal"
)

func lines(t *testing.T, o doctor.Options) (text string, failed bool) {
	t.Helper()
	var b bytes.Buffer
	failed, err := doctor.Write(&b, doctor.Run(context.Background(), o))
	if err != nil {
		t.Fatal(err)
	}
	return b.String(), failed
}

// has checks that text contains certain lines. want maps the first two words of each line to a part
// of the line.
func has(t *testing.T, text string, want map[string]string) {
	t.Helper()
	for begin, part := range want {
		found := false
		for line := range strings.Lines(text) {
			found = found || strings.Join(strings.Fields(line)[:2], " ") == begin && strings.Contains(line, part)
		}
		if !found {
			t.Errorf("no line with %s and %s in\n%s", begin, part, text)
		}
	}
}

// TestCompleteMachine checks a machine that has everything it needs. No check may fail.
func TestCompleteMachine(t *testing.T) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/base/health" {
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	defer web.Close()
	dir := t.TempDir()
	token, log, socket := filepath.Join(dir, "token"), filepath.Join(dir, "log"), filepath.Join(dir, "sock")
	for _, err := range []error{os.Chmod(dir, 0o700), os.WriteFile(token, []byte("s3cret\n"), 0o600), os.WriteFile(log, nil, 0o600)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		_ = http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { // ends with the listener
			_, _ = w.Write([]byte(`{"host_id":"host_a","connected":false}`)) // the test fails without the answer
		}))
	}()
	o := doctor.Options{Environ: os.Environ(), State: dir, Socket: socket, Server: strings.Replace(web.URL, "http:", "ws:", 1) + "/base/", MachineID: "host_a", TokenFile: token, LogFile: log}
	text, failed := lines(t, o)
	if failed || strings.Contains(text, "s3cret") {
		t.Errorf("a check failed, or the output contains the token:\n%s", text)
	}
	has(t, text, map[string]string{"ok bash": "/", "ok rg": "rg", "ok git": "git", "ok state": dir, "ok token": token, "ok log": log, "ok hostd": socket, "ok server": "ws:", "warn account": "concerto-relay seal init", "ok clock": ""})
	o.Link = func() link.State { return link.State{Connected: true, Protocol: 2, Since: time.Unix(0, 0)} }
	o.Spool = func() spool.Health { return spool.Health{Used: 1, Max: 10} }
	o.Now = func() time.Time { return time.Now().Add(-24 * time.Hour) }
	text, failed = lines(t, o)
	has(t, text, map[string]string{"ok connection": "protocol 2", "ok spool": "1 of 10", "ok hostd": "runs as process", "warn clock": "ahead by 2"})
	if failed {
		t.Error(text)
	}
}

// TestProblemsAreReported checks that each missing or wrong setting is reported with its remedy.
func TestProblemsAreReported(t *testing.T) {
	dir := t.TempDir()
	token, file := filepath.Join(dir, "token"), filepath.Join(dir, "file")
	for _, err := range []error{os.WriteFile(token, []byte("s3cret\n"), 0o644), os.WriteFile(file, nil, 0o600)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	o := doctor.Options{Environ: []string{"PATH=" + dir}, State: file, Socket: filepath.Join(dir, "sock"), Server: "http://127.0.0.1:1", MachineID: "a b", TokenFile: token, LogFile: filepath.Join(dir, "none")}
	text, failed := lines(t, o)
	if !failed {
		t.Errorf("no check failed:\n%s", text)
	}
	has(t, text, map[string]string{"fail bash": "install it: ", "warn rg": "ripgrep", "warn git": "install it: ", "warn systemd": "concerto-relay hostd", "fail state": "--state", "warn log": "does not exist",
		"warn hostd": "start it", "fail host-id": "1 to 64", "fail token": "chmod 600", "fail server": "check the URL"})
	deps := doctor.Deps(doctor.Run(context.Background(), o))
	for _, d := range deps {
		if d.OK != (d.Name == "systemd" || d.Name == "log" || d.Name == "hostd" || d.Name == "disk") {
			t.Errorf("dependency = %+v", d)
		}
	}
	for _, row := range []struct {
		change func(*doctor.Options)
		want   map[string]string
	}{
		{func(o *doctor.Options) { o.Server, o.TokenFile = "", "" }, map[string]string{"warn server": "--server", "warn token": "HOST_TOKEN"}},
		{func(o *doctor.Options) { o.Server, o.TokenFile = "ftp://x", file }, map[string]string{"fail server": "not an http", "fail token": "is empty"}},
		{func(o *doctor.Options) { o.State, o.LogFile = filepath.Join(dir, "new", "state"), dir }, map[string]string{"warn state": "hostd creates it", "ok disk": dir, "fail log": "--log"}},
		{func(o *doctor.Options) { o.TokenFile = filepath.Join(dir, "none") }, map[string]string{"fail token": "no such file"}},
		{func(o *doctor.Options) { o.Spool = func() spool.Health { return spool.Health{Used: 9, Max: 10} } }, map[string]string{"warn spool": "--spool-max"}},
		{func(o *doctor.Options) {
			o.Spool = func() spool.Health { return spool.Health{Used: 11, Max: 10, Full: true} }
		}, map[string]string{"fail spool": "full"}},
		{func(o *doctor.Options) {
			o.Spool = func() spool.Health { return spool.Health{WriteErr: errors.New("database or disk is full")} }
		}, map[string]string{"fail spool": "free space"}},
	} {
		o := o
		row.change(&o)
		text, _ := lines(t, o)
		has(t, text, row.want)
	}
}

// TestAccount checks the results for each state of the machine's account.
func TestAccount(t *testing.T) {
	dir := t.TempDir()
	o := doctor.Options{Environ: os.Environ(), State: dir}
	check := func(want map[string]string) {
		t.Helper()
		text, _ := lines(t, o)
		has(t, text, want)
	}
	check(map[string]string{"ok account": "without a server"})
	r, _ := seal.NewAccount(seal.NewRecoveryCode(), time.Now())
	if err := sealer.Create(dir, seal.NewKeys(), r); err != nil {
		t.Fatal(err)
	}
	check(map[string]string{"ok account": r.Account()})
	for _, c := range []struct {
		file, text string
		want       map[string]string
	}{
		{"fork.json", `{"at":"2026-01-05T10:00:00Z","why":"line 3 is another one"}`, map[string]string{"fail account": "line 3 is another one"}},
		{"roster.ndjson", "{}\n", map[string]string{"fail account": "seal leave"}},
	} {
		if err := os.WriteFile(filepath.Join(sealer.Dir(dir), c.file), []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		check(c.want)
	}
}

package permit

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

// TestEveryEffectHasARow checks that table.go has a row for every kind of effect, with the
// permissions that it requires or the reason why it requires none.
func TestEveryEffectHasARow(t *testing.T) {
	for _, e := range effect.Table() {
		k, w := e.Kind, rows()[e.Kind]
		switch {
		case w == nil:
			t.Errorf("%s has no row in table.go: add one with its needs, or with the reason why it needs no permission", k)
		case (w.free == "") == (w.needs == nil || w.refused == nil || len(w.kinds) == 0):
			t.Errorf("%s: a row needs either the reason why no permission is required, or the needs, their kinds and the refusal", k)
		}
	}
	if n := len(effect.Table()); len(rows()) != n {
		t.Errorf("table.go has %d rows for %d kinds of requests", len(rows()), n)
	}
}

var stored = effect.Store{File: "s.db", Kind: "ledger", Name: "s"}

// limited lists requests that need a permission. TestPermissionsOfEffects in internal/cli runs a
// program for each of these requests, and fails if a kind of request is missing here.
var limited = []struct {
	request effect.Request
	want    string // error in a sandbox: its kind, the refused access and the flags to add; "" if the request needs no permission in this case
}{
	{&effect.ReadFile{Path: "a"}, "FsError reading a: --allow-read=a"},
	{&effect.AttachFile{Path: "a"}, "FsError reading a: --allow-read=a"},
	{&effect.WriteFile{Path: "a"}, "FsError writing a: --allow-write=a"},
	{&effect.FileInfo{Path: "/a"}, "FsError reading /a: --allow-read=/a"},
	{&effect.ListDir{Path: "."}, "FsError reading .: --allow-read=."},
	{&effect.RemoveFile{Path: "a"}, "FsError writing a: --allow-write=a"},
	{&effect.MakeDir{Path: "a b"}, "FsError writing a b: --allow-write='a b'"},
	{&effect.CopyFile{From: "a", Path: "b"}, "FsError reading a: --allow-read=a --allow-write=b"},
	{&effect.MoveFile{From: "a", Path: "b"}, "FsError reading a: --allow-read=a --allow-write=a --allow-write=b"},
	{&effect.Glob{Pattern: "d/e*/*.txt"}, "FsError reading d: --allow-read=d"},
	{&effect.TempDir{}, "FsError writing " + os.TempDir() + ": --allow-write=" + os.TempDir()},
	{&effect.StoreRead{Store: stored}, "FsError cannot use s.db: reading s.db: --allow-read=p/s.db --allow-write=p/s.db"},
	{&effect.StoreWrite{Store: stored}, "FsError cannot use s.db: reading s.db: --allow-read=p/s.db --allow-write=p/s.db"},
	{&effect.StoreAdd{Store: stored}, "FsError cannot use s.db: reading s.db: --allow-read=p/s.db --allow-write=p/s.db"},
	{&effect.StoreDelete{Store: stored}, "FsError cannot use s.db: reading s.db: --allow-read=p/s.db --allow-write=p/s.db"},
	{&effect.StoreList{Store: stored}, "FsError cannot use s.db: reading s.db: --allow-read=p/s.db --allow-write=p/s.db"},
	{&effect.StoreLen{Store: stored}, "FsError cannot use s.db: reading s.db: --allow-read=p/s.db --allow-write=p/s.db"},
	{&effect.StoreClear{Store: stored}, "FsError cannot use s.db: reading s.db: --allow-read=p/s.db --allow-write=p/s.db"},
	{&effect.StoreExpire{Store: stored}, "FsError cannot use s.db: reading s.db: --allow-read=p/s.db --allow-write=p/s.db"},
	{&effect.LedgerPut{Store: stored}, "FsError cannot use s.db: reading s.db: --allow-read=p/s.db --allow-write=p/s.db"},
	{&effect.LedgerDelete{Store: stored}, "FsError cannot use s.db: reading s.db: --allow-read=p/s.db --allow-write=p/s.db"},
	{&effect.LedgerFind{Store: stored}, "FsError cannot use s.db: reading s.db: --allow-read=p/s.db --allow-write=p/s.db"},
	{&effect.MemoryAppend{Store: stored}, "FsError cannot use s.db: reading s.db: --allow-read=p/s.db --allow-write=p/s.db"},
	{&effect.MemoryList{Store: stored}, "FsError cannot use s.db: reading s.db: --allow-read=p/s.db --allow-write=p/s.db"},
	{&effect.HTTP{Method: "GET", URL: "https://u:p@a.example/x"}, "HttpError GET https://u:xxxxx@a.example/x: calling a.example: --allow-net=a.example"},
	{&effect.Env{Name: "A"}, "EnvError reading the environment variable A: --allow-env=A"},
	{&effect.EnvAll{}, ""},
	{&effect.AgentCall{Agent: "A", Connection: "cloud"}, "AgentError agent 'A' (connection 'cloud'): calling api.example: --allow-net=api.example --allow-env=KEY"},
	{&effect.StreamOpen{AgentCall: effect.AgentCall{Agent: "A", Connection: "cloud"}}, "AgentError agent 'A' (connection 'cloud'): calling api.example: --allow-net=api.example --allow-env=KEY"},
	{&effect.ExchangeOpen{Host: "Worker"}, "HostError starting the host Worker: --allow-host=Worker"},
	{&effect.MCPOpen{Server: "Local", Tool: "t"}, "ToolError mcp server 'Local': running ./bin/server: --allow-run=p/bin/server"},
	{&effect.MCPOpen{Server: "Far", Tool: "t"}, "ToolError mcp server 'Far': calling mcp.example: --allow-net=mcp.example --allow-env=TOKEN"},
}

func config(g Grants) Config {
	return Config{Caller: g, Dir: "/w", Root: "/w/p", Hosts: map[string]string{"Worker": "section"},
		Connections: map[string]Reach{"cloud": {Address: "https://api.example/v1", Env: []string{"KEY"}}},
		Servers:     map[string]Reach{"Local": {Command: "./bin/server"}, "Far": {Address: "http://mcp.example", Env: []string{"TOKEN"}}}}
}

// TestSandbox checks that a sandbox refuses each request with an error that names the flags to add,
// and that these flags permit the request.
func TestSandbox(t *testing.T) {
	for _, c := range limited {
		k := c.request.Kind()
		w := rows()[k]
		for _, n := range w.needs(New(config(Grants{})), c.request) {
			if !slices.Contains(w.kinds, n.Kind) {
				t.Errorf("%s needs the permission %s, which is missing in the kinds of its row", k, Kinds[n.Kind].Flag)
			}
		}
		var e *effect.Error
		err := New(config(Grants{Sandbox: true})).checkRequest(w, c.request)
		if c.want == "" {
			if err != nil {
				t.Errorf("%s: error %v, want none", k, err)
			}
			continue
		}
		kind, rest, _ := strings.Cut(c.want, " ")
		what, flags, _ := strings.Cut(rest, ": --")
		if want := what + " is not permitted: allow it with --" + flags; !errors.As(err, &e) || e.Kind != kind || e.Message != want {
			t.Errorf("%s: error %v\nwant %s: %s", k, err, kind, want)
			continue
		}
		if err := New(config(grantsOf(t, "--"+flags))).checkRequest(w, c.request); err != nil {
			t.Errorf("%s with --%s: error %v, want none", k, flags, err)
		}
	}
}

// grantsOf returns the grants of a sandbox with the flags in the form in which error messages show
// them.
func grantsOf(t *testing.T, flags string) Grants {
	g := Grants{Sandbox: true, Allow: map[Kind]List{}}
	for f := range strings.SplitSeq(strings.ReplaceAll(flags, "'a b'", "a\x00b"), " ") {
		name, v, _ := strings.Cut(strings.TrimPrefix(f, "--"), "=")
		i := slices.IndexFunc(Kinds[:], func(x Info) bool { return x.Flag == name })
		if i < 0 {
			t.Fatalf("no flag %s", f)
		}
		l := g.Allow[Kind(i)]
		l.Names = append(l.Names, strings.ReplaceAll(v, "\x00", " "))
		g.Allow[Kind(i)] = l
	}
	return g
}

// TestManifest checks that a request that [permissions] does not grant is refused, whatever the
// caller allows, with an error that names [permissions]. Only resources that a section of the
// manifest names are exempt.
func TestManifest(t *testing.T) {
	c := config(Grants{})
	c.Manifest = &Manifest{FS: []string{"data"}}
	p := New(c)
	for r, want := range map[effect.Request]string{
		&effect.ReadFile{Path: "a"}:                                "a is not permitted: add its directory to `fs` in [permissions]",
		&effect.ReadFile{Path: "p/data/a"}:                         "",
		&effect.WriteFile{Path: "p/data/../a"}:                     "p/data/../a is not permitted: add its directory to `fs` in [permissions]",
		&effect.TempDir{}:                                          "",
		&effect.Env{Name: "A"}:                                     "reading the environment variable A is not permitted: add it to `env` in [permissions]",
		&effect.HTTP{Method: "GET", URL: "http://h:1"}:             "GET http://h:1: calling h is not permitted: add it to `net` in [permissions]",
		&effect.Command{Command: "ls"}:                             "running ls is not permitted: add it to `run` in [permissions]",
		&effect.MCPOpen{Server: "Local"}:                           "",
		&effect.AgentCall{Connection: "cloud"}:                     "",
		&effect.ExchangeOpen{Host: "Worker"}:                       "",
		&effect.LedgerFind{Store: stored}:                          "cannot use s.db: that is not permitted: add its directory to `fs` in [permissions]",
		&effect.LedgerFind{Store: effect.Store{File: "data/s.db"}}: "",
	} {
		err := p.checkRequest(rows()[r.Kind()], r)
		if want == "" && err != nil || want != "" && (err == nil || err.Error() != want) {
			t.Errorf("%s: error %v, want %q", r.Kind(), err, want)
		}
	}
	// Without [permissions] no command may run, and everything else is permitted.
	p = New(config(Grants{}))
	if err := p.checkRequest(rows()[effect.KindCommand], &effect.Command{Command: "ls"}); err == nil {
		t.Error("without [permissions] a command was permitted")
	}
	if got := p.Roots(Read); got != nil {
		t.Error(got)
	}
}

// TestSides checks that a request is permitted only if both the manifest and the caller allow it.
// If the caller sets neither a flag for a kind nor a sandbox, only the manifest decides about that
// kind.
func TestSides(t *testing.T) {
	c := config(Grants{Allow: map[Kind]List{Read: {Names: []string{"p", "q"}}, Env: {Names: []string{"B", "C"}}, Run: {Names: []string{"git", "./p/x"}}, Host: {Names: []string{"section"}}}})
	c.Manifest = &Manifest{FS: []string{"data", ".."}, Env: []string{"A", "B"}, Run: []string{"git", "ls", "./x", "x"}}
	p := New(c)
	if got := p.Roots(Read); !slices.Equal(got, []string{"/w/p/data", "/w/p", "/w/q"}) {
		t.Error(got)
	}
	if got := p.Roots(Write); !slices.Equal(got, []string{"/w/p/data", "/w"}) {
		t.Error(got)
	}
	if got := p.Environment(); !slices.Equal(got, []string{"B"}) {
		t.Error(got)
	}
	for command, want := range map[string]string{
		"git": "", "ls": "running ls is not permitted: allow it with --allow-run=ls",
		"x":  "running x is not permitted: allow it with --allow-run=x",
		"rm": "running rm is not permitted: add it to `run` in [permissions]",
		// Commands in the manifest are compared by name, commands in flags by file. The manifest
		// lists ./x and therefore permits it, but the file ./p/x is another one.
		"./x": "running ./x is not permitted: allow it with --allow-run=./x",
	} {
		err := p.checkRequest(rows()[effect.KindCommand], &effect.Command{Command: command})
		if want == "" && err != nil || want != "" && (err == nil || err.Error() != want) {
			t.Errorf("command %s: error %v, want %q", command, err, want)
		}
	}
	if err := p.checkRequest(rows()[effect.KindExchangeOpen], &effect.ExchangeOpen{Host: "Worker"}); err != nil {
		t.Error("the name of a host's section did not permit the host:", err)
	}
	all := permittedVariables(p, &effect.EnvVariables{Names: []string{"A", "B", "C"}, Values: []string{"1", "2", "3"}}).(*effect.EnvVariables)
	if !slices.Equal(all.Names, []string{"B"}) || !slices.Equal(all.Values, []string{"2"}) {
		t.Error(all)
	}
	if got := p.Refuse(Net, "http://elsewhere/", true); got != "" {
		t.Error(got)
	}
	if got := p.Refuse(Net, "http://elsewhere/", false); got != "calling elsewhere is not permitted: add it to `net` in [permissions]" {
		t.Error(got)
	}
	if got := New(config(Grants{Sandbox: true})).RefuseConnection("cloud"); got != "calling api.example is not permitted: allow it with --allow-net=api.example --allow-env=KEY" {
		t.Error(got)
	}
}

// TestReal checks that Real follows symbolic links, also in a path whose last elements do not
// exist.
func TestReal(t *testing.T) {
	dir := Real(t.TempDir(), true)
	for _, err := range []error{
		os.MkdirAll(filepath.Join(dir, "in", "d"), 0o777), os.Mkdir(filepath.Join(dir, "out"), 0o777),
		os.Symlink("../out", filepath.Join(dir, "in", "away")), os.Symlink("../out/new", filepath.Join(dir, "in", "hanging")),
		os.Symlink("circle", filepath.Join(dir, "in", "circle")), os.Symlink(dir+"/in", filepath.Join(dir, "link")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]string{
		"in/d": "in/d", "in/d/../d/x": "in/d/x", "in/away": "out", "in/away/x/y": "out/x/y", "in/hanging": "out/new",
		"link/d": "in/d", "link/none/x": "in/none/x", "in/away/../x": "in/x", ".": ".",
	} {
		if got := Real(filepath.Join(dir, path), true); got != filepath.Join(dir, want) {
			t.Errorf("Real(%s) = %s, want %s", path, got, want)
		}
	}
	if got := Real(filepath.Join(dir, "link", "away"), false); got != filepath.Join(dir, "in", "away") {
		t.Error(got)
	}
	Real(filepath.Join(dir, "in", "circle"), true) // must terminate
	p := New(Config{Dir: dir, Caller: Grants{Allow: map[Kind]List{Write: {Names: []string{"link"}}}}})
	for path, want := range map[string]bool{"in/x": true, "link/x": true, "in/away": false, "in/hanging": false, "in/../out/x": false, "inner": false} {
		if err := p.checkRequest(rows()[effect.KindWriteFile], &effect.WriteFile{Path: path}); (err == nil) != want {
			t.Errorf("writing %s: error %v, want permitted: %v", path, err, want)
		}
	}
	// Removing a link does not follow it.
	if err := p.checkRequest(rows()[effect.KindRemoveFile], &effect.RemoveFile{Path: "in/away"}); err != nil {
		t.Error(err)
	}
}

func TestMatchesHost(t *testing.T) {
	for _, c := range []struct {
		pattern, url string
		want         bool
	}{
		{"Example.com", "https://example.COM/x", true},
		{"example.com", "https://example.com.:8443", true},
		{"example.com:443", "https://example.com", true},
		{"example.com:443", "http://example.com", false},
		{"example.com", "https://www.example.com", false},
		{"example.com", "https://badexample.com", false},
		{"*.example.com", "https://www.example.com", true},
		{"*.example.com", "https://example.com", false},
		{"*.example.com:443", "https://a.example.com", true},
		{"*", "https://example.com", false},
		{"*ample.com", "https://example.com", false},
		{"::1", "http://[::1]:80/", true},
		{"[::1]:80", "http://[::1]/", true},
		{"", "https://example.com", false},
		{"", "https:///x", false},
	} {
		if got := matchesHost(c.pattern, hostOf(c.url)); got != c.want {
			t.Errorf("pattern %q matches %s: %t, want %t", c.pattern, c.url, got, c.want)
		}
	}
}

// TestGuard checks that a refused request does not reach its performer, neither by Perform nor by
// Start.
func TestGuard(t *testing.T) {
	p := New(config(Grants{Sandbox: true}))
	next := &starter{}
	for _, k := range []effect.Kind{effect.KindEmit, effect.KindExchangeNext} {
		if p.Guard(k, next) != effect.Performer(next) {
			t.Errorf("%s requires no permission, but Guard wrapped its performer", k)
		}
	}
	g := p.Guard(effect.KindExchangeOpen, next).(effect.Starter)
	if _, err := g.Perform(t.Context(), &effect.ExchangeOpen{Host: "Worker"}); err == nil {
		t.Error("Perform returned no error")
	}
	var got error
	if _, ok := g.Start(t.Context(), &effect.ExchangeOpen{Host: "Worker"}, func(_ effect.Result, err error) { got = err }); !ok || got == nil {
		t.Error("Start passed no error:", got)
	}
	if next.calls != 0 {
		t.Error("a refused request reached the performer")
	}
	free := New(config(Grants{})).Guard(effect.KindExchangeOpen, next)
	if free != effect.Performer(next) {
		t.Error("Guard wrapped the performer although no permission is limited")
	}
	if _, err := p.Guard("telepathy", next).Perform(t.Context(), &effect.Emit{}); err == nil {
		t.Error("a request of an unknown kind was performed")
	}
}

type starter struct{ calls int }

func (s *starter) Perform(context.Context, effect.Request) (effect.Result, error) {
	s.calls++
	return nil, nil
}

func (s *starter) Start(context.Context, effect.Request, func(effect.Result, error)) (func(), bool) {
	s.calls++
	return nil, false
}

func TestCheck(t *testing.T) {
	for want, g := range map[string]Grants{
		"--allow-net takes hosts, not URLs: remove https://, as in --allow-net=a.example:1":        {Allow: map[Kind]List{Net: {Names: []string{"https://a.example:1/x"}}}},
		"--allow-env takes names of variables: write --allow-env=A to pass the variable unchanged": {Allow: map[Kind]List{Env: {Names: []string{"A=1"}}}},
	} {
		if err := g.Check(); err == nil || err.Error() != want {
			t.Error(err)
		}
	}
	for name, want := range map[string]string{"a/b": "--allow-read=a/b", "a b": "--allow-read='a b'", "it's": `--allow-read='it'\''s'`, "a,b": `--allow-read='"a,b"'`} {
		if got := Read.GrantHint(name); got != want {
			t.Error(got)
		}
	}
}

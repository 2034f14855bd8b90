package hostpolicy

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/testkit/complexity"
	"github.com/concerto-lang/concerto/internal/testkit/randtest"
	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
)

// tree is a file system that contains only links, as targets by path.
type tree map[string]string

func (t tree) link(path string) (string, bool) {
	target, ok := t[path]
	return target, ok
}

var links = tree{
	"/work/out":       "/etc",
	"/work/in":        "src",
	"/work/up":        "..",
	"/work/round":     "round",
	"/work/src/there": "/srv/data",
	"/tmp":            "/private/tmp",
	"/work/env":       ".env",
}

func policy(r Rules) *Policy {
	return New(r, Place{Dir: "/work", Home: "/home/ada", Link: links.link})
}

func TestDecide(t *testing.T) {
	files := Rules{Read: []string{"."}, Write: []string{"src", "/srv/data"}, Deny: []string{".env", "secrets/**", "*.PEM", "/tmp/x", "~/.ssh"}}
	commands := Rules{Commands: Commands{Allow: []string{"go test *", "ls", "git *"}, Ask: []string{"git push*"}, Deny: []string{"rm *", "git push --force*", "sudo *"}}}
	run := func(command string) Request { return Request{Kind: "execute", Command: command} }
	read := func(path string) Request { return Request{Kind: "read", Paths: []string{path}} }
	edit := func(paths ...string) Request { return Request{Kind: "edit", Paths: paths} }
	for _, c := range []struct {
		name string
		r    Rules
		q    Request
		want Verdict
	}{
		{"no rule", Rules{}, run("ls"), Ask},
		{"the default", Rules{Default: "deny"}, run("ls"), Deny},
		{"the default", Rules{Default: "allow"}, run("ls; rm x"), Allow},

		{"a root", files, read("a.go"), Allow},
		{"a root itself", files, read("/work"), Allow},
		{"search", files, Request{Kind: "search", Paths: []string{"src"}}, Allow},
		{"below a root in name only", files, read("/workshop/a"), Ask},
		{"above", files, read("../etc/passwd"), Ask},
		{"a way out and back", files, read("src/../a.go"), Allow},
		{"through a link", files, read("out/passwd"), Ask},
		{"through a link to the inside", files, edit("in/a.go"), Allow},
		{"through a link to another root", files, edit("src/there/a"), Allow},
		{"up behind a link", files, read("out/../a.go"), Ask},
		{"a link up", files, read("up/etc/passwd"), Ask},
		{"a circle", files, read("round/a"), Ask},
		{"another case", Rules{Read: []string{"src"}}, read("SRC/a"), Ask},
		{"home", files, read("~/a"), Ask},
		{"somebody's home", files, read("~bob/a"), Ask},
		{"blanks before", files, read(" /etc/passwd"), Ask},
		{"an address", files, read("file:///etc/passwd"), Ask},
		{"a zero byte", files, read("a\x00"), Ask},
		{"no path", files, edit(), Ask},
		{"an empty path", files, read(""), Ask},
		{"reading is not writing", files, edit("a.go"), Ask},
		{"all paths count", files, edit("src/a", "a"), Ask},
		{"its own directory", files, Request{Kind: "read", Paths: []string{"a"}, Dir: "/etc"}, Ask},
		{"its own directory", files, Request{Kind: "edit", Paths: []string{"a"}, Dir: "src"}, Allow},
		{"more than it says", files, Request{Kind: "read", Paths: []string{"a"}, Opaque: true}, Ask},
		{"fetch", files, Request{Kind: "fetch", Paths: []string{"a"}}, Ask},
		{"no kind", files, Request{Paths: []string{"a"}}, Ask},
		{"no kind", files, Request{Paths: []string{"src/a"}}, Allow},

		{"denied by name, at any depth", files, read("src/deep/.env"), Deny},
		{"denied in another case", files, read("SRC/.ENV"), Deny},
		{"denied through a link", files, read("env"), Deny},
		{"denied below", files, read("secrets/a/b"), Deny},
		{"denied by ending", files, edit("src/key.pem"), Deny},
		{"denied through `..`", files, read("src/../secrets/a"), Deny},
		{"denied by where a link in the glob leads", files, read("/private/tmp/x/y"), Deny},
		{"denied at home", files, read("/home/ada/.ssh/id"), Deny},
		{"denied at home", files, read("~/.ssh"), Deny},
		{"denied of whatever kind", files, Request{Kind: "fetch", Paths: []string{".env"}}, Deny},
		{"denied with the default allow", Rules{Deny: []string{".env"}, Default: "allow"}, read(".env"), Deny},
		{"one of many denied", files, edit("src/a", ".env"), Deny},
		{"not denied", files, read("env.go"), Allow},

		{"allowed", commands, run("go test ./..."), Allow},
		{"allowed whole", commands, run("ls"), Allow},
		{"blanks around", commands, run("  ls\t"), Allow},
		{"more than allowed", commands, run("ls -l"), Ask},
		{"ask wins", commands, run("git push origin"), Ask},
		{"deny wins", commands, run("git push --force"), Deny},
		{"a part asked", commands, run("git status && git push"), Ask},
		{"a part denied", commands, run("ls && rm -rf /"), Deny},
		{"a part denied", commands, run("ls|sudo sh"), Deny},
		{"a part denied", commands, run("ls\nrm x"), Deny},
		{"a part denied", commands, run("ls & rm x"), Deny},
		{"a part denied", commands, run("echo $(rm x)"), Deny},
		{"blanks within", commands, run("rm   x"), Deny},
		{"a command of a vendor that only reads", commands, Request{Kind: "read", Command: "go test ./..."}, Allow},
		{"a command of a vendor that only reads", files, Request{Kind: "read", Command: "cat a", Paths: []string{"a"}}, Ask},
		{"no command", commands, run(""), Ask},
		{"a name of a tool that changes files", files, Request{Kind: "edit", Command: "create", Paths: []string{"src/a"}}, Allow},
	} {
		if got := policy(c.r).Decide(c.q); got != c.want {
			t.Errorf("%s: Decide(%+v) = %s, want %s", c.name, c.q, got, c.want)
		}
	}
	for _, c := range shellCharacters + "\n\r\x00\x1b" {
		if got := policy(commands).Decide(run("go test " + string(c) + "x")); got == Allow {
			t.Errorf("a command with %q is allowed, want Ask", c)
		}
	}
}

func TestParseRequest(t *testing.T) {
	for _, c := range []struct{ message, want string }{
		{`{"kind":"execute","args":{"command":"ls","cwd":"/w"}}`, `{"Kind":"execute","Command":"ls","Paths":null,"Dir":"/w","Opaque":false}`},
		{`{"kind":"execute","args":{"command":["bash","-lc","ls; x"]}}`, `{"Kind":"execute","Command":"ls; x","Paths":null,"Dir":"","Opaque":false}`},
		{`{"kind":"execute","args":{"command":"ls","env":[{"name":"CI","value":"1"}]}}`, `{"Kind":"execute","Command":"ls","Paths":null,"Dir":"","Opaque":false}`},
		{`{"kind":"execute","args":{"command":"ls","env":[{"name":"PATH","value":"/x"}]}}`, `{"Kind":"execute","Command":"ls","Paths":null,"Dir":"","Opaque":true}`},
		{`{"kind":"execute","args":{"command":"ls","env":{"PATH":"/x"}}}`, `{"Kind":"execute","Command":"ls","Paths":null,"Dir":"","Opaque":true}`},
		{`{"kind":"execute","args":{"command":["git","log"]}}`, `{"Kind":"execute","Command":"git log","Paths":null,"Dir":"","Opaque":false}`},
		{`{"kind":"edit","paths":["a"],"args":{"path":"b","file_path":"a"}}`, `{"Kind":"edit","Command":"","Paths":["a","b"],"Dir":"","Opaque":false}`},
		{`{"kind":"move","args":{"from":"a","to":"b"}}`, `{"Kind":"move","Command":"","Paths":["a","b"],"Dir":"","Opaque":false}`},
		{`{"kind":"read","paths":[7]}`, `{"Kind":"read","Command":"","Paths":[""],"Dir":"","Opaque":true}`},
		{`{"kind":"edit","args":"x"}`, `{"Kind":"edit","Command":"","Paths":null,"Dir":"","Opaque":true}`},
		{`{"kind":"search","paths":["src"],"args":{"pattern":"../../*"}}`, `{"Kind":"search","Command":"","Paths":["src"],"Dir":"","Opaque":true}`},
		{`{"kind":"search","paths":["src"],"args":{"pattern":"a..b"}}`, `{"Kind":"search","Command":"","Paths":["src"],"Dir":"","Opaque":false}`},
	} {
		got, err := json.Marshal(ParseRequest([]byte(c.message)))
		if err != nil || string(got) != c.want {
			t.Errorf("ParseRequest(%s)\n= %s\nwant %s", c.message, got, c.want)
		}
	}
}

// TestLarge checks that a request above a limit is denied, and that a request at the limit is
// decided by the rules.
func TestLarge(t *testing.T) {
	randtest.InOneGoroutine(t)
	p := policy(Rules{Read: []string{"src"}, Write: []string{"src"}, Deny: []string{"secret"}, Commands: Commands{Allow: []string{"ls *"}, Deny: []string{"rm *"}}, Default: "allow"})
	many := func(n int) (out []string) {
		for i := range n {
			out = append(out, "src/"+strconv.Itoa(i))
		}
		return out
	}
	long := strings.Repeat("a/", 5_000)
	for _, c := range []struct {
		name string
		q    Request
		want Verdict
	}{
		{"many paths", Request{Kind: "read", Paths: many(10_000)}, Allow},
		{"a denied one among them", Request{Kind: "read", Paths: append(many(9_999), "secret")}, Deny},
		{"more paths", Request{Kind: "read", Paths: many(10_001)}, Deny},
		{"a path without end", Request{Kind: "read", Paths: []string{"src/" + strings.Repeat("a/", 8<<20)}}, Deny},
		{"a directory without end", Request{Kind: "execute", Command: "ls x", Dir: strings.Repeat("a/", 8<<20)}, Deny},
		{"long paths", Request{Kind: "edit", Paths: []string{"src/1" + long, "src/2" + long, "src/3" + long}}, Allow},
		{"a command of many", Request{Kind: "execute", Command: "ls " + strings.Repeat("x;", 100<<10)}, Allow},
		{"a denied one at its end", Request{Kind: "execute", Command: "ls " + strings.Repeat("x;", 100<<10) + "rm x"}, Deny},
		{"a command of more", Request{Kind: "execute", Command: "ls " + strings.Repeat("x;", 8<<20)}, Deny},
	} {
		if got := p.Decide(c.q); got != c.want {
			t.Errorf("%s: verdict = %s, want %s", c.name, got, c.want)
		}
	}
	complexity.Linear(t, 20_000, func(n int) time.Duration {
		text, err := json.Marshal(map[string]any{"kind": "read", "args": map[string]any{"paths": many(n)}})
		if err != nil {
			t.Fatal(err)
		}
		return complexity.CPUTime(func() {
			if q := ParseRequest(text); len(q.Paths) != n || p.Decide(q) != Deny {
				t.Errorf("ParseRequest returned %d paths, want at most the limit", len(q.Paths))
			}
		})
	})
}

func TestCheckGlob(t *testing.T) {
	for pattern, ok := range map[string]bool{".env": true, "a/**": true, "~/.ssh": true, "*.[ch]": true, "": false, "/": false, "../a": false, "~bob/a": false, "a[": false} {
		if err := CheckGlob(pattern); (err == nil) != ok {
			t.Errorf("pattern %q: error = %v", pattern, err)
		}
	}
}

// TestAllowedPathsStayInRoots opens allowed paths with links, `..` and different letter cases. None
// of them may lead out of the root directories.
func TestAllowedPathsStayInRoots(t *testing.T) {
	randtest.InOneGoroutine(t)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{"work/src/deep", "work/other", "outside/deep"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range []string{"work/src/f", "work/src/deep/f", "work/f", "outside/f", "f"} {
		if err := os.WriteFile(filepath.Join(dir, f), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{
		"work/src/out": "../../outside", "work/src/far": filepath.Join(dir, "outside/deep"), "work/src/up": "..", "work/src/deep/back": "../../..",
		"work/src/file": "../../outside/f", "work/src/loop": "loop", "work/in": "src/deep", "outside/in": "../work/src", "work/src/gone": "../nowhere",
	} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Skip("no links here: ", err)
		}
	}
	p := New(Rules{Read: []string{"src"}}, Place{Dir: filepath.Join(dir, "work"), Home: dir, Link: func(path string) (string, bool) {
		to, err := os.Readlink(path)
		return to, err == nil
	}})
	root := filepath.Join(dir, "work", "src")
	names := []string{"src", "out", "far", "up", "deep", "back", "file", "loop", "in", "f", "gone", "..", "..", ".", "", "~", "SRC", " src", "work", "outside", dir, "file://" + dir}
	var allowed atomic.Int64
	randtest.Run(t, "internal/data/hostpolicy", 4000, func(uint64) string { return "paths through links" }, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 1))
		var path string
		if r.IntN(3) == 0 {
			path = "src/"
		}
		for n := 1 + r.IntN(6); n > 0; n-- {
			path += names[r.IntN(len(names))] + strings.Repeat("/", r.IntN(2)+1)
		}
		path = strings.TrimRight(path, "/")
		if p.Decide(Request{Kind: "read", Paths: []string{path}}) != Allow {
			return
		}
		allowed.Add(1)
		raw := path
		if !strings.HasPrefix(raw, "/") {
			raw = filepath.Join(dir, "work") + "/" + raw
		}
		for _, as := range []string{raw, filepath.Clean(raw)} {
			if to, err := filepath.EvalSymlinks(as); err == nil && to != root && !strings.HasPrefix(to, root+"/") {
				t.Errorf("the path %q is allowed, although it leads to %s outside the roots", path, to)
			}
		}
	})
	if allowed.Load() == 0 {
		t.Error("no path was allowed, so the test checked nothing")
	}
}

// FuzzCommand checks that rules never allow a command with a shell character, or a command of which
// a deny rule matches a part.
func FuzzCommand(f *testing.F) {
	for _, s := range []string{"go test", "ls; rm x", "a && rm b", "a\nb", "ls $(x)", "rm x", "ls \\", "ls\u2028x"} {
		f.Add(s)
	}
	p := policy(Rules{Commands: Commands{Allow: []string{"*"}, Deny: []string{"rm *"}}, Default: "ask"})
	f.Fuzz(func(t *testing.T, command string) {
		got := p.Decide(Request{Kind: "execute", Command: command})
		if got == Allow && strings.ContainsAny(command, shellCharacters+"\n\r\x00") {
			t.Errorf("a rule allows the command %q with a shell character", command)
		}
		if got == Allow && slices.ContainsFunc(strings.Fields(command)[:1], func(w string) bool { return w == "rm" }) && len(strings.Fields(command)) > 1 {
			t.Errorf("a rule allows the command %q although a deny rule matches it", command)
		}
		if p.Decide(Request{Kind: "execute", Command: command + "; rm x"}) != Deny || p.Decide(Request{Kind: "execute", Command: "rm x | " + command}) != Deny {
			t.Errorf("the command %q is not denied although it contains a denied command", command)
		}
	})
}

// TestInput checks the decisions about text for a running program: each of its lines may be a
// command, and none can be allowed.
func TestInput(t *testing.T) {
	request := func(text string) Request {
		return ParseRequest(fmt.Appendf(nil, `{"kind":"execute","tool":"stdin","args":{"text":%s,"command":"python3 -i","process":"7"}}`, jsonwrite.MustEncode(text)))
	}
	rules := Rules{Commands: Commands{Allow: []string{"*"}, Ask: []string{"git push *"}, Deny: []string{"rm *"}}}
	for _, c := range []struct {
		text               string
		byNone, byAllowing Verdict // without a default, and with the default allow
	}{
		{"ls\n", Ask, Ask},
		{"ls\nrm -rf build\n", Deny, Deny},
		{"ls\r\nrm x", Deny, Deny},
		{"ls\x00rm x", Deny, Deny},
		{"cd x; rm y\n", Deny, Deny},
		{"import os; os.system('rm -rf build')\n", Deny, Deny},
		{"'unclosed\nrm x\n", Deny, Deny},
		{"git push origin\n", Ask, Ask},
		{"", Ask, Ask},
	} {
		if got := New(rules, Place{Dir: "/work"}).Decide(request(c.text)); got != c.byNone {
			t.Errorf("%q = %s, want %s", c.text, got, c.byNone)
		}
		allowing := rules
		allowing.Default = "allow"
		if got := New(allowing, Place{Dir: "/work"}).Decide(request(c.text)); got != c.byAllowing {
			t.Errorf("with the default allow, %q = %s, want %s", c.text, got, c.byAllowing)
		}
	}
	if p := New(Rules{Default: "allow"}, Place{}); p.Decide(request("rm x")) != Allow {
		t.Error("without rules for commands, the default does not decide")
	}
}

// TestPerson checks that no rule allows what a person must decide, and that rules can deny it.
func TestPerson(t *testing.T) {
	p := New(Rules{Default: "allow", Commands: Commands{Deny: []string{"rm *"}}}, Place{Dir: "/work"})
	for text, want := range map[string]Verdict{
		`{"kind":"execute","args":{"command":"make"}}`:                 Allow,
		`{"kind":"execute","args":{"command":"make"},"person":true}`:   Ask,
		`{"kind":"execute","args":{"command":"rm x"},"person":true}`:   Deny,
		`{"kind":"execute","args":{"command":"make"},"person":"true"}`: Ask, // it cannot be read
	} {
		if got := p.Decide(ParseRequest([]byte(text))); got != want {
			t.Errorf("%s = %s, want %s", text, got, want)
		}
	}
}

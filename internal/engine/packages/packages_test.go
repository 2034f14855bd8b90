package packages

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/compile/pkg"
	"github.com/concerto-lang/concerto/internal/engine/driver"
	"github.com/concerto-lang/concerto/internal/engine/packages/pkgcache"
)

// server serves the repositories below a directory by the smart protocol of git.
type server struct {
	*httptest.Server
	dir      string
	wrap     atomic.Pointer[wrapper] // nil for none; a connection of an ended git may read it late
	requests atomic.Int32
}

type wrapper func(next http.Handler) http.Handler

// wrapped has requests handled by what w returns, until its result is called.
func (s *server) wrapped(w wrapper) (undo func()) {
	s.wrap.Store(&w)
	return func() { s.wrap.Store(nil) }
}

func serve(t *testing.T) *server {
	t.Helper()
	backend, err := exec.Command("git", "--exec-path").Output()
	if err != nil {
		t.Skip("git is not installed")
	}
	s := &server{dir: t.TempDir()}
	handler := &cgi.Handler{Path: filepath.Join(strings.TrimSpace(string(backend)), "git-http-backend"),
		Env: []string{"GIT_PROJECT_ROOT=" + s.dir, "GIT_HTTP_EXPORT_ALL=1"}, Stderr: io.Discard}
	if _, err := os.Stat(handler.Path); err != nil {
		t.Skip("git has no http-backend")
	}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.requests.Add(1)
		next := http.Handler(handler)
		if w := s.wrap.Load(); w != nil {
			next = (*w)(next)
		}
		next.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

// git runs git in a repository of the server.
func (s *server) git(t testing.TB, repository string, args ...string) string {
	t.Helper()
	return runGit(t, filepath.Join(s.dir, repository), args...)
}

func runGit(t testing.TB, dir string, args ...string) string {
	t.Helper()
	c := exec.Command("git", args...)
	c.Dir = dir
	c.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@example.com",
		"GIT_AUTHOR_DATE=2026-01-01T00:00:00Z", "GIT_COMMITTER_DATE=2026-01-01T00:00:00Z")
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// publish commits files as a version of a repository, which is created if it does not exist.
func publish(t testing.TB, dir, tag string, files map[string]string) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(dir, ".git")); err != nil {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		runGit(t, dir, "init", "-q", "-b", "main")
	}
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	runGit(t, dir, "add", "-A")
	runGit(t, dir, "commit", "-q", "--allow-empty", "-m", tag)
	runGit(t, dir, "tag", tag)
}

func packageFiles(name, deps string) map[string]string {
	return map[string]string{"Concerto.toml": "[project]\nname = \"" + name + "\"\n" + deps, "lib.conc": "pub fn f() -> Int { 1 }\n"}
}

// newResolver returns a resolver for a project with the given manifest.
func newResolver(t testing.TB, manifest string, environ ...string) *Resolver {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "Concerto.toml"), []byte(manifest), 0o644); err != nil {
		t.Fatal(err)
	}
	p, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	environ = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "GIT_CONFIG_NOSYSTEM=1"}, environ...)
	return &Resolver{Project: p, Fetcher: &Fetcher{Environ: environ, Dir: dir, Cache: pkgcache.At(t.TempDir())}}
}

// kindOf returns the kind and the message of an error.
func kindOf(err error) (pkg.ErrorKind, string) {
	var e *pkg.Error
	if errors.As(err, &e) {
		return e.Kind, e.Message + "\n" + e.Hint
	}
	return 99, fmt.Sprint(err)
}

// TestHTTP fetches packages from a server: with redirects, a password, without commits by name, and
// with failures.
func TestHTTP(t *testing.T) {
	s := serve(t)
	dir := filepath.Join(s.dir, "text")
	const source = "// $Id$\r\npub fn f() -> Int { 2 }\r\n"
	publish(t, dir, "v1.0.0", packageFiles("text", ""))
	publish(t, dir, "v1.1.0", map[string]string{"lib.conc": source, ".gitattributes": "* -text ident export-ignore\n"})
	runGit(t, dir, "tag", "-a", "-m", "annotated", "v1.2.0")
	runGit(t, dir, "tag", "-a", "-m", "a tag of a tag", "v1.3.0", "v1.2.0")
	const entry = "[dependencies]\ntext = { git = \"%s/text\", tag = \"%s\" }\n"
	resolve := func(r *Resolver) (*Resolution, error) { return r.Resolve(t.Context(), r.Project.Text()) }

	var first *Resolution
	t.Run("tags and blobs", func(t *testing.T) {
		for _, tag := range []string{"v1.3.0", "v1.2.0", "v1.1.0"} {
			r := newResolver(t, fmt.Sprintf(entry, s.URL, tag))
			to, err := resolve(r)
			if err != nil {
				t.Fatal(err)
			}
			l := to.Lock.Packages[0]
			text, _ := fileNamed(to.files[l], "lib.conc")
			if want := s.git(t, "text", "rev-parse", tag+"^{commit}"); l.Commit != want || string(text) != source {
				t.Errorf("%s: commit %s with %q, want %s and the bytes of the blob", tag, l.Commit, text, want)
			}
			if first != nil && l.Hash != first.Lock.Packages[0].Hash {
				t.Errorf("%s has another hash than another tag of the same commit", tag)
			}
			first = to
		}
	})
	t.Run("redirect", func(t *testing.T) {
		defer s.wrapped(func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if rest, found := strings.CutPrefix(r.URL.Path, "/old"); found {
					http.Redirect(w, r, s.URL+rest+"?"+r.URL.RawQuery, http.StatusFound)
					return
				}
				next.ServeHTTP(w, r)
			})
		})()
		to, err := resolve(newResolver(t, fmt.Sprintf(entry, s.URL+"/old", "v1.1.0")))
		if err != nil || to.Lock.Packages[0].Git != s.URL+"/old/text" {
			t.Errorf("a redirect: %v", err)
		}
	})
	t.Run("password", func(t *testing.T) {
		defer s.wrapped(func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if user, password, _ := r.BasicAuth(); user != "ada" || password != "hunter2" {
					w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
					w.WriteHeader(http.StatusUnauthorized)
					return
				}
				next.ServeHTTP(w, r)
			})
		})()
		r := newResolver(t, fmt.Sprintf(entry, s.URL, "v1.1.0"))
		if kind, text := kindOf(second(resolve(r))); kind != pkg.Unavailable || !strings.Contains(text, "could not read Username") || !strings.Contains(text, "nothing was changed") {
			t.Errorf("without a password: %v %s", kind, text)
		}
		// The user's credential helper and rewritten addresses apply, and a password stays hidden.
		config := filepath.Join(t.TempDir(), "config")
		helper := "[credential]\n\thelper = \"!f() { echo username=ada; echo password=hunter2; }; f\"\n"
		if err := os.WriteFile(config, []byte(helper), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := resolve(newResolver(t, fmt.Sprintf(entry, s.URL, "v1.1.0"), "GIT_CONFIG_GLOBAL="+config)); err != nil {
			t.Errorf("with a credential helper: %v", err)
		}
		wrong := "[url \"" + strings.Replace(s.URL, "://", "://ada:geheim@", 1) + "/\"]\n\tinsteadOf = " + s.URL + "/\n"
		if err := os.WriteFile(config, []byte(wrong), 0o644); err != nil {
			t.Fatal(err)
		}
		if kind, text := kindOf(second(resolve(newResolver(t, fmt.Sprintf(entry, s.URL, "v1.1.0"), "GIT_CONFIG_GLOBAL="+config)))); kind != pkg.Unavailable || strings.Contains(text, "geheim") {
			t.Errorf("with a wrong password: %v %s", kind, text)
		}
	})
	t.Run("a server without commits by name", func(t *testing.T) {
		r := newResolver(t, fmt.Sprintf(entry, s.URL, "v1.1.0"))
		to, err := resolve(r)
		if err != nil {
			t.Fatal(err)
		}
		l := to.Lock.Packages[0]
		defer s.wrapped(func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
				q.Header.Del("Git-Protocol") // version 0, in which only advertised commits can be requested
				next.ServeHTTP(w, q)
			})
		})()
		cold := &Fetcher{Environ: r.Fetcher.Environ, Dir: r.Fetcher.Dir, Cache: pkgcache.At(t.TempDir())}
		if err := cold.restore(t.Context(), l, "text v1.1.0"); err != nil {
			t.Error(err)
		}
		s.git(t, "text", "tag", "-f", "v1.1.0", "v1.0.0")
		defer s.git(t, "text", "tag", "-f", "v1.1.0", l.Commit)
		s.git(t, "text", "commit", "-q", "--allow-empty", "-m", "the branch moves on")
		cold.Cache = pkgcache.At(t.TempDir())
		if kind, text := kindOf(cold.restore(t.Context(), l, "text v1.1.0")); kind != pkg.Changed || !strings.Contains(text, "was moved: concerto.lock has commit "+l.Commit) {
			t.Errorf("a moved tag: %v %s", kind, text)
		}
	})
	t.Run("other content", func(t *testing.T) {
		r := newResolver(t, fmt.Sprintf(entry, s.URL, "v1.1.0"))
		l := *first.Lock.Packages[0]
		l.Hash = "h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="
		if kind, text := kindOf(r.Fetcher.restore(t.Context(), &l, "text v1.3.0")); kind != pkg.Changed || !strings.Contains(text, "serves other content than concerto.lock expects for text v1.3.0: expected h1:47DEQ") {
			t.Errorf("%v %s", kind, text)
		}
	})
	t.Run("failures", func(t *testing.T) {
		r := newResolver(t, fmt.Sprintf(entry, s.URL+"/absent", "v1.1.0"))
		if kind, text := kindOf(second(resolve(r))); kind != pkg.Unavailable || !strings.Contains(text, "not found") {
			t.Errorf("no repository: %v %s", kind, text)
		}
		r = newResolver(t, fmt.Sprintf(entry, s.URL, "v1.1.0"), "PATH="+t.TempDir())
		r.Fetcher.Environ = r.Fetcher.Environ[1:]
		if kind, text := kindOf(second(resolve(r))); kind != pkg.Unavailable || !strings.Contains(text, "git is not installed: install git 2.30 or newer") {
			t.Errorf("no git: %v %s", kind, text)
		}
		r = newResolver(t, fmt.Sprintf(entry, s.URL, "v1.1.0"))
		r.Fetcher.Cache = pkgcache.At(filepath.Join(r.Project.Root, "Concerto.toml", "cache"))
		if kind, text := kindOf(second(resolve(r))); kind != pkg.Unavailable || !strings.Contains(text, "cannot write to the cache") {
			t.Errorf("no cache: %v %s", kind, text)
		}
	})
	t.Run("a server that sends nothing", func(t *testing.T) {
		released := make(chan struct{})
		defer s.wrapped(func(http.Handler) http.Handler {
			return http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				select {
				case <-released:
				case <-r.Context().Done():
				}
			})
		})()
		defer close(released)
		r := newResolver(t, fmt.Sprintf(entry, s.URL, "v1.1.0"))
		r.Fetcher.Stall = 60 * time.Millisecond
		if kind, text := kindOf(second(resolve(r))); kind != pkg.Unavailable || !strings.Contains(text, "sent nothing for 60ms") {
			t.Errorf("%v %s", kind, text)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := r.Resolve(ctx, r.Project.Text()); !errors.Is(err, context.Canceled) {
			t.Errorf("after an interrupt: %v", err)
		}
	})
	t.Run("many tags", func(t *testing.T) {
		var packed strings.Builder
		packed.WriteString("# pack-refs with: peeled fully-peeled sorted \n")
		id := s.git(t, "text", "rev-parse", "v1.0.0")
		var names []string
		for i := range 50000 {
			names = append(names, fmt.Sprintf("refs/tags/v3.0.%d", i))
		}
		slices.Sort(names)
		for _, n := range names {
			packed.WriteString(id + " " + n + "\n")
		}
		publish(t, filepath.Join(s.dir, "many"), "v1.0.0", packageFiles("many", ""))
		id = s.git(t, "many", "rev-parse", "v1.0.0")
		text := strings.ReplaceAll(packed.String(), s.git(t, "text", "rev-parse", "v1.0.0"), id)
		if err := os.WriteFile(filepath.Join(s.dir, "many", ".git", "packed-refs"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		r := newResolver(t, "")
		manifest, d, err := r.Add(t.Context(), Addition{Address: s.URL + "/many"})
		if err != nil || d.Tag != "v3.0.49999" || !strings.Contains(string(manifest), d.Line()) {
			t.Errorf("the highest of 50,000 tags: %v", err)
		}
	})
}

func second[T any](_ T, err error) error { return err }

// TestHostileConfiguration fetches packages with a global configuration full of commands, inside of
// the environment of a hook. None of the commands may run, and git's log of its arguments shows
// that the address comes after `--`.
func TestHostileConfiguration(t *testing.T) {
	dir := t.TempDir()
	repository := filepath.Join(dir, "text")
	publish(t, repository, "v1.0.0", map[string]string{"Concerto.toml": "[project]\nname = \"text\"\n", "lib.conc": "pub fn f() -> Int { 1 }\n",
		".gitattributes": "* filter=evil\n*.conc diff=evil\n", ".gitmodules": "[submodule \"x\"]\n\tpath = x\n\turl = ext::sh -c touch% owned\n"})
	owned, trace := filepath.Join(dir, "owned"), filepath.Join(dir, "trace")
	hooks := filepath.Join(dir, "hooks")
	touch := "touch " + owned
	if err := os.MkdirAll(hooks, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"post-checkout", "post-merge", "reference-transaction", "post-index-change", "pre-auto-gc"} {
		if err := os.WriteFile(filepath.Join(hooks, name), []byte("#!/bin/sh\n"+touch+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	template := filepath.Join(dir, "template")
	if err := os.MkdirAll(template, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(hooks, filepath.Join(template, "hooks")); err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(dir, "config")
	text := fmt.Sprintf("[core]\n\thooksPath = %s\n\tfsmonitor = %s\n\teditor = %s\n\tpager = %s\n[init]\n\ttemplateDir = %s\n[filter \"evil\"]\n\tclean = %s\n\tsmudge = %s\n\tprocess = %s\n\trequired = true\n[diff \"evil\"]\n\ttextconv = %s\n[submodule]\n\trecurse = true\n[fetch]\n\trecurseSubmodules = true\n\tfsckObjects = false\n[protocol \"ext\"]\n\tallow = always\n[gc]\n\tauto = 1\n",
		hooks, touch, touch, touch, template, touch, touch, touch, touch)
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	r := newResolver(t, "[dependencies]\ntext = { git = \"file://"+repository+"\", tag = \"v1.0.0\" }\n",
		"GIT_CONFIG_GLOBAL="+config, "GIT_TRACE="+trace, "GIT_DIR="+filepath.Join(dir, "elsewhere"), "GIT_WORK_TREE="+dir, "GIT_INDEX_FILE="+filepath.Join(dir, "index"),
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=core.sshCommand", "GIT_CONFIG_VALUE_0="+touch, "GIT_CONFIG_PARAMETERS='core.pager'='"+touch+"'")
	to, err := r.Resolve(t.Context(), r.Project.Text())
	if err != nil {
		t.Fatal(err)
	}
	if got := len(to.files[to.Lock.Packages[0]]); got != 4 {
		t.Errorf("the package has %d files, want 4", got)
	}
	if _, err := os.Stat(owned); err == nil {
		t.Error("a command of the configuration was executed")
	}
	log, err := os.ReadFile(trace)
	if err != nil {
		t.Fatal(err)
	}
	fetches := 0
	for line := range strings.SplitSeq(string(log), "\n") {
		_, command, found := strings.Cut(line, "trace: built-in: git fetch ")
		if !found {
			continue
		}
		fetches++
		if !strings.Contains(command, " -- file://"+repository+" ") {
			t.Errorf("git fetch %s: the address is not after `--`", command)
		}
	}
	if fetches == 0 {
		t.Errorf("git's log has no fetch:\n%s", log)
	}
	for _, name := range []string{"elsewhere", "index"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			t.Errorf("the variables of another repository were used: %s exists", name)
		}
	}
}

// TestProtocols checks that a rewritten address cannot use another protocol.
func TestProtocols(t *testing.T) {
	dir := t.TempDir()
	publish(t, filepath.Join(dir, "text"), "v1.0.0", packageFiles("text", ""))
	config := filepath.Join(dir, "config")
	text := "[url \"ext::sh -c touch% " + filepath.Join(dir, "owned") + "% \"]\n\tinsteadOf = https://localhost:1/\n[protocol \"ext\"]\n\tallow = always\n"
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	r := newResolver(t, "[dependencies]\ntext = { git = \"https://localhost:1/text\", tag = \"v1.0.0\" }\n", "GIT_CONFIG_GLOBAL="+config)
	if kind, text := kindOf(second(r.Resolve(t.Context(), r.Project.Text()))); kind != pkg.Unavailable || !strings.Contains(text, "'ext' not allowed") {
		t.Errorf("%v %s", kind, text)
	}
	if _, err := os.Stat(filepath.Join(dir, "owned")); err == nil {
		t.Error("the program of the address was executed")
	}
}

// TestOriginOfLocalAddresses checks that packages of another machine cannot require repositories on
// this machine.
func TestOriginOfLocalAddresses(t *testing.T) {
	dir := t.TempDir()
	inner, outer := filepath.Join(dir, "inner"), filepath.Join(dir, "outer")
	publish(t, inner, "v1.0.0", packageFiles("inner", ""))
	publish(t, outer, "v1.0.0", packageFiles("outer", "[dependencies]\ninner = { git = \"file://"+inner+"\", tag = \"v1.0.0\" }\n"))
	r := newResolver(t, "[dependencies]\nouter = { git = \"FILE://"+outer+"\", tag = \"v1.0.0\" }\n")
	if _, err := r.Resolve(t.Context(), r.Project.Text()); err != nil {
		t.Errorf("a package of this machine may require another one: %v", err)
	}
	for _, address := range []string{"file://" + inner, "http://localhost/inner"} {
		text := "[dependencies]\ninner = { git = \"" + address + "\", tag = \"v1.0.0\" }\n"
		_, found := driver.PackageManifest([]byte(text), "outer v1.0.0: ", false)
		if all := found.Sorted(); len(all) != 1 || !strings.Contains(all[0].Message, "is only allowed in packages of this machine") {
			t.Errorf("%s in a package of another machine: %v", address, all)
		}
	}
}

// TestMonorepo fetches packages in directories of one repository, each with tags of its own.
func TestMonorepo(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "mono")
	files := packageFiles("mono", "")
	files["libs/plan/Concerto.toml"], files["libs/plan/lib.conc"] = "[project]\nname = \"plan-it\"\n", "pub mod inner;\n"
	files["libs/plan/inner.conc"] = "pub fn deep() -> Int { 1 }\n"
	publish(t, dir, "v1.0.0", files)
	runGit(t, dir, "tag", "libs/plan/v0.3.1")
	r := newResolver(t, "")
	text, d, err := r.Add(t.Context(), Addition{Address: "FILE://" + dir, Dir: "libs/plan"})
	if err != nil || d.Line() != `plan_it = { git = "file://`+dir+`", dir = "libs/plan", tag = "libs/plan/v0.3.1" }` {
		t.Fatalf("added %+v; error: %v", d, err)
	}
	to, err := r.Resolve(t.Context(), text)
	if err != nil {
		t.Fatal(err)
	}
	l := to.Lock.Packages[0]
	var names []string
	for _, f := range to.files[l] {
		names = append(names, f.Name)
	}
	if l.Dir != "libs/plan" || l.Version != "v0.3.1" || !slices.Equal(names, []string{"Concerto.toml", "inner.conc", "lib.conc"}) {
		t.Errorf("locked %+v with the files %v", l, names)
	}
}

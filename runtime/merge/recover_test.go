package merge

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/testkit/randtest"
	"github.com/concerto-lang/concerto/runtime/workspace"
)

// stopped is the value with which a test stops a run between two steps, as if its process was
// killed.
type stopped struct{ step string }

// stopAt runs do with a step function that stops before step n. It reports whether do has stopped.
func stopAt(m *Merges, n int, do func()) (is bool) {
	m.step = func(name string) {
		if n--; n < 0 {
			panic(stopped{name})
		}
	}
	defer func() {
		m.step = func(string) {}
		x := recover()
		if _, is = x.(stopped); x != nil && !is {
			panic(x)
		}
		m.Close()
		m.o.Store.Close()
	}()
	do()
	return false
}

// withRemote adds a remote with main, and a command that creates pull requests to the file
// requests.
func (p *project) withRemote() {
	p.git("", "clone", "-q", "--bare", ".", "../remote")
	p.git("", "remote", "add", "origin", "../remote")
	p.git("", "fetch", "-q", "origin")
	p.write("../create.sh", "echo $1 >> ../requests; echo https://example.com/$1\n")
	p.write("../find.sh", "grep -q $1 ../requests && echo https://example.com/$1 || exit 1\n")
}

// newMode returns a project for a mode, with its settings.
func newMode(t *testing.T, set func(*project, *Config)) (*project, Config) {
	p := newProject(t)
	c := p.queues["main"]
	c.Gate = [][]string{{"test", "-e", "base"}}
	set(p, &c)
	p.queues["main"] = c
	return p, c
}

// copy returns a copy of the project.
func (p *project) copy() *project {
	p.t.Helper()
	other, dir := *p, p.t.TempDir()
	p.must(os.CopyFS(dir, os.DirFS(filepath.Dir(p.dir))))
	other.dir = filepath.Join(dir, filepath.Base(p.dir))
	return &other
}

// requests returns the created pull requests.
func (p *project) requests() string {
	text, _ := os.ReadFile(filepath.Join(p.dir, "..", "requests")) // missing if there are none
	return string(text)
}

// modes are the ways in which a change lands.
var modes = map[string]func(p *project, c *Config){
	"merge":  func(*project, *Config) {},
	"squash": func(_ *project, c *Config) { c.Method = "squash" },
	"push":   func(p *project, c *Config) { p.withRemote(); c.Push = "origin" },
	"push and squash": func(p *project, c *Config) {
		p.withRemote()
		c.Push, c.Method = "origin", "squash"
	},
	"update": func(p *project, c *Config) {
		c.CheckedOut = "update"
		p.git("", "stash", "-q", "-u")
		p.git("", "checkout", "-q", "main")
	},
	"pull request": func(p *project, c *Config) {
		p.withRemote()
		c.Via, c.PullRequest = "pull-request", Commands{Create: []string{"sh", "../create.sh", "{id}"}, Find: []string{"sh", "../find.sh", "{id}"}}
	},
	"pull request without find": func(p *project, c *Config) {
		p.withRemote()
		c.Via, c.PullRequest = "pull-request", Commands{Create: []string{"sh", "../create.sh", "{id}"}}
	},
}

// TestStopped stops a run before each of its steps, for each mode. The next run must finish it, and
// do nothing twice.
func TestStopped(t *testing.T) {
	for mode, set := range modes {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			template, c := newMode(t, set)
			for _, id := range []string{"a", "b"} {
				template.commit(id, "main", "Change "+id, map[string]string{id: "x\n"})
				q := template.queue(nil)
				submit(t, q, id, Submission{})
				q.m.Close()
			}
			for n, done := firstStep(mode), false; !done; n += stride() {
				p := template.copy()
				q := p.queue(nil)
				done = !stopAt(q.m, n, func() {
					if _, err := q.Run(t.Context(), Run{}); err != nil {
						t.Fatalf("step %d: %v", n, err)
					}
				})
				q = p.queue(nil)
				if _, err := q.Run(t.Context(), Run{}); err != nil {
					t.Fatalf("step %d: %v", n, err)
				}
				p.verifyLanded(n, q, c)
			}
		})
	}
}

// stride is the distance of the steps at which a merge is stopped: each mode begins with another
// one, and at night each is stopped at all.
func stride() int {
	if randtest.Night() {
		return 1
	}
	return 3
}

func firstStep(mode string) int { return len(mode) % stride() }

// verifyLanded checks that the changes a and b have landed once after a run that was stopped before
// step n.
func (p *project) verifyLanded(n int, q *Queue, c Config) {
	t := p.t
	for id, x := range byID(t, q) {
		landed := 0
		for _, of := range strings.Fields(p.git("", "log", "--format=%(trailers:key=Concerto-Change,valueonly)", "main")) {
			if of == id {
				landed++
			}
		}
		asked := strings.Count(p.requests(), id)
		switch {
		case c.Via == "" && (x.State != Merged || landed != 1):
			t.Errorf("step %d: %s is %s, and landed %d times", n, id, x.State, landed)
		case c.Via != "" && c.PullRequest.Find != nil && (x.State != Proposed || asked != 1 || x.URL == nil || *x.URL != "https://example.com/"+id):
			t.Errorf("step %d: %s is %s, with %d requests", n, id, x.State, asked)
		case c.Via != "" && x.State != Proposed && x.State != Unknown || asked > 1:
			t.Errorf("step %d: %s is %s, with %d requests", n, id, x.State, asked)
		}
	}
	if c.Push != "" && p.git("", "rev-parse", "main") != p.git("", "ls-remote", "--refs", "-q", "origin", "refs/heads/main")[:40] {
		t.Errorf("step %d: the remote has another commit", n)
	}
	if c.CheckedOut == "update" && p.git("", "status", "--porcelain") != "" {
		t.Errorf("step %d: the checkout is %s", n, p.git("", "status", "--porcelain"))
	}
}

// TestStoppedSingle is TestStopped for the merge of one workspace.
func TestStoppedSingle(t *testing.T) {
	for mode, set := range modes {
		if mode == "pull request without find" {
			continue // the caller decides what an unknown outcome means
		}
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			template, c := newMode(t, set)
			for n, done := firstStep(mode), false; !done; n += stride() {
				p := template.copy()
				merge := func(m *Merges) *Result {
					w, err := m.o.Store.Open(t.Context(), "a", "main")
					p.must(err)
					p.must(os.WriteFile(filepath.Join(w.Dir, "a"), []byte("x\n"), 0o644))
					_, err = w.Commit(t.Context(), "Change a", time.Unix(1.6e9, 0), false)
					p.must(err)
					out, err := m.Merge(t.Context(), w, Single{Into: "main", At: time.Unix(1.7e9, 0)})
					if err != nil {
						t.Fatalf("step %d: %v", n, err)
					}
					return out
				}
				before := p.git("", "rev-parse", "main")
				m := p.open()
				done = !stopAt(m, n, func() { merge(m) })
				out := merge(p.open())
				landed := strings.Count(p.git("", "log", "--format=%(trailers:key=Concerto-Change,valueonly)", "main"), "a")
				switch {
				case c.Via != "" && (!out.Proposed || strings.Count(p.requests(), "a") != 1):
					t.Errorf("step %d: %+v with requests %q", n, out, p.requests())
				case c.Via == "" && (landed != 1 || out.Commit != p.git("", "rev-parse", "main") || out.Before != before):
					t.Errorf("step %d: landed %d times, %+v, before %s", n, landed, out, before)
				}
				if c.Push != "" && p.git("", "ls-remote", "--refs", "-q", "origin", "refs/heads/main")[:40] != out.Commit {
					t.Errorf("step %d: the remote has another commit", n)
				}
			}
		})
	}
}

// TestLandingBusy submits and drops a change whose landing was interrupted, while another process
// runs the queue, and when none does.
func TestLandingBusy(t *testing.T) {
	p := newProject(t)
	p.commit("a", "main", "Change a", map[string]string{"a": "x\n"})
	submit(t, p.queue(nil), "a", Submission{})
	q := p.queue(nil)
	if !stopAt(q.m, 2, func() { _, _ = q.Run(t.Context(), Run{}) }) {
		t.Fatal("the run was not stopped")
	}
	if c := byID(t, p.queue(nil))["a"]; c.State != Landing {
		t.Fatalf("the change is %s", c.State)
	}
	other := p.queue(nil)
	unlock, err := other.lock()
	p.must(err)
	if err := p.queue(nil).Drop(t.Context(), "a"); codeOf(err) != workspace.Busy {
		t.Errorf("drop: %v", err)
	}
	p.commit("a", "main", "Another", map[string]string{"a": "y\n"})
	if _, err := p.queue(nil).SubmitBranch(t.Context(), "a", Submission{}); codeOf(err) != workspace.Busy {
		t.Errorf("submit: %v", err)
	}
	unlock()
	if _, err := p.queue(nil).SubmitBranch(t.Context(), "a", Submission{}); codeOf(err) != workspace.AlreadyMerged {
		t.Errorf("submit: %v", err)
	}
}

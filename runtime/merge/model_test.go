package merge

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/testkit/randtest"
	"github.com/concerto-lang/concerto/runtime/workspace"
)

// stopped is the value with which a test stops a run between two steps, as if its process was
// killed.
type stopped struct{ step string }

// schedule plays a random sequence of submissions, moves of the target, changes by the user and
// runs that are stopped, with the real git.
type schedule struct {
	t      *testing.T
	p      *project
	r      *rand.Rand
	flaky  bool              // a gate may fail without a reason
	latest map[string]string // commits by the ids of submitted changes
	next   int               // number of the next file
	log    []string
}

// bad is the beginning of the names of files with which the gate fails.
const bad = "bad"

// check is the gate. It never passes without reason, but may fail without one.
func (s *schedule) check(_ context.Context, w *workspace.Workspace) error {
	if isBad(filesOf(w.Dir)) {
		return errors.New("bad file")
	}
	if s.flaky && s.r.IntN(6) == 0 {
		return errors.New("flaky")
	}
	switch s.r.IntN(12) {
	case 0, 1:
		s.userCommit() // the target moves during the gate
	case 2:
		s.submit(s.p.queue(nil)) // a change of the batch may be replaced
	case 3:
		s.drop(s.p.queue(nil))
	}
	return nil
}

func isBad(files []string) bool {
	return slices.ContainsFunc(files, func(name string) bool { return strings.HasPrefix(name, bad) })
}

// userCommit moves main to another commit that passes.
func (s *schedule) userCommit() {
	s.next++
	old := s.p.git("", "rev-parse", "main")
	commit := s.p.commit("scratch", "main", "by the user", map[string]string{fmt.Sprintf("user%d", s.next): "x\n"})
	s.p.git("", "update-ref", "refs/heads/main", commit, old)
	s.log = append(s.log, "user")
}

// submit submits a new change, or another commit of an earlier one. A change may conflict with
// others by the file shared.
func (s *schedule) submit(q *Queue) {
	id := name(s.r.IntN(8))
	s.next++
	files := map[string]string{fmt.Sprintf("f%d", s.next): "x\n"}
	switch s.r.IntN(6) {
	case 0:
		files[fmt.Sprintf("%s%d", bad, s.next)] = "x\n"
	case 1:
		files["shared"] = fmt.Sprintf("%d\n", s.next)
	}
	commit := s.p.commit(id, s.p.git("", "rev-parse", []string{"main", "main~0", "work"}[s.r.IntN(3)]), "Change "+id, files)
	x := Submission{Priority: s.r.IntN(2)}
	if other := name(s.r.IntN(8)); s.latest[other] != "" && s.r.IntN(4) == 0 && other != id {
		x.After = []string{other}
	}
	_, err := q.SubmitBranch(s.t.Context(), id, x)
	code := codeOf(err)
	s.log = append(s.log, fmt.Sprintf("submit %s after %v: %s", id, x.After, code))
	if err == nil {
		s.latest[id] = commit
	} else if code != workspace.AlreadyMerged && code != workspace.BadName {
		s.t.Fatalf("submit %s: %v\n%s", id, err, strings.Join(s.log, "\n"))
	}
}

// drop drops a change.
func (s *schedule) drop(q *Queue) {
	id := name(s.r.IntN(8))
	if err := q.Drop(s.t.Context(), id); err != nil && !errors.Is(err, ErrUnknown) && codeOf(err) != workspace.AlreadyMerged {
		s.t.Fatalf("drop: %v", err)
	}
	s.log = append(s.log, "drop "+id)
}

// run runs the queue in a new process. It stops before a random step, unless whole is set.
func (s *schedule) run(whole bool) (err error) {
	q := s.p.queue(s.check)
	left := s.r.IntN(9)
	if !whole {
		q.m.step = func(name string) {
			if left--; left < 0 {
				panic(stopped{name})
			}
		}
	}
	defer func() {
		if x, ok := recover().(stopped); ok {
			s.log = append(s.log, "stopped before "+x.step)
		}
		q.m.Close()
		q.m.o.Store.Close()
	}()
	report, err := q.Run(s.t.Context(), Run{})
	s.log = append(s.log, fmt.Sprintf("run: %d merged, %d failed, %v", len(report.Merged), len(report.Failed), err))
	if code := codeOf(err); err != nil && code != workspace.Busy && !errors.As(err, new(*GateFailed)) {
		s.t.Fatalf("run: %v\n%s", err, strings.Join(s.log, "\n"))
	}
	return err
}

// TestModel stops runs between any two steps. Every value of the branch must have passed the gate,
// each change must be merged once or have a reason, and the checkout must not change.
func TestModel(t *testing.T) {
	show := func(uint64) string { return "a random schedule" }
	randtest.Run(t, "runtime/merge", 16, show, func(t *testing.T, seed uint64) {
		s := &schedule{t: t, p: newProject(t), r: random(seed), flaky: seed%2 == 1, latest: map[string]string{}}
		config := s.p.queues["main"]
		config.Batch, config.Retry = 1+s.r.IntN(5), s.r.IntN(2)
		if s.r.IntN(4) == 0 {
			config.Method = "squash"
		}
		s.p.queues["main"] = config
		before := s.p.state()
		for range 20 {
			q := s.p.queue(nil)
			switch s.r.IntN(10) {
			case 0, 1, 2, 3:
				s.submit(q)
			case 4:
				s.userCommit()
			case 5:
				s.drop(q)
			case 6:
				id := name(s.r.IntN(8))
				if err := q.Retry(t.Context(), id); err != nil && !errors.Is(err, ErrUnknown) && codeOf(err) != workspace.AlreadyMerged {
					t.Fatalf("retry: %v", err)
				}
				s.log = append(s.log, "retry "+id)
			default:
				_ = s.run(false)
			}
			q.m.Close()
		}
		for tries := 0; s.run(true) != nil; tries++ { // a flaky gate may blame the target
			if tries > 50 {
				t.Fatalf("the run does not end\n%s", strings.Join(s.log, "\n"))
			}
		}
		s.verify(before)
		t.Log(strings.Join(s.log, "\n"))
	})
}

// verify checks the result of a schedule.
func (s *schedule) verify(before string) {
	t, p := s.t, s.p
	values := strings.Fields(p.git("", "reflog", "--format=%H", "main"))
	for _, commit := range slices.Concat(values, strings.Fields(p.git("", "rev-list", "--first-parent", "main"))) {
		if isBad(p.files(commit)) {
			t.Errorf("%s of the branch does not pass", commit)
		}
	}
	landed := map[string]int{}
	for _, id := range strings.Fields(p.git("", "log", "--format=%(trailers:key=Concerto-Change,valueonly)", "main")) {
		landed[id]++
	}
	by := byID(t, p.queue(nil))
	for id, commit := range s.latest {
		c := by[id]
		if c == nil {
			t.Errorf("the change %s is lost", id)
			continue
		}
		contained := p.git("", "branch", "--contains", commit, "--list", "main") != ""
		switch {
		case c.State == Dropped || c.Commit != commit && c.State != Merged:
		case c.State == Merged && landed[id] != 1 && !contained:
			t.Errorf("%s is merged, and landed %d times", id, landed[id])
		case c.State == Merged && landed[id] > 1:
			t.Errorf("%s landed %d times", id, landed[id])
		case c.State == Merged:
		case landed[id] > 0 || contained:
			t.Errorf("%s is %s, and landed", id, c.State)
		case c.State == Queued && len(c.After) == 0:
			t.Errorf("%s remains in the queue", id)
		case c.State == Landing:
			t.Errorf("%s is still landing", id)
		case c.State.HasFailed() && c.Message == "":
			t.Errorf("%s is %s without a reason", id, c.State)
		}
	}
	if after := p.state(); after != before {
		t.Errorf("the checkout was\n%s\nand is\n%s", before, after)
	}
}

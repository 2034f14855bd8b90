package sim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/process/git"
	"github.com/concerto-lang/concerto/internal/sim/simdisk"
	"github.com/concerto-lang/concerto/internal/sim/simgit"
	"github.com/concerto-lang/concerto/runtime/merge"
	"github.com/concerto-lang/concerto/runtime/workspace"
	"github.com/concerto-lang/concerto/runtime/world/sqlitestore"
)

// mergeWorld is the world of a merge queue: people who submit changes, runners, and a repository.
// The database is on the simulated disk. The worktrees of gates and the locks are real files: a
// worktree is built again if it is damaged, and a lock ends with its process.
type mergeWorld struct {
	*world
	plan    *MergeSchedule
	model   *simgit.Repository // nil for the installed git
	program git.Program
	git     *git.Git // of the user and the judge; its calls pass no gate, and are synced
	calm    bool     // no more faults
	merges  mergeRecord
}

// mergeRecord is what the judge of a queue has seen.
type mergeRecord struct {
	values map[string][]value  // of refs, each with all values so far
	users  []string            // commits of the user on the target
	passed map[string]bool     // trees that have passed the gate
	orders map[string]*order   // by the ids of changes
	open   map[string][]*order // those that have not ended
	taken  map[string]bool     // ids of changes that the user has merged
}

// value is a commit with its tree, which may be lost in a power cut.
type value struct{ commit, tree string }

// order is the last thing that a person has requested for a change.
type order struct {
	do, commit string
	done       bool // the person has received the result
	unsure     bool // another request has happened at the same time
}

// crashed is the value with which a goroutine of a dead process ends at its next call. An error
// would let it clean up.
type crashed struct{}

// stop ends the calling goroutine if its process is dead.
func (p *process) stop() {
	if p.dead.Load() {
		panic(crashed{})
	}
}

// damaged is the value with which a goroutine of the user or the judge ends if git fails.
type damaged struct{ error }

// try runs do as a process, and returns false if the process has crashed.
func (p *process) try(do func()) (lives bool) {
	defer func() {
		x := recover()
		if d, ok := x.(damaged); ok {
			p.world.failed("M5", "the repository is damaged: %v", d)
		} else if x != nil && !p.dead.Load() {
			panic(x)
		}
		lives = x == nil && !p.dead.Load()
	}()
	do()
	return true
}

// power notices power cuts.
type power struct{ m *mergeWorld }

func (power) IsDead() bool { return false }

// Crash lets the repository lose a part of what git has not synced.
func (x power) Crash() {
	if r := x.m.model; r != nil {
		n := r.Pending()
		r.Cut(int(chance(x.m.plan.Order, fmt.Sprint("power cut ", len(x.m.world.log))) % uint64(n+1)))
	}
}

const targetRef = "refs/heads/main"

// changing are the commands of git that change a ref or files. reading are those that read what
// other processes change. The others depend only on objects, and pass no gate.
var (
	changing = []string{"update-ref", "push", "fetch", "worktree add", "reset", "checkout", "clean"}
	reading  = []string{"rev-parse", "for-each-ref", "ls-remote", "worktree list"}
	objectID = regexp.MustCompile(`[0-9a-f]{40}\S*|^-.*|^concerto: .*|^$`)
)

// nameOf returns the name of a call of git, without ids, options and directories.
func nameOf(c *git.Call) string {
	args := c.Args
	for args[0] == "-c" {
		args = args[2:]
	}
	var words []string
	for _, a := range args {
		if !objectID.MatchString(a) && !filepath.IsAbs(a) {
			words = append(words, a)
		}
	}
	return strings.Join(words, " ")
}

func isOf(name string, commands []string) bool {
	return slices.ContainsFunc(commands, func(c string) bool { return name == c || strings.HasPrefix(name, c+" ") })
}

// gitOf returns git as a process uses it.
func (m *mergeWorld) gitOf(p *process) *git.Git {
	return git.Of(func(ctx context.Context, c *git.Call) (out []byte, stderr string, exit int, err error) {
		name := nameOf(c)
		changes := isOf(name, changing)
		p.stop()
		if changes || isOf(name, reading) && name != "rev-parse" {
			begins := "git " + name
			if !m.gate.pass(p, begins) && m.model != nil && chance(m.plan.Order, begins)%2 == 0 {
				_ = m.model.Interrupt(c) // whatever it has done is a part
			}
			p.stop()
		}
		out, stderr, exit, err = m.program(ctx, c)
		if changes {
			m.look()
			m.gate.pass(p, "ended git "+name)
			p.stop()
		}
		return out, stderr, exit, err
	}).With(simgit.Identity...)
}

// look notes the values of the target.
func (m *mergeWorld) look() {
	for _, ref := range m.targets() {
		all := m.merges.values[ref]
		if now := m.valueOf(ref); len(all) == 0 || all[len(all)-1].commit != now {
			m.merges.values[ref] = append(all, value{now, m.run("", "rev-parse", "--verify", now+"^{tree}")})
		}
	}
}

// targets returns the refs of the target, of which the last one decides what is merged.
func (m *mergeWorld) targets() []string {
	if m.plan.Work.Push {
		return []string{targetRef, "origin"}
	}
	return []string{targetRef}
}

func (m *mergeWorld) valueOf(ref string) string {
	if ref == "origin" {
		commit, _, _ := strings.Cut(m.run("", "ls-remote", "--quiet", "origin", targetRef), "\t")
		return commit
	}
	return m.run("", "rev-parse", "--verify", ref)
}

// target returns the commit of the target.
func (m *mergeWorld) target() string { t := m.targets(); return m.valueOf(t[len(t)-1]) }

// run runs git for the user or the judge.
func (m *mergeWorld) run(input string, args ...string) string {
	date := fmt.Sprintf("%d +0000", time.Now().Unix())
	out, err := m.git.With("GIT_AUTHOR_DATE="+date, "GIT_COMMITTER_DATE="+date).Pipe(context.Background(), m.place(), []byte(input), args...)
	if err != nil {
		panic(damaged{err})
	}
	return strings.TrimSpace(string(out))
}

func (m *mergeWorld) root() string { return filepath.Join(m.base, "work", "repository") }

func (m *mergeWorld) place() git.Place { return git.Place{Dir: m.root()} }

// contains reports whether a commit is another or descends from it.
func (m *mergeWorld) contains(tip, commit string) bool {
	_, err := m.git.Run(context.Background(), m.place(), "merge-base", "--is-ancestor", commit, tip)
	return err == nil
}

// files returns the ids of the files of a commit by their names.
func (m *mergeWorld) files(commit string) map[string]string {
	files := map[string]string{}
	for line := range strings.Lines(m.run("", "ls-tree", commit)) {
		head, name, _ := strings.Cut(strings.TrimSpace(line), "\t")
		files[name] = strings.Fields(head)[2]
	}
	return files
}

// commit makes a commit of the user with a file.
func (m *mergeWorld) commit(parent, message, name, text string) string {
	var lines strings.Builder
	var args []string
	if parent != "" {
		args = []string{"-p", parent}
		for file, id := range m.files(parent) {
			if file != name {
				fmt.Fprintf(&lines, "100644 blob %s\t%s\n", id, file)
			}
		}
	}
	fmt.Fprintf(&lines, "100644 blob %s\t%s\n", m.run(text, "hash-object", "-w", "--stdin"), name)
	return m.run(message+"\n", append(append([]string{"commit-tree", "-F", "-"}, args...), m.run(lines.String(), "mktree"))...)
}

// isBad reports whether the gate fails for some files.
func isBad(files map[string]string) bool {
	for name := range files {
		if strings.HasPrefix(name, "bad") {
			return true
		}
	}
	return files["left"] != "" && files["right"] != ""
}

// startGate is the gate of merges. It may fail without reason, but never passes without one.
func (m *mergeWorld) startGate(p *process) workspace.Start {
	return func(ctx context.Context, dir string, _, environ []string, _ io.Writer) (exit int, err error) {
		commit, changes := strings.TrimPrefix(environ[1], "CONCERTO_GATE_COMMIT="), environ[3]
		name := m.gate.name(p, "tests "+changes)
		m.gate.passAs(p, name)
		p.stop()
		files := m.files(commit)
		entries, err := os.ReadDir(dir)
		for _, e := range entries {
			text, readErr := os.ReadFile(filepath.Join(dir, e.Name()))
			switch {
			case e.Name() == ".git":
			case readErr != nil || files[e.Name()] != m.run(string(text), "hash-object", "--stdin"):
				m.failed("M1", "the worktree of the gate has another file %s than %s", e.Name(), commit)
			}
		}
		if len(entries) != len(files)+1 {
			m.failed("M1", "the worktree of the gate has %d files, and %s has %d", len(entries)-1, commit, len(files))
		}
		m.gate.pass(p, "has tested "+changes)
		p.stop()
		switch {
		case ctx.Err() != nil:
			return 0, context.Cause(ctx)
		case isBad(files), m.plan.Work.Flaky && !m.calm && chance(m.plan.Order, name)%6 == 0:
			return 1, err
		}
		m.merges.passed[m.run("", "rev-parse", "--verify", commit+"^{tree}")] = true
		return 0, err
	}
}

// noted notes what a process has done.
func (m *mergeWorld) noted(p *process, format string, args ...any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.note(p.name, format, args...)
}

// command is a process of `concerto merge`.
type command struct {
	*process
	m     *merge.Merges
	store *workspace.Store
	queue *merge.Queue
}

// open starts a process with the queue, when no other goroutine runs.
func (m *mergeWorld) open(name string) *command {
	m.gate.pass(&process{name: "shell", world: m.world}, "starts "+name)
	p := m.start(name)
	root := m.root()
	s := workspace.NewStore(workspace.Place{Root: root, From: root, Git: m.gitOf(p), Start: m.startGate(p)})
	w := m.plan.Work
	c := merge.Config{Gate: [][]string{{"test"}}, Batch: w.Batch, Retry: w.Retry}
	if w.Squash {
		c.Method = "squash"
	}
	if w.Push {
		c.Push = "origin"
	}
	x := &command{process: p, store: s}
	x.m = merge.New(merge.Options{Store: s, Queues: map[string]merge.Config{"main": c}, On: sqlitestore.Options{Disk: p.view.At, VFS: p.view.VFS()}, Step: func(name string) {
		p.stop()
		m.gate.pass(p, "step "+name)
		p.stop()
	}})
	var err error
	if x.queue, err = x.m.Queue("main"); err != nil {
		panic(err)
	}
	return x
}

// close ends the process.
func (x *command) close() {
	x.m.Close()
	x.store.Close()
	x.world.end(x.process)
}

// mayFail reports whether an error is one that a command may return in this world.
func (m *mergeWorld) mayFail(err error) bool {
	if known, ok := errors.AsType[*workspace.Error](err); ok && slices.Contains([]workspace.Code{workspace.Busy, workspace.AlreadyMerged, workspace.BadName}, known.Code) {
		return true
	}
	red, ok := errors.AsType[*merge.GateFailed](err)
	return err == nil || errors.Is(err, merge.ErrUnknown) || ok && red.OnTarget && m.plan.Work.Flaky && !m.calm ||
		!m.calm && slices.ContainsFunc(m.faults, func(f Fault) bool { return f.Kind == Full })
}

// runOnce runs the queue in a process.
func (m *mergeWorld) runOnce(x *command) (report *merge.Report, err error) {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	x.process.cancel = cancel
	report, err = x.queue.Run(ctx, merge.Run{})
	x.stop()
	m.noted(x.process, "%d merged, %d failed, %d blocked, %v", len(report.Merged), len(report.Failed), len(report.Blocked), err)
	if !m.mayFail(err) && ctx.Err() == nil {
		m.failed("M8", "a run ends with %v", err)
	}
	return report, err
}

// most is the number of runs within which a queue must end.
const most = 30

// runAlways lets one runner after the other run the queue, until people have ended.
func (m *mergeWorld) runAlways(lane int, ended <-chan struct{}) {
	for n := 1; n <= most; n++ {
		x := m.open(fmt.Sprintf("runner%d#%d", lane, n))
		for lives := true; lives; {
			lives = x.try(func() {
				m.gate.pass(x.process, "starts")
				x.stop()
				_, _ = m.runOnce(x) // it is judged
			})
			select {
			case <-ended:
				m.gate.pass(x.process, "ends")
				x.close()
				return
			case <-time.After(time.Duration(301+100*lane+7*n) * time.Millisecond): // no two runners need the same time
			}
		}
		x.close()
	}
}

// act lets a person do steps of the work, each when the one before has ended or crashed.
func (m *mergeWorld) act(person, people int) {
	var x *command
	for i, s := range m.plan.Work.Steps {
		if i%people != person {
			continue
		}
		if x == nil {
			x = m.open(fmt.Sprintf("person#%d", i))
		}
		lives := x.try(func() {
			m.gate.pass(x.process, fmt.Sprintf("step %d: %s %s", i, s.Do, s.ID))
			x.stop()
			m.do(x, i, s)
			m.look()
		})
		if !lives {
			x.close()
			x = nil
		}
		if s.Pause {
			time.Sleep(977*time.Millisecond + time.Duration(person)*13*time.Millisecond)
		}
	}
	if x != nil {
		x.close()
	}
}

// do does a step.
func (m *mergeWorld) do(x *command, i int, s MergeStep) {
	ctx, text, o := context.Background(), fmt.Sprintf("%d\n", i), &order{do: s.Do}
	var err error
	switch s.Do {
	case "user":
		m.moveTarget(m.commit(m.target(), "By the user", fmt.Sprint("user", i), text))
		return
	case "take":
		m.take(s.ID)
		return
	case "submit":
		from := m.target()
		if s.Old {
			from = m.run("", "rev-parse", "--verify", "refs/heads/work")
		}
		o.commit = m.commit(from, "Change "+s.ID, s.File, text)
		m.run("", "update-ref", "refs/heads/"+s.ID, o.commit)
		defer m.order(s.ID, o)()
		after := slices.DeleteFunc([]string{s.After}, func(id string) bool { return id == "" })
		_, err = x.queue.SubmitBranch(ctx, s.ID, merge.Submission{After: after, Priority: s.Priority})
	case "drop":
		defer m.order(s.ID, o)()
		err = x.queue.Drop(ctx, s.ID)
	case "retry":
		defer m.order(s.ID, o)()
		err = x.queue.Retry(ctx, s.ID)
	}
	x.stop()
	o.done = err == nil
	m.noted(x.process, "%s %s: %v", s.Do, s.ID, err)
	if !m.mayFail(err) {
		m.failed("M8", "%s %s ends with %v", s.Do, s.ID, err)
	}
}

// order notes a request. end must be called when its process has ended it, or has crashed.
func (m *mergeWorld) order(id string, o *order) (end func()) {
	r := &m.merges
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, other := range r.open[id] {
		other.unsure, o.unsure = true, true
	}
	r.orders[id], r.open[id] = o, append(r.open[id], o)
	return func() {
		m.mu.Lock() // several processes may die at once
		defer m.mu.Unlock()
		r.open[id] = slices.DeleteFunc(r.open[id], func(x *order) bool { return x == o })
	}
}

// moveTarget is what the user does to the target.
func (m *mergeWorld) moveTarget(commit string) {
	m.merges.users = append(m.merges.users, commit)
	if m.plan.Work.Push {
		m.run("", "push", "--quiet", "origin", commit+":"+targetRef)
	} else {
		m.run("", "update-ref", targetRef, commit)
	}
	m.look()
}

// take lets the user merge a branch, unless there is a conflict, or the result is bad.
func (m *mergeWorld) take(id string) {
	o := m.merges.orders[id]
	if o == nil || o.commit == "" {
		return
	}
	tip := m.target()
	out, err := m.git.Pipe(context.Background(), m.place(), nil, "merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", tip, o.commit)
	tree, _, _ := strings.Cut(string(out), "\x00")
	if err != nil || m.contains(tip, o.commit) {
		return
	}
	commit := m.run("Merge "+id+"\n", "commit-tree", "-F", "-", "-p", tip, "-p", o.commit, tree)
	if !isBad(m.files(commit)) {
		m.merges.taken[id] = true
		m.moveTarget(commit)
	}
}

// Play runs a schedule in a bubble, with files below a real directory that it empties.
func (s *MergeSchedule) Play(t *testing.T, base string) *Result { return s.playWith(t, base, false) }

// playWith is Play with the installed git instead of the model.
func (s *MergeSchedule) playWith(t *testing.T, base string, installed bool) *Result {
	t.Helper()
	var m *mergeWorld
	one := &Schedule{Choices: s.Choices}
	return one.play(t, base, func(w *world) {
		m = &mergeWorld{world: w, plan: s, merges: mergeRecord{map[string][]value{}, nil, map[string]bool{}, map[string]*order{}, map[string][]*order{}, map[string]bool{}}}
		w.gate.reached = m.reached
		// Pins change in transactions. SQLite would let the others wait for a random time.
		w.gate.urgent = func(name string) bool { return strings.Contains(name, "refs/concerto/changes/") }
		if err := m.create(installed); err != nil {
			t.Fatal(err)
		}
	}, func(_ context.Context, _ *world) {
		ended := make(chan struct{})
		var runners sync.WaitGroup
		for lane := 1; lane <= s.Work.Runners; lane++ {
			runners.Go(func() { m.runAlways(lane, ended) })
		}
		var people sync.WaitGroup
		for person := range max(s.Work.People, 1) {
			people.Go(func() { m.act(person, max(s.Work.People, 1)) })
		}
		people.Wait()
		close(ended)
		runners.Wait()
		m.calm = true
		m.disk.StopFaults()
		last := m.open("last")
		defer last.close()
		last.try(func() { m.finish(last) })
	})
}

// create creates the repository.
func (m *mergeWorld) create(installed bool) (err error) {
	root := m.root()
	if installed {
		m.program, err = simgit.Installed(root)
	} else if m.model, err = simgit.New(root); err == nil {
		m.program = m.model.Run
	}
	if err != nil {
		return err
	}
	m.git = git.Of(m.program).With(simgit.Identity...).Synced()
	m.disk.MkdirAll(filepath.Join(root, ".concerto"))
	m.disk.View(power{m})
	first := m.commit("", "base", "shared", "base\n")
	for _, branch := range []string{"main", "work"} {
		m.run("", "update-ref", "refs/heads/"+branch, first)
	}
	m.run("", "push", "--quiet", "origin", first+":"+targetRef)
	m.merges.users = append(m.merges.users, first)
	m.look()
	return nil
}

var _ simdisk.Process = power{}

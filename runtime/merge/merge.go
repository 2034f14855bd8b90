// Package merge merges the changes of workspaces into a branch after they have passed a gate, one
// by one or in a queue (spec/43-merging.md). Nothing is checked out to merge, except in worktrees
// of its own, and the branch moves only by `git update-ref` with the expected old value.
//
// Every step is recorded before it runs, so that the next process finds out whether it happened.
package merge

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/internal/text/suggest"
	"github.com/concerto-lang/concerto/runtime/workspace"
	"github.com/concerto-lang/concerto/runtime/world/sqlitestore"
)

// Config contains the settings of [merge.X] in the manifest.
type Config struct {
	Into            string     `json:"into"`         // by default X
	Gate            [][]string `json:"gate"`         // nil for that of [workspace]
	GateTimeout     float64    `json:"gate_timeout"` // in seconds; 0 for that of [workspace]
	Batch           int        `json:"batch"`
	Retry           int        `json:"retry"`
	Method          string     `json:"method"`      // merge or squash
	CheckedOut      string     `json:"checked_out"` // refuse or update
	RemoveWorkspace *bool      `json:"remove_workspace"`
	Push            string     `json:"push"` // a remote, or ""
	Via             string     `json:"via"`  // local or pull-request
	File            string     `json:"file"` // relative to the manifest
	PullRequest     Commands   `json:"pull_request"`
}

// Commands are the commands of [merge.X.pull_request].
type Commands struct {
	Create []string `json:"create"`
	Find   []string `json:"find"`
}

// defaultFile is the database of queues without the key file.
const defaultFile = ".concerto/merge.db"

// Options configures New.
type Options struct {
	Store       *workspace.Store
	Gate        [][]string // of [workspace]; nil without one
	GateTimeout float64
	Queues      map[string]Config // [merge.X] by name
	Log         func(line string) // nil for none
	// On contains the disk of the databases; its zero value means the real one.
	On sqlitestore.Options
	// Step is called before each step that changes something; nil for none. Tests stop there.
	Step func(name string)
}

// AddQueue adds the queue in the JSON of [merge.NAME].
func (o *Options) AddQueue(name string, text json.RawMessage) error {
	var c Config
	if err := json.Unmarshal(text, &c); err != nil {
		return fmt.Errorf("could not read [merge.%s]: %w", name, err)
	}
	if o.Queues == nil {
		o.Queues = map[string]Config{}
	}
	o.Queues[name] = c
	return nil
}

// Commands returns the commands that a merge may start, besides git: those of its gate, unless a
// function replaces it, and those for pull requests. queue is "" for a merge of one workspace.
func (o *Options) Commands(queue, into string, gate bool) (all [][]string) {
	r := o.rulesFor(into)
	if queue != "" {
		r = o.rulesOf(queue, o.Queues[queue])
	}
	if gate {
		all = append(all, r.Gate...)
	}
	if r.proposes() {
		for _, command := range [][]string{r.PullRequest.Create, r.PullRequest.Find} {
			if len(command) > 0 {
				all = append(all, command)
			}
		}
	}
	return all
}

// Gate replaces the commands of a gate. It receives the worktree with the merged result. An error
// means that the result must not be merged.
type Gate func(ctx context.Context, w *workspace.Workspace) error

// Merges merges the changes of a manifest's workspaces. It is safe for concurrent use. The caller
// must call Close.
type Merges struct {
	o    Options
	step func(name string) // Options.Step

	mu    sync.Mutex
	files map[string]*database
}

// New returns the merges of a manifest. It opens no file, and does not need git.
func New(o Options) *Merges {
	if o.Log == nil {
		o.Log = func(string) {}
	}
	if o.Step == nil {
		o.Step = func(string) {}
	}
	return &Merges{o: o, step: o.Step, files: map[string]*database{}}
}

// Close closes the databases.
func (m *Merges) Close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, d := range m.files {
		_ = d.file.Close() // every transaction is on disk
	}
	clear(m.files)
}

// Queue returns the queue of [merge.NAME].
func (m *Merges) Queue(name string) (*Queue, error) {
	c, ok := m.o.Queues[name]
	if ok {
		c.Into = cmp.Or(c.Into, name)
		return &Queue{m: m, rules: m.o.rulesOf(name, c)}, nil
	}
	e := fail(workspace.BadName, "there is no merge queue %s", name)
	names := slices.Sorted(maps.Keys(m.o.Queues))
	if near := suggest.Nearest(name, names); near != "" {
		e.Hint = "did you mean " + near + "?"
	} else {
		e.Hint = "add [merge." + name + "] to the manifest"
	}
	return nil, e
}

// rules are the settings of merges into a branch. name is the queue's, or represents it in the
// names of files.
type rules struct {
	Config
	name    string
	timeout time.Duration // of each command of the gate
}

// rulesOf returns the settings of [merge.X] with their defaults.
func (o *Options) rulesOf(name string, c Config) rules {
	if c.Gate == nil {
		c.Gate = o.Gate
	}
	c.Batch, c.File = cmp.Or(c.Batch, 8), cmp.Or(c.File, defaultFile)
	if c.Method == "squash" {
		c.Batch = 1
	}
	seconds := cmp.Or(c.GateTimeout, o.GateTimeout, 1800)
	return rules{Config: c, name: name, timeout: time.Duration(seconds * float64(time.Second))}
}

// rulesFor returns the settings for a merge of one workspace into a branch: those of the queue with
// its name, or else of the first one that merges into it.
func (o *Options) rulesFor(into string) rules {
	var c Config
	for _, name := range append([]string{into}, slices.Sorted(maps.Keys(o.Queues))...) {
		if _, ok := o.Queues[name]; !ok {
			continue
		}
		if x := o.Queues[name]; cmp.Or(x.Into, name) == into {
			c = x
			break
		}
	}
	c.Into = into
	return o.rulesOf(strings.ReplaceAll(into, "/", "-"), c)
}

// ref returns the full name of the target's ref.
func (r *rules) ref() string { return "refs/heads/" + r.Into }

// remote returns the remote to which branches of pull requests are pushed.
func (r *rules) remote() string { return cmp.Or(r.Push, "origin") }

// proposes reports whether changes become pull requests.
func (r *rules) proposes() bool { return r.Via == "pull-request" }

// checkGate returns an error if there is no gate.
func (r *rules) checkGate() error {
	if r.Gate != nil {
		return nil
	}
	e := fail(workspace.NoGate, "no gate is configured for merges into %s", r.Into)
	e.Hint = "set `gate` in [workspace], or `gate = []` to merge without one"
	return e
}

// database returns an open database of queues.
func (m *Merges) database(file string) (*database, error) {
	path := filepath.FromSlash(file)
	if !filepath.IsAbs(path) {
		path = filepath.Join(m.o.Store.Root(), path)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if d := m.files[path]; d != nil {
		return d, nil
	}
	if err := m.prepare(); err != nil {
		return nil, workspace.Failure(err, "", "create the directory "+m.home())
	}
	d, err := openDatabase(path, m.o.On)
	if err != nil {
		return nil, err
	}
	m.files[path] = d
	return d, nil
}

// fail returns an error with a code.
func fail(code workspace.Code, format string, args ...any) *workspace.Error {
	return &workspace.Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

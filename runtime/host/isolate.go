package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/runtime/workspace"
)

// A host with isolate has a process and a directory of its own for each exchange.
// The directory is removed at the end unless something changed in it. Who goes on with
// a conversation gets the directory in which it was.

// Isolation says where exchanges work.
type Isolation struct {
	Isolate string `json:"isolate"` // "copy" or "worktree": each has a directory of its own, in Root; "" and "none": it has not
	Root    string `json:"-"`       // the manifest's directory

	Original string `json:"-"` // the working directory of which Dir is a copy; "" where it is none
}

// isolated says that each exchange has a directory of its own.
func (c *Config) isolated() bool { return c.Isolate != "" && c.Isolate != "none" }

// workplaces are where a host's conversations have worked.
type workplaces struct {
	mu   sync.Mutex
	made int
	by   map[string]workplace // by the conversation's name
	live map[*process]struct{}
}

// workplace is a directory of a conversation: one that is kept, or a name that is free for it.
type workplace struct {
	Host    string `json:"host"`
	Session string `json:"session"`
	Name    string `json:"-"`
	Dir     string `json:"dir"` // relative to that of the tasks
	Branch  string `json:"branch,omitempty"`
	kept    bool
}

// work gives the configuration of a process for one exchange, and its directory.
func (h *Hosts) work(ctx context.Context, c *Config, session string) (*Config, *workspace.Dir, error) {
	if err := c.checkDir(); err != nil {
		return nil, nil, err
	}
	at, err := c.placeOf()
	if err != nil {
		return nil, nil, c.failure("cannot be isolated: %v", err)
	}
	at.Environ = h.opts.Environ
	if err := h.pools[c.Name].places.settle(ctx, session); err != nil {
		return nil, nil, err
	}
	name := ""
	if was, ok := h.pools[c.Name].places.find(session, c, &at); ok {
		if was.kept {
			return c.in(workspace.Kept(was.Name, was.Dir, was.Branch, at))
		}
		name = was.Name
	}
	if name == "" {
		name = h.taskName(c)
	}
	ctx, cancel := h.untilClosing(ctx)
	defer cancel()
	d, err := workspace.Make(ctx, c.Isolate, name, at)
	switch {
	case errors.Is(err, workspace.ErrNoRepository):
		return nil, nil, c.failure(`cannot be isolated: %v, which isolate = "worktree" of [hosts.%s] needs: make it one by git init, or copy by isolate = "copy"`, err, c.Connector)
	case ctx.Err() != nil:
		return nil, nil, context.Cause(ctx)
	case err != nil:
		return nil, nil, c.failure("cannot be isolated: %v", err)
	}
	return c.in(d)
}

// in is the configuration of a process that works in a directory.
func (c *Config) in(d *workspace.Dir) (*Config, *workspace.Dir, error) {
	own := *c
	own.Dir, own.Original = d.Path, c.Dir
	return &own, d, nil
}

// placeOf is what directories of the host's are made of.
func (c *Config) placeOf() (workspace.Place, error) {
	root, err := filepath.Abs(c.Root)
	if err != nil {
		return workspace.Place{}, err
	}
	from, err := filepath.Abs(c.Dir)
	return workspace.Place{Root: root, From: from}, err
}

// taskName names a directory: RUN-HOST-N.
func (h *Hosts) taskName(c *Config) string {
	p := &h.pools[c.Name].places
	p.mu.Lock()
	defer p.mu.Unlock()
	p.made++
	run := "run"
	if h.opts.Run != nil {
		run = h.opts.Run.ID
	}
	return fmt.Sprintf("%s-%s-%d", run, c.Name, p.made)
}

// untilClosing is ctx that also ends when Close is called.
func (h *Hosts) untilClosing(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-h.closing:
			cancel(ErrClosed)
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(context.Canceled) }
}

// tellPlace puts where the work was done into a result.
func (p *process) tellPlace(m *effect.HostMessage) {
	all := m.Payload.Map()
	all.SetString("work_dir", value.String(p.work.Path))
	if p.work.Branch != "" {
		all.SetString("branch", value.String(p.work.Branch))
	}
}

// leaveWork ends the directory of a process that has ended.
func (p *process) leaveWork() {
	h, c := p.hosts, p.cfg
	defer h.pools[c.Name].places.over(p)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		select {
		case <-h.kill:
			cancel()
		case <-ctx.Done():
		}
	}()
	kept, err := p.work.End(ctx)
	if err != nil {
		h.remark("warn", c, "leaves %s: %v", p.work.Shown(), err)
	} else if kept {
		on := ""
		if p.work.Branch != "" {
			on = ", on branch " + p.work.Branch
		}
		h.remark("info", c, "has changed files: %s is kept%s", p.work.Shown(), on)
	}
	if session := p.conversation(); session != "" {
		if err := h.pools[c.Name].places.note(workplace{Host: c.Name, Session: session, Name: p.work.Name, Dir: p.work.Path, Branch: p.work.Branch, kept: kept}, p.work); err != nil {
			h.remark("warn", c, "cannot note where its session %s worked: %v", session, err)
		}
	}
}

// settle waits until it is known what becomes of a conversation's directory: a process
// that has told its result, or has died, may yet be ending.
func (p *workplaces) settle(ctx context.Context, session string) error {
	if session == "" {
		return nil
	}
	p.mu.Lock()
	var ending []*process
	for o := range p.live {
		if o.conversation() == session && !o.usable() {
			ending = append(ending, o)
		}
	}
	p.mu.Unlock()
	for _, o := range ending {
		select {
		case <-o.stages.gone:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-o.hosts.closing:
			return ErrClosed
		}
	}
	return nil
}

func (p *workplaces) begin(o *process) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.live == nil {
		p.live = map[*process]struct{}{}
	}
	p.live[o] = struct{}{}
}

func (p *workplaces) over(o *process) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.live, o)
}

// find gives the place of a conversation, of this run or of one before.
func (p *workplaces) find(session string, c *Config, at *workspace.Place) (workplace, bool) {
	if session == "" {
		return workplace{}, false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if was, ok := p.by[session]; ok {
		return was, true
	}
	files, _ := os.ReadDir(at.Tasks())
	for _, f := range files {
		name, isNote := strings.CutSuffix(f.Name(), noteSuffix)
		if !isNote {
			continue
		}
		var was workplace
		text, err := os.ReadFile(filepath.Join(at.Tasks(), f.Name()))
		if err != nil || json.Unmarshal(text, &was) != nil || was.Host != c.Name || was.Session != session {
			continue
		}
		was.Name = name
		was.Dir, was.kept = filepath.Join(at.Tasks(), was.Dir), true
		if info, err := os.Stat(was.Dir); err == nil && info.IsDir() {
			return was, true
		}
	}
	return workplace{}, false
}

// noteSuffix ends the name of the file that says whose conversation worked in a
// directory that is kept.
const noteSuffix = ".json"

// note remembers a place, in a file as well when it is kept.
func (p *workplaces) note(was workplace, d *workspace.Dir) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.by == nil {
		p.by = map[string]workplace{}
	}
	p.by[was.Session] = was
	if !was.kept {
		return nil
	}
	tasks := d.Tasks()
	rel, err := filepath.Rel(tasks, was.Dir)
	if err != nil {
		return err
	}
	was.Dir = rel
	text, err := json.Marshal(was)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(tasks, was.Name+noteSuffix), append(text, '\n'), 0o644)
}

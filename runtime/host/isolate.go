package host

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/internal/process/procgroup"
	"github.com/concerto-lang/concerto/runtime/workspace"
)

// A host with isolate starts a new process in a new directory for each exchange. The directory is
// removed afterwards unless a file in it has changed. An exchange that continues a session works in
// the directory of that session.

// Isolation configures the directories of exchanges.
type Isolation struct {
	// "copy" or "worktree": each exchange has a directory below Root; "" and "none": all exchanges
	// share the working directory
	Isolate   string              `json:"isolate"`
	Workspace workspace.Worktrees `json:"workspace"` // settings of worktrees
	Root      string              `json:"-"`         // the manifest's directory

	Original string `json:"-"` // the working directory of which Dir is a copy; "" if Dir is not a copy
}

// isolated reports whether each exchange has a directory of its own.
func (c *Config) isolated() bool { return c.Isolate != "" && c.Isolate != "none" }

// workDirs holds the directories of a host's sessions.
type workDirs struct {
	mu        sync.Mutex
	made      int
	bySession map[string]workDir
	live      map[*process]struct{}
}

// workDir is the directory of a session: either an existing directory, or the name for a new one.
type workDir struct {
	host, Name, Dir, Branch string
	remains                 bool
}

// makeWorkDir returns the configuration and the directory of a process for one exchange.
func (h *Hosts) makeWorkDir(ctx context.Context, c *Config, session string) (*Config, workspace.Directory, error) {
	if err := c.checkDir(); err != nil {
		return nil, nil, err
	}
	if inPage || h.opts.Directories == nil {
		return nil, nil, c.errorf("cannot be isolated by this program")
	}
	at, err := c.workspacePlace()
	if err != nil {
		return nil, nil, c.errorf("cannot be isolated: %v", err)
	}
	at.Environ, at.Worktrees, at.Processes = h.opts.Environ, c.Workspace, h.opts.Run
	at.CommandEnviron, _ = procgroup.Inherit{Pass: c.PassEnv, Keys: c.Keys}.Of(h.opts.Environ)
	at.Log = func(line string) { h.opts.Logf("debug", line) }
	if err := h.pools[c.Name].workDirs.awaitEnding(ctx, session); err != nil {
		return nil, nil, err
	}
	name := ""
	if was, ok := h.findDir(session, c, at); ok {
		if was.remains {
			return c.inDir(h.opts.Directories.Reopen(was.Name, was.Dir, was.Branch, at))
		}
		name = was.Name
	}
	if name == "" {
		name = h.taskName(c)
	}
	ctx, cancel := h.withClosing(ctx)
	defer cancel()
	d, err := h.opts.Directories.Make(ctx, c.Isolate, name, at)
	switch {
	case errors.Is(err, workspace.ErrNoRepository):
		return nil, nil, c.errorf(`cannot be isolated: %v, but isolate = "worktree" of [hosts.%s] requires one: run git init, or use isolate = "copy"`, err, c.Connector)
	case ctx.Err() != nil:
		return nil, nil, context.Cause(ctx)
	case err != nil:
		return nil, nil, c.errorf("cannot be isolated: %v", err)
	}
	return c.inDir(d)
}

// inDir returns the configuration of a process that works in d.
func (c *Config) inDir(d workspace.Directory) (*Config, workspace.Directory, error) {
	own := *c
	own.Original = c.Dir
	_, own.Dir, _ = d.Names()
	return &own, d, nil
}

// inWorkspace returns the configuration and the directory of a process that works in a workspace of
// the program.
func (h *Hosts) inWorkspace(ctx context.Context, c *Config, name string) (*Config, workspace.Directory, error) {
	if inPage || h.opts.Directories == nil {
		return nil, nil, c.errorf("cannot work in the workspace %s: this program has no workspaces", name)
	}
	d, err := h.opts.Directories.Use(ctx, name)
	if known, ok := errors.AsType[*workspace.Error](err); ok {
		return nil, nil, c.errorf("cannot work in the workspace %s: %v", name, err).With("code", string(known.Code))
	}
	if err != nil {
		return nil, nil, err
	}
	return c.inDir(d)
}

// conversationOf returns the conversation that an exchange continues: in a workspace, that of the
// last exchange there, unless another exchange continues it now.
func (s *slot) conversationOf(r *effect.ExchangeOpen) string {
	if r.Workspace == "" || r.Session != "" {
		return r.Session
	}
	if p := s.proc; p != nil && p.isUsable() && p.workspace == r.Workspace {
		if p.translation == nil && !p.announced.resumes {
			return "" // the process continues its conversation by itself
		}
		return p.sessionName()
	}
	h := s.pool.hosts
	if h.opts.Directories == nil || !s.canResume() {
		return ""
	}
	last := h.opts.Directories.Session(r.Workspace, s.pool.cfg.Name)
	if last != "" && h.isInConversation(s.pool.cfg.Name, last) {
		return ""
	}
	return last
}

// isInConversation reports whether a process of the host has a conversation.
func (h *Hosts) isInConversation(name, session string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for p := range h.processes {
		if p.cfg.Name == name && p.sessionName() == session {
			return true
		}
	}
	return false
}

// saveConversation records the conversation of a process that works in a workspace.
func (p *process) saveConversation() {
	session := p.sessionName()
	if session == "" || p.hosts.opts.Directories.Session(p.workspace, p.cfg.Name) == session {
		return
	}
	if err := p.workDir.SaveSession(p.cfg.Name, session); err != nil {
		p.hosts.logf("warn", p.cfg, "could not record its session %s in the workspace %s: %v", session, p.workspace, err)
	}
}

// LeaveWorkspace ends the idle processes that work in a workspace. It returns the name of a host
// whose exchange there has not ended, or "".
func (h *Hosts) LeaveWorkspace(ctx context.Context, name string) (busy string, err error) {
	h.mu.Lock()
	var all []*process
	for p := range h.processes {
		if p.workspace != name {
			continue
		}
		if !p.lifecycle.isIdle() {
			busy = p.cfg.Name
		}
		all = append(all, p)
	}
	h.mu.Unlock()
	if busy != "" {
		return busy, nil
	}
	for _, p := range all {
		p.retire(idlePatience)
	}
	for _, p := range all {
		select {
		case <-p.stages.terminated:
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	}
	return "", nil
}

// workspacePlace returns where the host's directories are created.
func (c *Config) workspacePlace() (workspace.Place, error) {
	root, err := filepath.Abs(c.Root)
	if err != nil {
		return workspace.Place{}, err
	}
	from, err := filepath.Abs(c.Dir)
	return workspace.Place{Root: root, From: from}, err
}

// taskName returns a new directory name: RUN-HOST-N.
func (h *Hosts) taskName(c *Config) string {
	p := &h.pools[c.Name].workDirs
	p.mu.Lock()
	defer p.mu.Unlock()
	p.made++
	run := "run"
	if h.opts.Run != nil {
		run = h.opts.Run.ID
	}
	return fmt.Sprintf("%s-%s-%d", run, c.Name, p.made)
}

// withClosing returns a copy of ctx that is also cancelled when Close is called.
func (h *Hosts) withClosing(ctx context.Context) (context.Context, context.CancelFunc) {
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

// addWorkDir adds the directory of the work to a result, and the branch and the name of its
// workspace.
func (p *process) addWorkDir(m *effect.HostMessage) {
	all := m.Payload.Map()
	name, path, branch := p.workDir.Names()
	all.SetString("work_dir", value.String(path))
	if branch != "" {
		all.SetString("branch", value.String(branch))
		all.SetString("workspace", value.String(name))
	}
}

// endWorkDir runs after a process has exited. It removes the process's directory if no file in it
// has changed.
func (p *process) endWorkDir() {
	h, c := p.hosts, p.cfg
	defer h.pools[c.Name].workDirs.removeLive(p)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		select {
		case <-h.kill:
			cancel()
		case <-ctx.Done():
		}
	}()
	if p.workspace != "" {
		p.saveConversation()
		return
	}
	remains, err := p.workDir.End(ctx)
	name, path, branch := p.workDir.Names()
	if err != nil {
		h.logf("warn", c, "leaves %s: %v", workspace.Shown(name), err)
	} else if remains {
		on := ""
		if branch != "" {
			on = ", on branch " + branch
		}
		if c.Workspace.Keep == "always" {
			h.logf("info", c, "leaves %s%s", workspace.Shown(name), on)
		} else {
			h.logf("info", c, "has changed files: %s remains%s", workspace.Shown(name), on)
		}
	}
	if session := p.sessionName(); session != "" {
		if err := h.pools[c.Name].workDirs.saveDir(workDir{c.Name, name, path, branch, remains}, session, p.workDir); err != nil {
			h.logf("warn", c, "could not record the directory of its session %s: %v", session, err)
		}
	}
}

// awaitEnding waits until no process of the session is ending, because only then it is decided
// whether the directory remains.
func (p *workDirs) awaitEnding(ctx context.Context, session string) error {
	if session == "" {
		return nil
	}
	p.mu.Lock()
	var ending []*process
	for o := range p.live {
		if o.sessionName() == session && !o.isUsable() {
			ending = append(ending, o)
		}
	}
	p.mu.Unlock()
	for _, o := range ending {
		select {
		case <-o.stages.terminated:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-o.hosts.closing:
			return ErrClosed
		}
	}
	return nil
}

func (p *workDirs) addLive(o *process) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.live == nil {
		p.live = map[*process]struct{}{}
	}
	p.live[o] = struct{}{}
}

func (p *workDirs) removeLive(o *process) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.live, o)
}

// findDir returns the directory that a session used in this run or in an earlier one.
func (h *Hosts) findDir(session string, c *Config, at workspace.Place) (workDir, bool) {
	p := &h.pools[c.Name].workDirs
	if session == "" {
		return workDir{}, false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if was, ok := p.bySession[session]; ok {
		return was, true
	}
	if d := h.opts.Directories.FindSession(c.Name, session, at); d != nil {
		was := workDir{remains: true}
		was.Name, was.Dir, was.Branch = d.Names()
		return was, true
	}
	return workDir{}, false
}

// saveDir records the directory of a session. If the directory remains, later runs find it.
func (p *workDirs) saveDir(was workDir, session string, d workspace.Directory) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bySession == nil {
		p.bySession = map[string]workDir{}
	}
	p.bySession[session] = was
	if !was.remains {
		return nil
	}
	return d.SaveSession(was.host, session)
}

package host

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/internal/process/procgroup"
	"github.com/concerto-lang/concerto/runtime/keeper"
	"github.com/concerto-lang/concerto/runtime/workspace"
)

// A host with isolate starts a new process in a new directory for each exchange. The directory
// belongs to the exchange, not to a process: in a durable run, its record names the exchange, and
// another process of the run finds it. When the exchange has ended, the directory is removed unless
// a file in it has changed. An exchange that continues a session works in the directory of that
// session.

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

// workDirs holds the directories of a host's exchanges and sessions.
type workDirs struct {
	mu        lock[workDirsLock]
	number    int64             // of the newest directory of the run
	earlier   map[string]string // names of those of earlier processes, by exchange; nil until they are read
	bySession map[string]string // names of the directories of sessions
	live      map[*exchangeDir]struct{}
}

// exchangeDir is the directory of an exchange. It ends when the exchange and the processes that
// work in it have ended.
type exchangeDir struct {
	pool  *pool
	key   string        // of the exchange; "" if the run is not durable
	ended chan struct{} // closed when the directory has ended

	mu      lock[exchangeDirLock]
	users   int                 // the exchange and its processes that have not ended
	dir     workspace.Directory // nil until the first process starts
	process *process            // the newest one
	over    bool                // the exchange has ended
}

// newExchangeDir returns the directory of a new exchange, or nil if the host is not isolated.
func (pl *pool) newExchangeDir(key string) *exchangeDir {
	if !pl.cfg.isolated() {
		return nil
	}
	d := &exchangeDir{pool: pl, key: key, ended: make(chan struct{}), users: 1}
	pl.workDirs.mu.Lock()
	defer pl.workDirs.mu.Unlock()
	if pl.workDirs.live == nil {
		pl.workDirs.live = map[*exchangeDir]struct{}{}
	}
	pl.workDirs.live[d] = struct{}{}
	return d
}

// name returns the name of the directory, or "" if it does not exist.
func (d *exchangeDir) name() string {
	if d == nil {
		return ""
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.dir == nil {
		return ""
	}
	name, _, _ := d.dir.Names()
	return name
}

// addProcess records that a process works in the directory.
func (d *exchangeDir) addProcess(p *process) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.users++
	d.process = p
}

// endExchange notes that the exchange has ended. The directory ends in the background if none of
// its processes is left.
func (d *exchangeDir) endExchange() {
	if d == nil {
		return
	}
	d.mu.Lock()
	d.over = true
	d.mu.Unlock()
	h := d.pool.hosts
	if !h.trackRunning() { // Close waits for its caller
		d.endUse()
		return
	}
	go func() {
		defer h.running.Done()
		d.endUse()
	}()
}

// endUse ends the use of the directory by the exchange or a process.
func (d *exchangeDir) endUse() {
	d.mu.Lock()
	d.users--
	last := d.users == 0
	d.mu.Unlock()
	if last {
		d.end()
	}
}

// belongsToOther reports whether another process of the run continues the exchange: the run is
// suspended, or another process has taken it over.
func (d *exchangeDir) belongsToOther() bool {
	h := d.pool.hosts
	if h.left.Load() {
		return true
	}
	if p := d.process; p == nil || p.keeper.conn == nil || !p.lifecycle.isLost() {
		return false
	}
	_, err := h.opts.Keeper.Attach()
	return !errors.Is(err, keeper.ErrNone)
}

// end removes the directory if no file in it has changed.
func (d *exchangeDir) end() {
	defer close(d.ended)
	defer d.pool.workDirs.remove(d)
	if inPage || d.dir == nil {
		return
	}
	if d.belongsToOther() {
		d.dir.Leave()
		return
	}
	h, c := d.pool.hosts, d.pool.cfg
	ctx := h.kill.Context
	name, _, branch := d.dir.Names()
	if session := d.session(); session != "" {
		if err := d.dir.SaveSession(c.Name, session); err != nil {
			h.logf("warn", c, "could not record the directory of its session %s: %v", session, err)
		}
		d.pool.workDirs.setSession(session, name)
	}
	remains, err := d.dir.End(ctx)
	switch on := ", on branch " + branch; {
	case err != nil:
		h.logf("warn", c, "leaves %s: %v", workspace.Shown(name), err)
	case !remains:
	default:
		if branch == "" {
			on = ""
		}
		if c.Workspace.Keep == "always" {
			h.logf("info", c, "leaves %s%s", workspace.Shown(name), on)
		} else {
			h.logf("info", c, "has changed files: %s remains%s", workspace.Shown(name), on)
		}
	}
}

// session returns the session of the newest process in the directory, or "".
func (d *exchangeDir) session() string {
	if d.process == nil {
		return ""
	}
	return d.process.sessionName()
}

// makeWorkDir returns the configuration and the directory of a process for an exchange.
func (h *Hosts) makeWorkDir(ctx context.Context, c *Config, w *acquireSpec) (*Config, workspace.Directory, error) {
	if w.dir.dir != nil { // an earlier process of the exchange has worked in it
		return c.inDir(w.dir.dir)
	}
	if err := c.checkDir(); err != nil {
		return nil, nil, err
	}
	if inPage || h.opts.Directories == nil {
		return nil, nil, c.errorf("cannot be isolated by this program")
	}
	at, err := h.workspacePlace(c)
	if err != nil {
		return nil, nil, c.errorf("cannot be isolated: %v", err)
	}
	if err := w.dir.pool.workDirs.awaitEnding(ctx, w.session); err != nil {
		return nil, nil, err
	}
	ctx, cancel := h.closing.bound(ctx)
	defer cancel()
	d, err := h.findWorkDir(ctx, c, w, at)
	known, _ := errors.AsType[*workspace.Error](err)
	switch {
	case errors.Is(err, workspace.ErrNoRepository):
		return nil, nil, c.errorf(`cannot be isolated: %v, but isolate = "worktree" of [hosts.%s] requires one: run git init, or use isolate = "copy"`, err, c.Connector)
	case err != nil && ctx.Err() != nil:
		return nil, nil, context.Cause(ctx)
	case known != nil:
		return nil, nil, c.errorf("cannot be isolated: %v", err).With("code", string(known.Code))
	case err != nil:
		return nil, nil, c.errorf("cannot be isolated: %v", err)
	}
	w.dir.mu.Lock()
	w.dir.dir = d
	w.dir.mu.Unlock()
	return c.inDir(d)
}

// findWorkDir returns the directory of an exchange: its own, if an earlier process of the run has
// created it, that of the session which it continues, or a new one.
func (h *Hosts) findWorkDir(ctx context.Context, c *Config, w *acquireSpec, at workspace.Place) (workspace.Directory, error) {
	dirs, x := &w.dir.pool.workDirs, workspace.Exchange{Host: c.Name, Key: w.dir.key}
	name := dirs.find(w.dir, w.session)
	if name != "" {
		d, err := h.opts.Directories.Adopt(ctx, name, x, at)
		if known, ok := errors.AsType[*workspace.Error](err); !ok || known.Code != workspace.Missing {
			return d, err
		}
	}
	for {
		if name == "" {
			name = dirs.nextName(h.runID(), c.Name)
		}
		d, err := h.opts.Directories.Make(ctx, c.Isolate, name, x, at)
		if !errors.Is(err, workspace.ErrExists) {
			return d, err
		}
		name = ""
	}
}

// adopt makes d the directory with a name, which an earlier process of the run has created.
func (d *exchangeDir) adopt(name string) error {
	h, c := d.pool.hosts, d.pool.cfg
	at, err := h.workspacePlace(c)
	if err != nil {
		return err
	}
	dir, err := h.opts.Directories.Adopt(context.Background(), name, workspace.Exchange{Host: c.Name, Key: d.key}, at)
	if err == nil {
		d.dir = dir
	}
	return err
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

// runGate performs a gate of an exchange whose last turn has ended.
func runGate(ctx context.Context, h *Hosts, r *effect.ExchangeGate) (*effect.GateOutput, error) {
	ex, err := h.lookupExchange(r.ID)
	if err != nil {
		return nil, err
	}
	c := ex.pool.cfg
	if inPage || h.opts.Directories == nil {
		return nil, c.errorf("cannot run its gate: this program starts no commands")
	}
	dir, err := ex.workDir(ctx)
	if err != nil {
		return nil, err
	}
	environ := []string{"CONCERTO_GATE=" + c.Name, "CONCERTO_GATE_KEY=" + effect.KeyOf(ctx)}
	out, err := h.opts.Directories.Prove(ctx, dir, r, environ)
	if err != nil && ctx.Err() == nil {
		return nil, c.errorf("cannot run its gate: %v", err)
	}
	return out, err
}

// workDir returns the directory in which the host works on the exchange.
func (ex *exchange) workDir(ctx context.Context) (string, error) {
	if p := ex.currentProcess(); p != nil {
		return p.cfg.Dir, nil
	}
	c := ex.pool.cfg
	switch {
	case ex.workspace != "":
		own, d, err := ex.pool.hosts.inWorkspace(ctx, c, ex.workspace)
		if err != nil {
			return "", err
		}
		d.Leave()
		return own.Dir, nil
	case ex.dir != nil && ex.dir.dir != nil:
		_, path, _ := ex.dir.dir.Names()
		return path, nil
	}
	return c.Dir, nil
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
		p.retire(closeInputWait)
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

// workspacePlace returns where the host's directories are created, and how.
func (h *Hosts) workspacePlace(c *Config) (workspace.Place, error) {
	root, err := filepath.Abs(c.Root)
	if err != nil {
		return workspace.Place{}, err
	}
	from, err := filepath.Abs(c.Dir)
	at := workspace.Place{Root: root, From: from, Run: h.runID(), Environ: h.opts.Environ, Worktrees: c.Workspace, Processes: h.opts.Run}
	at.CommandEnviron, _ = procgroup.Inherit{Pass: c.PassEnv, Keys: c.Keys}.Of(h.opts.Environ)
	at.Log = func(line string) { h.opts.Log("debug", line) }
	return at, err
}

// runID returns the id of the run, or "run".
func (h *Hosts) runID() string {
	if h.opts.Run == nil {
		return "run"
	}
	return h.opts.Run.ID
}

// CountEarlier counts exchanges of a host that earlier processes of the run have opened. The
// numbers of directories continue after them.
func (h *Hosts) CountEarlier(host string, exchanges int64) {
	if pl := h.pools[host]; pl != nil {
		pl.workDirs.mu.Lock()
		defer pl.workDirs.mu.Unlock()
		pl.workDirs.number += exchanges
	}
}

// nextName returns the next name for a new directory: RUN-HOST-N.
func (p *workDirs) nextName(run, host string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.number++
	return fmt.Sprintf("%s-%s-%d", run, host, p.number)
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

// endWorkDir runs after a process has exited.
func (p *process) endWorkDir() {
	switch {
	case p.workspace != "":
		p.saveConversation()
	case p.dir != nil:
		p.dir.endUse()
	}
}

// awaitEnding waits until no exchange of the session is ending, because only then it is decided
// whether the directory remains.
func (p *workDirs) awaitEnding(ctx context.Context, session string) error {
	if session == "" {
		return nil
	}
	var ending []*exchangeDir
	p.mu.Lock()
	for d := range p.live {
		d.mu.Lock()
		if (d.over || d.process != nil && !d.process.isUsable()) && d.session() == session {
			ending = append(ending, d)
		}
		d.mu.Unlock()
	}
	p.mu.Unlock()
	for _, d := range ending {
		select {
		case <-d.ended:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-d.pool.hosts.closing.Done():
			return ErrClosed
		}
	}
	return nil
}

// leave releases the directories of all open exchanges.
func (p *workDirs) leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for d := range p.live {
		d.mu.Lock()
		if d.dir != nil && !d.over {
			d.dir.Leave()
		}
		d.mu.Unlock()
	}
}

func (p *workDirs) remove(d *exchangeDir) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.live, d)
}

// find returns the name of the directory of an exchange, or "" for a new one.
func (p *workDirs) find(d *exchangeDir, session string) string {
	h, c := d.pool.hosts, d.pool.cfg
	at, err := h.workspacePlace(c)
	if err != nil {
		return "" // its creation fails
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if d.key != "" {
		if p.earlier == nil {
			p.earlier = h.opts.Directories.Owned(c.Name, at)
		}
		if name := p.earlier[d.key]; name != "" {
			return name
		}
	}
	if session == "" {
		return ""
	}
	if name := p.bySession[session]; name != "" {
		return name
	}
	return h.opts.Directories.FindSession(c.Name, session, at)
}

// setSession records the directory of a session, which may no longer exist.
func (p *workDirs) setSession(session, name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bySession == nil {
		p.bySession = map[string]string{}
	}
	p.bySession[session] = name
}

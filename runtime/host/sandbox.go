package host

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/internal/process/procgroup"
	"github.com/concerto-lang/concerto/internal/process/sandbox"
	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
	"github.com/concerto-lang/concerto/internal/text/ndjson"
	"github.com/concerto-lang/concerto/runtime/host/jsonobject"
	"github.com/concerto-lang/concerto/runtime/keeper"
	"github.com/concerto-lang/concerto/runtime/workspace"
)

// Sandbox is the section [hosts.X.sandbox]: what the processes of a host may access.
type Sandbox struct {
	Net Network `json:"net"` // nil means the whole network
	sandbox.Settings

	codex string // the value of a key `sandbox` that is a text, which is Codex's own setting
}

// Network contains the addresses that a host may reach. In JSON it may also be true or false.
type Network []string

func (n *Network) UnmarshalJSON(text []byte) error {
	var all bool
	if json.Unmarshal(text, &all) == nil {
		if *n = nil; !all {
			*n = Network{}
		}
		return nil
	}
	return json.Unmarshal(text, (*[]string)(n))
}

// UnmarshalJSON parses the section. A text is Codex's own setting, in programs that were compiled
// before there was a section.
func (s *Sandbox) UnmarshalJSON(text []byte) error {
	if bytes.HasPrefix(bytes.TrimSpace(text), []byte{'"'}) {
		return json.Unmarshal(text, &s.codex)
	}
	type plain Sandbox
	return json.Unmarshal(text, (*plain)(s))
}

// applySandbox applies the parts of the section that concern other settings.
func (c *Config) applySandbox() {
	switch s := c.Access.Sandbox; {
	case s == nil:
	case s.codex != "":
		c.Vendor.Sandbox, c.Access.Sandbox = s.codex, nil
	case runtime.GOOS == "linux" || s.Missing != sandbox.MissingWarn:
		c.Bounds.restrict(s.Limits())
	}
}

// Sandboxes starts processes in sandboxes. hostsandbox.Sandboxes implements it. It is an interface
// so that a program whose hosts have no sandboxes does not link them.
type Sandboxes interface {
	// Confine returns the confinement of a process, and the features that it needs and this system
	// lacks. The confinement needs only features that exist.
	Confine(r *SandboxRequest) (c *sandbox.Confinement, lacks []string, err error)
	// Start is like procgroup.Run.Start. The process runs in the confinement. blocked is called
	// with each address that the process may not reach, once.
	Start(run *procgroup.Run, c procgroup.Command, s *sandbox.Confinement, blocked func(address string)) (*procgroup.Process, error)
}

// SandboxRequest describes a process that is about to start.
type SandboxRequest struct {
	Config  *Config
	Path    string            // of its program
	Environ []string          // as "NAME=value"
	Run     *procgroup.Run    // that it will belong to
	Layout  *workspace.Layout // of the worktree in which it works; nil for none
	Bridge  string            // path of the socket of its bridge to the tools; "" for none
}

// box is the sandbox of a process.
type box struct {
	Confinement *sandbox.Confinement `json:"confinement"`
	Lacks       []string             `json:"lacks,omitempty"`
	Layout      *workspace.Layout    `json:"layout,omitempty"`
}

// confine determines the sandbox of a process with the command line of run.
func (p *process) confine(run *Config, env []string) error {
	c, h := p.cfg, p.hosts
	if c.Access.Sandbox == nil {
		return nil
	}
	if inPage || h.opts.Sandboxes == nil {
		return c.sandboxError(errors.New("this program has no sandboxes"))
	}
	if run.Command == "" || c.checkDir() != nil {
		return nil // the start fails with the reason
	}
	path, err := procgroup.Find(run.Command, run.Dir, env)
	if err != nil {
		return nil // the same
	}
	b := &box{}
	if p.workDir != nil {
		if b.Layout, err = p.workDir.Layout(context.Background()); err != nil {
			return c.sandboxError(err)
		}
	}
	b.Confinement, b.Lacks, err = h.opts.Sandboxes.Confine(&SandboxRequest{Config: run, Path: path, Environ: env, Run: h.opts.Run, Layout: b.Layout, Bridge: p.bridgeEntry.Path()})
	if err != nil {
		return c.sandboxError(err)
	}
	if len(b.Lacks) > 0 {
		why := "this system does not support " + strings.Join(b.Lacks, ", ")
		if c.Access.Sandbox.Missing != sandbox.MissingWarn {
			return c.sandboxError(errors.New(why))
		}
		h.pools[c.Name].sandboxOnce.Do(func() { h.logf("warn", c, "runs without a complete sandbox: %s", why) })
	}
	p.box = b
	return nil
}

// sandboxError returns the error of a host that is not started because it cannot be confined.
func (c *Config) sandboxError(err error) *effect.Error {
	e := effect.Errorf("HostError", "cannot sandbox host '%s': %v", c.Name, err).With("host", c.Name).With("code", sandboxCode)
	e.Cause = err
	return e
}

// sandboxCode is the code of errors about sandboxes.
const sandboxCode = "sandbox"

// startCommand starts a command of the process, in its sandbox if it has one.
func (p *process) startCommand(c procgroup.Command) (*procgroup.Process, error) {
	if p.box == nil {
		return p.hosts.opts.Run.Start(c)
	}
	return p.hosts.opts.Sandboxes.Start(p.hosts.opts.Run, c, p.box.Confinement, p.reportBlocked)
}

// confinement returns the confinement of a process; nil without a sandbox.
func (b *box) confinement() *sandbox.Confinement {
	if b == nil {
		return nil
	}
	return b.Confinement
}

// mayAccess returns an error if the sandbox of the process does not contain a file that the process
// asks Concerto to read or write. path is its real path.
func mayAccess(p *process, path string, write bool) error {
	c := p.box.confinement()
	if c == nil || !c.Files {
		return nil
	}
	lists := [][]string{c.Write, c.Read}
	if write {
		lists = lists[:1]
	}
	for _, list := range lists {
		for _, root := range list {
			if real, err := filepath.EvalSymlinks(root); err == nil {
				if rel, err := filepath.Rel(real, path); err == nil && filepath.IsLocal(rel) {
					return nil
				}
			}
		}
	}
	return fmt.Errorf("it is not in [hosts.%s.sandbox]", p.cfg.Connector)
}

// reportBlocked notifies the running exchange of an address that the process may not reach.
func (p *process) reportBlocked(address string) {
	logBlocked(p, address, p.injectNotice(blockedMessage(p.cfg.Name, address)) == "")
}

// logBlocked logs an address that the process may not reach. emitted reports whether an exchange
// was notified of it.
func logBlocked(p *process, address string, emitted bool) {
	level, when := "debug", ""
	if !emitted {
		level, when = "warn", ", while no exchange was running"
	}
	p.hosts.logf(level, p.cfg, "was refused the address %s, which [hosts.%s.sandbox] does not allow%s", address, p.cfg.Connector, when)
}

// blockedMessage returns the message about an address that a host may not reach.
func blockedMessage(host, address string) effect.HostMessage {
	o := jsonobject.New(effect.Blocked)
	o.Text("host", host)
	o.Text("address", address)
	return noticeMessage(o.End())
}

// handleBlocked handles a line of the keeper about a blocked address. It returns false for other
// lines.
func (r *reader) handleBlocked(l ndjson.Line) bool {
	if r.process.box == nil || r.process.keeper.conn == nil {
		return false
	}
	address, ok := keeper.ParseBlockedLine(l.Text)
	if !ok {
		return false
	}
	running := r.isRunning(l)
	logBlocked(r.process, address, running)
	if !running {
		return true
	}
	*r.batch.nextMessage() = blockedMessage(r.process.cfg.Name, address)
	r.batch.commitMessage()
	return true
}

// noticeMessage returns a message that Concerto itself adds to an exchange and that is emitted on
// the channel of its type.
func noticeMessage(text []byte) effect.HostMessage {
	m := mustMessage(text)
	m.Decided = true
	return m
}

// reportUnconfined notifies an exchange that begins of the parts of the sandbox that are missing.
func reportUnconfined(p *process) {
	if p.box == nil || len(p.box.Lacks) == 0 {
		return
	}
	o := jsonobject.New(hostmsg.Progress)
	o.Text("message", "runs without a complete sandbox")
	o.Text("stage", "start")
	o.Raw("unconfined", jsonwrite.MustEncode(p.box.Lacks))
	p.injectMessage(o.End())
}

// guardLink restores the file .git of the worktree of a sandboxed process if the process has
// replaced it. It reports whether that was necessary.
func guardLink(p *process) (restored bool) {
	if p.box == nil || p.box.Layout == nil || !p.box.Confinement.Files {
		return false
	}
	restored, err := p.box.Layout.RestoreLink()
	switch {
	case err != nil:
		p.hosts.logf("warn", p.cfg, "has replaced the file %s, which could not be restored: %v", p.box.Layout.Link(), err)
		return true
	case restored:
		p.hosts.logf("warn", p.cfg, "has replaced the file %s, which was restored", p.box.Layout.Link())
	}
	return restored
}

// guardResult replaces the message that ends an exchange by an error if the host has replaced the
// file .git of its worktree.
func (r *reader) guardResult(m *effect.HostMessage) {
	if r.process.box == nil || !hostmsg.Lookup(m.Type).Terminal() || !guardLink(r.process) {
		return
	}
	o := jsonobject.New(hostmsg.Error)
	o.Text("message", "host '"+r.process.cfg.Name+"' has replaced the file .git of its worktree: it was restored")
	o.Text("code", sandboxCode)
	*m = mustMessage(o.End())
}

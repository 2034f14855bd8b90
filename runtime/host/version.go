package host

import (
	"context"
	"regexp"
	"strings"
	"sync"

	"github.com/concerto-lang/concerto/internal/process/procgroup"
	"github.com/concerto-lang/concerto/internal/process/stderrlog"
	"github.com/concerto-lang/concerto/internal/record/hosttrace"
	"github.com/concerto-lang/concerto/internal/text/ndjson"
	"github.com/concerto-lang/concerto/runtime/host/adapter"
)

// versionCheck is a vendor's program that is asked for its version, once a run.
type versionCheck struct {
	done chan struct{}
	said string // what it said; valid after done
}

func (c *Config) commandLine() string {
	return c.Dir + "\x00" + c.Command + "\x00" + strings.Join(c.Args, "\x00")
}

// checkVersion starts asking a vendor's program for its version, while the program itself
// starts, unless a process with the same command line has asked before. It returns nil when
// the protocol needs no version, and when the hosts are closed.
func (h *Hosts) checkVersion(run *Config, env []string) *versionCheck {
	proto := run.protocol()
	if proto.Oldest == "" {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.configOf(run.Name)
	key := c.commandLine()
	if check := h.versions[key]; check != nil || h.closed {
		return check
	}
	check := &versionCheck{done: make(chan struct{})}
	h.versions[key] = check
	h.running.Add(1)
	go func() {
		defer h.running.Done()
		defer close(check.done)
		check.said = h.askVersion(run.Command, c, env)
		h.record(c, hosttrace.Line{Dir: hosttrace.Fate, Text: hosttrace.VersionIs + check.said})
	}()
	return check
}

func (h *Hosts) configOf(name string) *Config { return h.pools[name].cfg }

// askVersion is the first line of what the program says to --version; "" when it says
// nothing in time.
func (h *Hosts) askVersion(command string, c *Config, env []string) string {
	path, err := procgroup.Find(command, c.Dir, env)
	if err != nil {
		return ""
	}
	p, err := h.opts.Run.Start(procgroup.Command{Name: c.Name, Path: path, Args: append(append([]string(nil), c.Args...), "--version"), Env: env, Dir: c.Dir})
	if err != nil {
		return ""
	}
	_ = p.Stdin.Close() // it reads nothing
	said := make(chan string, 1)
	go func() {
		line, err := ndjson.NewReader(p.Stdout, 1<<16).Next()
		if err != nil {
			line.Text = nil
		}
		said <- string(line.Text)
	}()
	defer p.End(grace, h.kill)
	ctx, cancel := context.WithTimeout(context.Background(), c.initTimeout())
	defer cancel()
	select {
	case line := <-said:
		return strings.TrimSpace(line)
	case <-ctx.Done():
	case <-h.closing:
	}
	return ""
}

var anyVersion = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\d+\.\d+\.\d+`) })

// recent waits for the version of a vendor's program, and fails when it is too old.
func (p *process) recent(ctx context.Context) error {
	proto := p.cfg.protocol()
	if proto.Oldest == "" {
		return nil
	}
	check := p.version
	if check == nil {
		return ErrClosed
	}
	select {
	case <-check.done:
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-p.hosts.closing:
		return ErrClosed
	}
	version := anyVersion().FindString(check.said)
	switch {
	case version == "":
		p.hosts.remark("warn", p.cfg, "does not say its version: %s", stderrlog.Quote([]byte(check.said)))
	case !adapter.Older(version, proto.Oldest):
		p.announced.state.Version = version
	default:
		return p.cfg.failure("is %s %s, and at least %s is needed", proto.Product, version, proto.Oldest).With("code", "version")
	}
	return nil
}

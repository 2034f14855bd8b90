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

// versionCheck runs a vendor's program with --version, at most once in a run.
type versionCheck struct {
	done   chan struct{}
	output string // output of the program; valid after done is closed
}

func (c *Config) commandLine() string {
	return c.Dir + "\x00" + c.Command + "\x00" + strings.Join(c.Args, "\x00")
}

// startFunc starts a process as a part of its run, in its sandbox if it has one.
type startFunc = func(procgroup.Command) (*procgroup.Process, error)

// startVersionCheck starts the version check of a vendor's program in the background, unless one
// with the same command line exists. It returns nil if the protocol has no oldest version, or if
// Close has been called.
func (h *Hosts) startVersionCheck(run *Config, env []string, start startFunc) *versionCheck {
	proto := run.protocol()
	if inPage || proto.Oldest == "" {
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
		check.output = h.runVersionCommand(run.Command, c, env, start)
		h.traceLine(c, hosttrace.Line{Dir: hosttrace.Lifecycle, Text: hosttrace.VersionIs + check.output})
	}()
	return check
}

func (h *Hosts) configOf(name string) *Config { return h.pools[name].cfg }

// runVersionCommand returns the first line that the program prints for --version, or "" if it
// prints no line in time.
func (h *Hosts) runVersionCommand(command string, c *Config, env []string, start startFunc) string {
	path, err := procgroup.Find(command, c.Dir, env)
	if err != nil {
		return ""
	}
	p, err := start(procgroup.Command{Name: c.Name, Path: path, Args: append(append([]string(nil), c.Args...), "--version"), Env: env, Dir: c.Dir})
	if err != nil {
		return ""
	}
	_ = p.Stdin.Close() // the program needs no input
	output := make(chan string, 1)
	go func() {
		line, err := ndjson.NewReader(p.Stdout, 1<<16).NextLine()
		if err != nil {
			line.Text = nil
		}
		output <- string(line.Text)
	}()
	defer p.End(termWait, h.kill.Done())
	ctx, cancel := context.WithTimeout(context.Background(), c.initTimeout())
	defer cancel()
	select {
	case line := <-output:
		return strings.TrimSpace(line)
	case <-ctx.Done():
	case <-h.closing.Done():
	}
	return ""
}

var versionPattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\d+\.\d+\.\d+`) })

// checkVersion waits for the version of a vendor's program, and fails if it is too old.
func (p *process) checkVersion(ctx context.Context) error {
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
	case <-p.hosts.closing.Done():
		return ErrClosed
	}
	version := versionPattern().FindString(check.output)
	switch {
	case version == "":
		p.hosts.logf("warn", p.cfg, "does not report its version: %s", stderrlog.Quote([]byte(check.output)))
	case !adapter.Older(version, proto.Oldest):
		p.announced.result.Version = version
	default:
		return p.cfg.errorf("is %s %s, but at least %s is required", proto.Product, version, proto.Oldest).With("code", "version")
	}
	return nil
}

package host

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/concerto-lang/concerto/internal/process/procgroup"
	"github.com/concerto-lang/concerto/internal/process/sandbox"
	"github.com/concerto-lang/concerto/internal/text/ndjson"
)

// stdio is the transport for hosts that run as subprocesses and communicate over standard input and
// output.
type stdio struct{}

// Connect starts the command in its own process group.
func (stdio) Connect(c *Config, s Surroundings) (Conn, error) {
	if inPage {
		return nil, c.errorf("cannot be started: a page starts no processes")
	}
	if c.Command == "" {
		return nil, c.errorf("has no command: set command in [hosts.%s] of Concerto.toml", c.Connector)
	}
	if err := c.checkDir(); err != nil {
		return nil, err
	}
	path, err := procgroup.Find(c.Command, c.Dir, s.Env)
	if err != nil {
		return nil, c.spawnError(err)
	}
	if s.Keeper != nil {
		return s.Keeper.start(c, &s, path)
	}
	p, err := s.Start(procgroup.Command{Name: c.Name, Path: path, Args: c.Args, Env: s.Env, Dir: c.Dir, Limits: c.Bounds.process(), Stderr: s.Stderr})
	if err != nil {
		return nil, c.spawnError(err)
	}
	return &subprocess{Process: p, lines: ndjson.NewReader(p.Stdout, c.MaxLine)}, nil
}

// checkDir returns an error if the working directory does not exist or is not a directory.
func (c *Config) checkDir() error {
	if c.Dir == "" {
		return nil
	}
	_, err := os.Stat(c.Dir + string(os.PathSeparator) + ".")
	if err == nil {
		return nil
	}
	wrong := "does not exist or is not a directory"
	if errors.Is(err, os.ErrPermission) {
		wrong = "cannot be entered"
	}
	e := c.errorf("cannot be started: command '%s' needs the working directory %s, which %s: check working_dir in [hosts.%s] of Concerto.toml", c.Command, c.Dir, wrong, c.Connector)
	e.Cause = err
	return e
}

// spawnError returns the error for a command that could not be started. The text explains what the
// user should check.
func (c *Config) spawnError(err error) error {
	if x, ok := errors.AsType[*sandbox.Error](err); ok {
		return c.sandboxError(x)
	}
	section := fmt.Sprintf("command in [hosts.%s] of Concerto.toml", c.Connector)
	var why string
	switch {
	case errors.Is(err, procgroup.ErrNotFound) && c.Command != "" && c.Command == c.protocol().Command:
		why = fmt.Sprintf("command '%s' not found: install it (npm install -g %s), or set its path as %s", c.Command, c.protocol().Install, section)
	case errors.Is(err, procgroup.ErrNotFound) && len(strings.Fields(c.Command)) > 1:
		words := strings.Fields(c.Command)
		args := make([]string, 0, len(words)-1+len(c.Args))
		for _, w := range append(words[1:], c.Args...) {
			args = append(args, strconv.Quote(w))
		}
		why = fmt.Sprintf("command '%s' not found: write command = %q and args = [%s] in [hosts.%s] of Concerto.toml", c.Command, words[0], strings.Join(args, ", "), c.Connector)
	case errors.Is(err, procgroup.ErrNotFound):
		why = fmt.Sprintf("command '%s' not found: check %s", c.Command, section)
	case errors.Is(err, procgroup.ErrIsDirectory):
		why = fmt.Sprintf("command '%s' is a directory: check %s", c.Command, section)
	case errors.Is(err, procgroup.ErrNotExecutable), errors.Is(err, os.ErrPermission):
		why = fmt.Sprintf("command '%s' is not executable: run chmod +x, or set its interpreter as %s", c.Command, section)
	case errors.Is(err, syscall.ENOEXEC):
		why = fmt.Sprintf("command '%s' is not a program: add a first line like '#!/bin/sh', or set its interpreter as %s", c.Command, section)
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		why = fmt.Sprintf("command '%s': too many open files: raise the limit (ulimit -n), or run fewer hosts at once", c.Command)
	case errors.Is(err, syscall.EAGAIN):
		why = fmt.Sprintf("command '%s': too many processes: raise the limit (ulimit -u), or run fewer hosts at once", c.Command)
	case errors.Is(err, os.ErrNotExist):
		why = fmt.Sprintf("command '%s' names an interpreter that does not exist: check its first line and %s", c.Command, section)
	default:
		why = fmt.Sprintf("command '%s': %v: check %s", c.Command, err, section)
	}
	e := c.errorf("cannot be started: %s", why)
	e.Cause = err
	return e
}

// subprocess is a connection to a process group.
type subprocess struct {
	*procgroup.Process
	lines *ndjson.Reader
}

func (s *subprocess) ReadLine() (ndjson.Line, error) { return s.lines.NextLine() }

func (s *subprocess) Interrupt() { s.InterruptRead() }

func (s *subprocess) Resume() { s.ResumeRead() }

func (s *subprocess) Ready() bool { return s.lines.Ready() }

func (s *subprocess) BytesSent() int64 { return s.Written() }

func (s *subprocess) Write(b []byte) (int, error) { return s.Stdin.Write(b) }

func (s *subprocess) TryWrite(b []byte) int { return s.WriteNow(b) }

// CloseWrite ignores the error, which only means that the input is already closed.
func (s *subprocess) CloseWrite() { _ = s.Stdin.Close() }

func (s *subprocess) Exit() Exit {
	e := s.Process.Exit()
	return Exit{Code: e.Code, Stderr: e.Stderr, Limit: e.Limit}
}

func (s *subprocess) Stderr() string { return s.Process.Stderr() }

func (s *subprocess) End(grace time.Duration, stop <-chan struct{}) { s.Process.End(grace, stop) }

// Package terminalhost runs commands for an agent and stores the last part of their output. An
// agent of the ACP protocol requests that its client runs commands, called terminals, and requests
// their output when it needs the output.
//
// Invariants. The standard output and the standard error of a command are stored as one text, of
// which at most the requested length is stored. A request with a number is performed once, even if
// it is repeated. No command outlives Set.End.
package terminalhost

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/internal/process/procgroup"
)

// Limits of commands.
const (
	Most = 1 << 20 // maximum number of bytes of output that are stored for a command
	Room = 64      // maximum number of commands that are not released
)

// grace is the time between SIGTERM and SIGKILL.
const grace = 5 * time.Second

// Errors, for use with errors.Is.
var (
	ErrNone   = errors.New("there is no such command")
	ErrFull   = errors.New("there are " + strconv.Itoa(Room) + " terminals: release those that are not needed")
	ErrEnding = errors.New("the host is ending")
)

// Spec describes a command. Only its standard output is stored, so Shell redirects standard error
// to standard output.
type Spec struct {
	Path   string            `json:"path"` // path of the program
	Args   []string          `json:"args,omitempty"`
	Env    []string          `json:"env,omitempty"` // the whole environment
	Dir    string            `json:"dir,omitempty"`
	Limits *procgroup.Limits `json:"limits,omitempty"`
	Retain int               `json:"keep"` // bytes of output to store
}

// Exit describes how a command exited: with a code, or by a signal.
type Exit struct {
	Code   int    `json:"code"`
	Signal string `json:"signal,omitempty"`
}

// Output is the output of a command.
type Output struct {
	Text string `json:"text"`           // the last part, in whole characters
	Cut  bool   `json:"cut,omitempty"`  // earlier output was dropped
	Exit *Exit  `json:"exit,omitempty"` // nil while the command runs
}

// Set manages the commands of one host process. It is safe for concurrent use.
type Set struct {
	Name string // name of the commands in their run
	// Start starts a command as a part of the run; nil means that they belong to none.
	Start func(procgroup.Command) (*procgroup.Process, error)
	// Stop ends all grace periods when it is closed.
	Stop <-chan struct{}

	mu      sync.Mutex
	ended   bool
	all     []entry        // commands by number, from 1
	opened  map[int64]int  // index in all, by the number of the request that opened the command
	held    int            // number of commands that are not released
	running sync.WaitGroup // counts the running commands
}

// entry is a command in a Set.
type entry struct {
	c        *command // nil after the command was released
	released int64    // number of the request that released the command; 0 before
}

// command is a process group with the last part of its output.
type command struct {
	group *procgroup.Process
	done  chan struct{} // closed when the command has exited and its output was read completely
	tail  tail
}

// Open starts a command and returns its ID. asked is the number of the request; a repeated request
// returns the same ID. The error is ErrFull, ErrEnding, or the reason why the command could not be
// started.
func (s *Set) Open(asked int64, spec *Spec) (id string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i, ok := s.opened[asked]; ok {
		return nameOf(i), nil
	}
	switch {
	case s.ended:
		return "", ErrEnding
	case s.held >= Room:
		return "", ErrFull
	}
	group, err := s.start(procgroup.Command{Name: s.Name, Path: spec.Path, Args: spec.Args, Env: spec.Env, Dir: spec.Dir, Limits: spec.Limits})
	if err != nil {
		return "", fmt.Errorf("the command cannot be started: %w", err)
	}
	group.Stdin.Close() // the command has no input
	c := &command{group: group, done: make(chan struct{}), tail: tail{limit: min(max(spec.Retain, 0), Most)}}
	if s.opened == nil {
		s.opened = map[int64]int{}
	}
	s.opened[asked] = len(s.all)
	s.all = append(s.all, entry{c: c})
	s.held++
	s.running.Go(c.readOutput)
	return nameOf(len(s.all) - 1), nil
}

func (s *Set) start(c procgroup.Command) (*procgroup.Process, error) {
	if s.Start == nil {
		return procgroup.Start(c)
	}
	return s.Start(c)
}

func nameOf(i int) string { return "t" + strconv.Itoa(i+1) }

// findEntry returns the entry with an ID, or nil. The caller must hold mu.
func (s *Set) findEntry(id string) *entry {
	n, err := strconv.Atoi(strings.TrimPrefix(id, "t"))
	if err != nil || n < 1 || n > len(s.all) || nameOf(n-1) != id {
		return nil
	}
	return &s.all[n-1]
}

// findCommand returns the command with an ID. If it does not exist or was released, the error is
// ErrNone.
func (s *Set) findCommand(id string) (*command, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.findEntry(id); e != nil && e.c != nil {
		return e.c, nil
	}
	return nil, ErrNone
}

// Output returns the output of a command so far. For an unknown ID the error is ErrNone.
func (s *Set) Output(id string) (Output, error) {
	c, err := s.findCommand(id)
	if err != nil {
		return Output{}, err
	}
	o := Output{Exit: c.exitState()}
	o.Text, o.Cut = c.tail.storedText(o.Exit != nil)
	return o, nil
}

// Await waits until a command has exited. For an unknown ID the error is ErrNone.
func (s *Set) Await(id string) (Exit, error) {
	c, err := s.findCommand(id)
	if err != nil {
		return Exit{}, err
	}
	<-c.done
	return *c.exitState(), nil
}

// Kill ends a command without waiting for its exit. Its output remains available. For an unknown ID
// the error is ErrNone.
func (s *Set) Kill(id string) error {
	c, err := s.findCommand(id)
	if err == nil {
		s.finishCommand(c)
	}
	return err
}

// Release ends a command and removes it. asked is the number of the request. For an unknown ID the
// error is ErrNone.
func (s *Set) Release(asked int64, id string) error {
	s.mu.Lock()
	e := s.findEntry(id)
	switch {
	case e == nil, e.c == nil && e.released != asked:
		s.mu.Unlock()
		return ErrNone
	case e.c == nil:
		s.mu.Unlock()
		return nil
	}
	c := e.c
	e.c, e.released = nil, asked
	s.held--
	s.mu.Unlock()
	s.finishCommand(c)
	return nil
}

// finishCommand ends a command and waits for its exit.
func (s *Set) finishCommand(c *command) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running.Go(func() { c.group.End(grace, s.Stop) })
}

// End ends all commands and waits until they have exited. Afterwards no command can be started.
func (s *Set) End() {
	s.mu.Lock()
	if !s.ended {
		s.ended = true
		for _, e := range s.all {
			if e.c != nil {
				s.running.Go(func() { e.c.group.End(grace, s.Stop) })
			}
		}
	}
	s.mu.Unlock()
	s.running.Wait()
}

// readOutput reads the output until its end.
func (c *command) readOutput() {
	defer close(c.done)
	buf := make([]byte, 32<<10)
	for {
		n, err := c.group.Stdout.Read(buf)
		c.tail.appendBytes(buf[:n])
		if err != nil {
			<-c.group.Done()
			return
		}
	}
}

// exitState returns how the command exited, or nil while the command is running.
func (c *command) exitState() *Exit {
	select {
	case <-c.done:
	default:
		return nil
	}
	e := c.group.Exit()
	return &Exit{Code: e.Code, Signal: signalName(e.Signal)}
}

// signalName returns the usual name of a signal, like SIGTERM. meaning is the system's description.
func signalName(meaning string) string {
	if s := signalNames[meaning]; s != "" {
		return s
	}
	return meaning
}

// signalNames maps the system's descriptions of signals to their usual names.
var signalNames = map[string]string{
	"hangup": "SIGHUP", "interrupt": "SIGINT", "quit": "SIGQUIT", "illegal instruction": "SIGILL", "trace/breakpoint trap": "SIGTRAP",
	"aborted": "SIGABRT", "bus error": "SIGBUS", "floating point exception": "SIGFPE", "killed": "SIGKILL", "segmentation fault": "SIGSEGV",
	"broken pipe": "SIGPIPE", "alarm clock": "SIGALRM", "terminated": "SIGTERM",
}

// Shell returns the program and arguments with which sh runs a command, with standard error
// redirected to standard output. If there are no arguments and the command is not a plain name, sh
// parses the command. sh is looked up in the PATH of env.
func Shell(command string, args []string, dir string, env []string) (path string, all []string, err error) {
	if path, err = procgroup.Find("sh", dir, env); err != nil {
		return "", nil, errors.New("terminals need the program sh, which was not found")
	}
	if len(args) == 0 && strings.ContainsAny(command, " \t\n;&|<>$`\\()'\"*?[#~=%") {
		return path, []string{"-c", "exec 2>&1\n" + command}, nil
	}
	return path, append([]string{"-c", `exec "$0" "$@" 2>&1`, command}, args...), nil
}

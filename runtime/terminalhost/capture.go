// Package terminalhost runs commands for an agent and keeps the ends of what they write; its API promises nothing. The
// agent of an ACP host has its client run them, as terminals, and asks for their output when it likes.
//
// Invariants. A command's errors and its output are one text, of which no more is kept than was asked for. What is
// asked for with a number is done once, however often it is asked for. No command outlives Set.End.
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

// What commands may take.
const (
	Most = 1 << 20 // bytes of output that are kept of one
	Room = 64      // commands that are not released
)

// grace is between SIGTERM and SIGKILL.
const grace = 5 * time.Second

// Why something cannot be done; matched with errors.Is.
var (
	ErrNone   = errors.New("there is no such command")
	ErrFull   = fmt.Errorf("there are %d terminals: release those that are not needed", Room)
	ErrEnding = errors.New("the host is ending")
)

// Spec is what to run. Its standard output is what is kept: who wants its errors among that starts it so.
type Spec struct {
	Path   string            `json:"path"` // of the program
	Args   []string          `json:"args,omitempty"`
	Env    []string          `json:"env,omitempty"` // the whole environment
	Dir    string            `json:"dir,omitempty"`
	Limits *procgroup.Limits `json:"limits,omitempty"`
	Keep   int               `json:"keep"` // how many bytes of its output are kept
}

// Exit is how a command ended: by a signal, or with a code.
type Exit struct {
	Code   int    `json:"code"`
	Signal string `json:"signal,omitempty"`
}

// Output is what a command has written.
type Output struct {
	Text string `json:"text"`           // the end of it, whole characters
	Cut  bool   `json:"cut,omitempty"`  // there was more
	Exit *Exit  `json:"exit,omitempty"` // nil while it runs
}

// Set is the commands that one host's process has run. Safe for concurrent use.
type Set struct {
	Name string         // whom they play in Run
	Run  *procgroup.Run // nil: nobody's
	// Stop, closed, leaves no time to what is asked to end.
	Stop <-chan struct{}

	mu      sync.Mutex
	ended   bool
	all     []entry        // by their numbers, from 1
	opened  map[int64]int  // where they are there, by the requests that opened them
	held    int            // that are not released
	running sync.WaitGroup // what was started here
}

// entry is a command.
type entry struct {
	c        *command // nil: it is released,
	released int64    // by this request
}

// command is a process group and the end of its output.
type command struct {
	group *procgroup.Process
	done  chan struct{} // it has ended, and its output has been read
	tail  tail
}

// Open starts a command, and names it. asked is the request's number: of one that was done before it gives the same name. The error is ErrFull, ErrEnding, or says why it cannot be started.
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
	group, err := s.Run.Start(procgroup.Command{Name: s.Name, Path: spec.Path, Args: spec.Args, Env: spec.Env, Dir: spec.Dir, Limits: spec.Limits})
	if err != nil {
		return "", fmt.Errorf("the command cannot be started: %w", err)
	}
	group.Stdin.Close() // nobody types
	c := &command{group: group, done: make(chan struct{}), tail: tail{limit: min(max(spec.Keep, 0), Most)}}
	if s.opened == nil {
		s.opened = map[int64]int{}
	}
	s.opened[asked] = len(s.all)
	s.all = append(s.all, entry{c: c})
	s.held++
	s.running.Go(c.read)
	return nameOf(len(s.all) - 1), nil
}

func nameOf(i int) string { return "t" + strconv.Itoa(i+1) }

// entry gives what a name stands for; nil when that is nothing. It is called with mu.
func (s *Set) entry(id string) *entry {
	n, err := strconv.Atoi(strings.TrimPrefix(id, "t"))
	if err != nil || n < 1 || n > len(s.all) || nameOf(n-1) != id {
		return nil
	}
	return &s.all[n-1]
}

// find gives a command that is not released, or ErrNone.
func (s *Set) find(id string) (*command, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.entry(id); e != nil && e.c != nil {
		return e.c, nil
	}
	return nil, ErrNone
}

// Output gives what a command has written so far, or ErrNone.
func (s *Set) Output(id string) (Output, error) {
	c, err := s.find(id)
	if err != nil {
		return Output{}, err
	}
	o := Output{Exit: c.exit()}
	o.Text, o.Cut = c.tail.text(o.Exit != nil)
	return o, nil
}

// Await waits until a command has ended; the error is ErrNone.
func (s *Set) Await(id string) (Exit, error) {
	c, err := s.find(id)
	if err != nil {
		return Exit{}, err
	}
	<-c.done
	return *c.exit(), nil
}

// Kill ends a command, or gives ErrNone; its output stays. It does not wait for the end.
func (s *Set) Kill(id string) error {
	c, err := s.find(id)
	if err == nil {
		s.finish(c)
	}
	return err
}

// Release ends a command and forgets it, or gives ErrNone. asked is the request's number.
func (s *Set) Release(asked int64, id string) error {
	s.mu.Lock()
	e := s.entry(id)
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
	s.finish(c)
	return nil
}

// finish ends a command, which may take a while.
func (s *Set) finish(c *command) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running.Go(func() { c.group.End(grace, s.Stop) })
}

// End ends all commands, and returns when nothing is left of them. Nothing is started after it.
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

// read reads the output to its end.
func (c *command) read() {
	defer close(c.done)
	buf := make([]byte, 32<<10)
	for {
		n, err := c.group.Stdout.Read(buf)
		c.tail.add(buf[:n])
		if err != nil {
			<-c.group.Done()
			return
		}
	}
}

// exit is how the command ended; nil while it runs.
func (c *command) exit() *Exit {
	select {
	case <-c.done:
	default:
		return nil
	}
	e := c.group.Exit()
	return &Exit{Code: e.Code, Signal: signalName(e.Signal)}
}

// signalName is the usual name of a signal that ends commands.
func signalName(meaning string) string {
	if s := signalNames[meaning]; s != "" {
		return s
	}
	return meaning
}

// signalNames are the usual names, by what the system says of the signals.
var signalNames = map[string]string{
	"hangup": "SIGHUP", "interrupt": "SIGINT", "quit": "SIGQUIT", "illegal instruction": "SIGILL", "trace/breakpoint trap": "SIGTRAP",
	"aborted": "SIGABRT", "bus error": "SIGBUS", "floating point exception": "SIGFPE", "killed": "SIGKILL", "segmentation fault": "SIGSEGV",
	"broken pipe": "SIGPIPE", "alarm clock": "SIGALRM", "terminated": "SIGTERM",
}

// Shell gives the program and arguments by which a shell runs a command with its errors among its output, in
// their order. A command without arguments that is more than a name is the shell's to read. The shell is sh, found by env.
func Shell(command string, args []string, dir string, env []string) (path string, all []string, err error) {
	if path, err = procgroup.Find("sh", dir, env); err != nil {
		return "", nil, errors.New("terminals need the program sh, and it is not found")
	}
	if len(args) == 0 && strings.ContainsAny(command, " \t\n;&|<>$`\\()'\"*?[#~=%") {
		return path, []string{"-c", "exec 2>&1\n" + command}, nil
	}
	return path, append([]string{"-c", `exec "$0" "$@" 2>&1`, command}, args...), nil
}

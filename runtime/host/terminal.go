package host

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/concerto-lang/concerto/internal/procgroup"
)

// What an agent's terminals may take.
const (
	terminalOutput = 1 << 20 // bytes of output that are kept
	terminalLimit  = 64      // at once
)

// terminal is a command that an agent has us run: a process group of the host's.
type terminal struct {
	group *procgroup.Process
	done  chan struct{} // it has ended, and its output has been read

	mu    sync.Mutex
	limit int
	text  []byte // the end of its output, twice limit at most
	cut   bool   // there was more
}

// openTerminal starts a command. Its errors and its output are one, in their order,
// for which a shell takes its place; a command without arguments that is more than a
// name is the shell's to read.
func (s *services) openTerminal(e *errand) (any, *rpcError) {
	var q acpCommand
	if err := json.Unmarshal(e.Params, &q); err != nil {
		return nil, rpcFailed(rpcInvalid, err.Error())
	}
	if strings.HasPrefix(q.Command, "-") {
		return nil, rpcFailed(rpcInvalid, q.Command+" is no command")
	}
	limit := terminalOutput
	if q.Limit != nil {
		limit = min(max(*q.Limit, 0), terminalOutput)
	}
	s.mu.Lock()
	full := len(s.terminals) >= terminalLimit
	s.mu.Unlock()
	if full {
		return nil, rpcFailed(rpcInternal, fmt.Sprintf("there are %d terminals: release those that are not needed", terminalLimit))
	}
	c, err := s.command(&q)
	if err != nil {
		return nil, rpcFailed(rpcInternal, err.Error())
	}
	group, err := s.p.hosts.opts.Run.Start(c)
	if err != nil {
		return nil, rpcFailed(rpcInternal, "the command cannot be started: "+err.Error())
	}
	group.Stdin.Close() // nobody types
	t := &terminal{group: group, done: make(chan struct{}), limit: limit}
	return s.keep(t)
}

// command is how a terminal's command is started.
func (s *services) command(q *acpCommand) (procgroup.Command, error) {
	c := s.p.cfg
	dir, err := filepath.Abs(c.Dir)
	if err != nil {
		return procgroup.Command{}, err
	}
	env, _ := c.environ(s.p.hosts.opts.Environ, s.p.number)
	for _, v := range q.Env {
		if v.Name == "" || strings.ContainsAny(v.Name, "=\x00") || strings.ContainsRune(v.Value, 0) {
			return procgroup.Command{}, fmt.Errorf("%q is no environment variable", v.Name)
		}
		env = append(env, v.Name+"="+v.Value)
	}
	shell, err := procgroup.Find("sh", dir, env)
	if err != nil {
		return procgroup.Command{}, fmt.Errorf("terminals need the program sh, and it is not found")
	}
	args := append([]string{"-c", `exec "$0" "$@" 2>&1`, q.Command}, q.Args...)
	if len(q.Args) == 0 && strings.ContainsAny(q.Command, " \t\n;&|<>$`\\()'\"*?[#~=%") {
		args = []string{"-c", "exec 2>&1\n" + q.Command}
	}
	if q.Dir != "" {
		dir = below(dir, q.Dir)
	}
	return procgroup.Command{Name: c.Name, Path: shell, Args: args, Env: env, Dir: dir, Limits: c.Limits}, nil
}

// keep names a terminal and reads its output; one that comes too late is ended.
func (s *services) keep(t *terminal) (any, *rpcError) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running.Go(func() { t.read() })
	if s.ended {
		s.running.Go(func() { t.group.End(grace, s.p.hosts.kill) })
		return nil, rpcFailed(rpcInternal, "the host is ending")
	}
	s.opened++
	id := fmt.Sprintf("t%d", s.opened)
	s.terminals[id] = t
	return obj{"terminalId": id}, nil
}

// read reads the output to its end.
func (t *terminal) read() {
	defer close(t.done)
	buf := make([]byte, 32<<10)
	for {
		n, err := t.group.Stdout.Read(buf)
		t.add(buf[:n])
		if err != nil {
			<-t.group.Done()
			return
		}
	}
}

func (t *terminal) add(b []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, b...)
	if over := len(t.text) - t.limit; over > t.limit || over > 0 && t.limit < 64<<10 {
		t.text = t.text[:copy(t.text, t.text[over:])]
		t.cut = true
	}
}

// output is the end of the output, whole characters of it, and whether there was
// more. A character that is not yet whole is left for later while the command runs.
func (t *terminal) output(ended bool) (text string, cut bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	b, cut := t.text, t.cut
	if over := len(b) - t.limit; over > 0 {
		b, cut = b[over:], true
	}
	if !ended {
		b = wholeEnd(b)
	}
	if cut {
		b = wholeBegin(b)
	}
	if text = strings.ToValidUTF8(string(b), "\ufffd"); len(text) > t.limit {
		text, cut = string(wholeBegin([]byte(text[len(text)-t.limit:]))), true
	}
	return text, cut
}

// wholeBegin leaves out the rest of a character at the beginning.
func wholeBegin(b []byte) []byte {
	for n := 0; n < utf8.UTFMax && len(b) > 0 && !utf8.RuneStart(b[0]); n++ {
		b = b[1:]
	}
	return b
}

// wholeEnd leaves out the beginning of a character at the end.
func wholeEnd(b []byte) []byte {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		if at := len(b) - n; utf8.RuneStart(b[at]) {
			if !utf8.FullRune(b[at:]) {
				return b[:at]
			}
			break
		}
	}
	return b
}

// exit is how the command ended; nil while it runs.
func (t *terminal) exit() obj {
	select {
	case <-t.done:
	default:
		return nil
	}
	exit := t.group.Exit()
	if exit.Signal != "" {
		name := signalNames[exit.Signal]
		if name == "" {
			name = exit.Signal
		}
		return obj{"exitCode": nil, "signal": name}
	}
	return obj{"exitCode": exit.Code, "signal": nil}
}

// signalNames are the usual names of signals that end commands, by their meaning.
var signalNames = map[string]string{
	"hangup": "SIGHUP", "interrupt": "SIGINT", "quit": "SIGQUIT", "illegal instruction": "SIGILL", "trace/breakpoint trap": "SIGTRAP",
	"aborted": "SIGABRT", "bus error": "SIGBUS", "floating point exception": "SIGFPE", "killed": "SIGKILL", "segmentation fault": "SIGSEGV",
	"broken pipe": "SIGPIPE", "alarm clock": "SIGALRM", "terminated": "SIGTERM",
}

// terminal finds the terminal that a request names.
func (s *services) terminal(e *errand) (id string, t *terminal, failure *rpcError) {
	var q struct {
		ID string `json:"terminalId"`
	}
	if err := json.Unmarshal(e.Params, &q); err != nil {
		return "", nil, rpcFailed(rpcInvalid, err.Error())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if t = s.terminals[q.ID]; t == nil {
		return "", nil, rpcFailed(rpcMissing, fmt.Sprintf("there is no terminal %q", q.ID))
	}
	return q.ID, t, nil
}

func (s *services) terminalOutput(e *errand) (any, *rpcError) {
	_, t, failure := s.terminal(e)
	if failure != nil {
		return nil, failure
	}
	exit := t.exit()
	text, cut := t.output(exit != nil)
	out := obj{"output": text, "truncated": cut}
	if exit != nil {
		out["exitStatus"] = exit
	}
	return out, nil
}

// awaitTerminal answers when the command has ended.
func (s *services) awaitTerminal(e *errand) (any, *rpcError) {
	_, t, failure := s.terminal(e)
	if failure != nil {
		return nil, failure
	}
	if exit := t.exit(); exit != nil {
		return exit, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waits >= errandLimit || s.ended {
		return nil, rpcFailed(rpcInternal, "too many requests wait here: wait for the answers to earlier ones")
	}
	s.waits++
	wanted := *e
	s.running.Go(func() {
		<-t.done
		s.mu.Lock()
		s.waits--
		s.mu.Unlock()
		s.p.put(lines([][]byte{wanted.done(t.exit())}), true)
	})
	return nil, nil
}

// killTerminal ends the command; its output stays.
func (s *services) killTerminal(e *errand) (any, *rpcError) {
	_, t, failure := s.terminal(e)
	if failure != nil {
		return nil, failure
	}
	s.finish(t)
	return obj{}, nil
}

// releaseTerminal ends the command, and forgets it.
func (s *services) releaseTerminal(e *errand) (any, *rpcError) {
	id, t, failure := s.terminal(e)
	if failure != nil {
		return nil, failure
	}
	s.finish(t)
	s.mu.Lock()
	delete(s.terminals, id)
	s.mu.Unlock()
	return obj{}, nil
}

// finish ends a terminal's command, which may take a while.
func (s *services) finish(t *terminal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running.Go(func() { t.group.End(grace, s.p.hosts.kill) })
}

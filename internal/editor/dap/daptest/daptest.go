// Package daptest plays debugging sessions with a real debug adapter. It is for tests. A session is
// a text. A line that begins with "> " is an action of the user in the editor, and the lines after
// it show the messages of the adapter:
//
//	> break 3 if n > 1       set a breakpoint at a line; also with `hits % 2`, or with `log TEXT`
//	                         to print a text without stopping
//	> break emit "approve"   set a breakpoint by name
//	> errors err, thrown     set the exception filters: `err`, `thrown` or `uncaught`
//	> start {"mock": true}   launch main.conc; the optional object is added to the launch arguments
//	> step over              step; also `step in`, `step in NAME`, `step out` and `continue`
//	> stack                  show the stack of calls
//	> threads                show the tasks
//	> show Locals            show the variables of a scope of the innermost frame
//	> watch n * 2            evaluate an expression in that frame, without side effects
//	> console n = 3          evaluate a text that may have side effects; also `:answer VALUE`
//	> set n = 3              assign a value to a variable
//	> stop                   stop the program
//
// The output on stderr is omitted, because it contains times and directories.
package daptest

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/concerto-lang/concerto/internal/editor/lsp/frame"
)

// Play plays a session with the adapter that a command starts. It returns the text of the session
// with the adapter's output. The error names a line that cannot be played.
func Play(c *exec.Cmd, text string) (string, error) {
	in, err := c.StdinPipe()
	if err != nil {
		return "", err
	}
	out, err := c.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := c.Start(); err != nil {
		return "", err
	}
	s := &session{dir: c.Dir, to: in, from: bufio.NewReader(out), errors: []string{"uncaught"}}
	err = s.play(text)
	_ = in.Close()
	_, _ = io.Copy(io.Discard, out) // discard the remaining output, so that the adapter can exit
	if werr := c.Wait(); err == nil && werr != nil {
		err = fmt.Errorf("wait for the adapter: %w", werr)
	}
	return s.transcript.String(), err
}

// session is the editor's side of a debugging session.
type session struct {
	dir        string
	to         io.Writer
	from       *bufio.Reader
	seq        int
	transcript strings.Builder

	lines, names []map[string]any // breakpoints in the form of setBreakpoints and setFunctionBreakpoints
	errors       []string
	begun, over  bool
	thread       int        // id of the stopped thread
	waits        bool       // the program is running, and the transcript must show its next event
	pending      []*message // events that arrived while a response was awaited
}

// message is a message that the adapter sends.
type message struct {
	Type       string          `json:"type"`
	Event      string          `json:"event"`
	RequestSeq int             `json:"request_seq"`
	Success    bool            `json:"success"`
	Message    string          `json:"message"`
	Body       json.RawMessage `json:"body"`
}

// adapterError is the message of the adapter's error response.
type adapterError struct{ sentence string }

func (e *adapterError) Error() string { return e.sentence }

func (s *session) play(text string) error {
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimRight(line, "\n")
		done, isDone := strings.CutPrefix(line, "> ")
		if !isDone {
			continue
		}
		fmt.Fprintln(&s.transcript, line)
		err := s.do(done)
		if sentence := (*adapterError)(nil); errors.As(err, &sentence) {
			s.print("refused: %s", sentence)
			err = nil
		}
		if err == nil && s.waits {
			err = s.awaitStop()
		}
		if err != nil {
			return fmt.Errorf("line %d, %q: %w", n, line, err)
		}
	}
	if s.begun && !s.over {
		return errors.New("the session ends while the program is stopped: end it with `> stop`")
	}
	return nil
}

func (s *session) print(format string, args ...any) {
	for line := range strings.Lines(fmt.Sprintf(format, args...)) {
		fmt.Fprintf(&s.transcript, "%s\n", strings.TrimRight(line, "\n"))
	}
}

// do performs the action of a line.
func (s *session) do(line string) error {
	word, rest, _ := strings.Cut(line, " ")
	switch {
	case word == "break":
		return s.setBreakpoint(rest)
	case word == "errors":
		for _, name := range strings.Split(rest, ",") {
			s.errors = append(s.errors, strings.TrimSpace(name))
		}
		return s.setErrors()
	case word == "start":
		return s.start(rest)
	case !s.begun || s.over:
		return errors.New("the program does not run")
	case word == "continue", word == "step":
		return s.resume(line)
	case word == "stack":
		return s.stack()
	case word == "threads":
		return s.threads()
	case word == "show":
		return s.show(rest)
	case word == "watch":
		return s.evaluate("watch", rest)
	case word == "console":
		return s.evaluate("repl", rest)
	case word == "set":
		name, value, _ := strings.Cut(rest, "=")
		var x struct{ Value string }
		err := s.inFrame("setExpression", map[string]any{"expression": strings.TrimSpace(name), "value": strings.TrimSpace(value)}, &x)
		if err == nil {
			s.print("%s = %s", strings.TrimSpace(name), x.Value)
		}
		return err
	case word == "stop":
		s.waits = true
		return s.request("terminate", nil, nil)
	}
	return errors.New("unknown action")
}

// setBreakpoint adds a breakpoint at a line or by name.
func (s *session) setBreakpoint(text string) error {
	list, key := &s.lines, "line"
	text, b := options(text)
	if text == "" || text[0] < '0' || text[0] > '9' {
		b["name"], list, key = text, &s.names, "name"
	} else if n, err := strconv.Atoi(text); err == nil {
		b["line"] = n
	} else {
		return err
	}
	*list = append(*list, b)
	if !s.begun {
		return nil // the breakpoints are sent when the program starts
	}
	return s.sendBreakpoints(key)
}

// options splits `if CONDITION`, `hits COUNT` and `log MESSAGE` from the text of a breakpoint.
func options(text string) (string, map[string]any) {
	b := map[string]any{}
	for _, o := range []struct{ word, key string }{{" log ", "logMessage"}, {" hits ", "hitCondition"}, {" if ", "condition"}} {
		if before, after, ok := strings.Cut(text, o.word); ok {
			text, b[o.key] = before, after
		}
	}
	return text, b
}

// sendBreakpoints sends all breakpoints at lines or by name. It shows the breakpoints that were
// moved or are not verified.
func (s *session) sendBreakpoints(key string) error {
	var got struct {
		Breakpoints []struct {
			Verified bool
			Line     int
			Message  string
		}
	}
	list, err := s.names, error(nil)
	if key == "line" {
		list = s.lines
		err = s.request("setBreakpoints", map[string]any{"source": map[string]any{"path": s.main()}, "breakpoints": nonNil(list)}, &got)
	} else {
		err = s.request("setFunctionBreakpoints", map[string]any{"breakpoints": nonNil(list)}, &got)
	}
	for i, b := range got.Breakpoints {
		switch {
		case b.Verified && (key == "name" || b.Line == list[i]["line"]):
		case b.Verified:
			s.print("the breakpoint is at line %d: %s", b.Line, b.Message)
			list[i]["line"] = b.Line
		default:
			s.print("breakpoint %v: %s", list[i][key], b.Message)
		}
	}
	return err
}

// nonNil returns a list that JSON encodes as `[]` if it is empty.
func nonNil(list []map[string]any) []map[string]any { return append([]map[string]any{}, list...) }

func (s *session) main() string { return filepath.Join(s.dir, "main.conc") }

// setErrors sends the exception filters.
func (s *session) setErrors() error {
	if !s.begun {
		return nil
	}
	return s.request("setExceptionBreakpoints", map[string]any{"filters": s.errors}, nil)
}

func (s *session) start(more string) error {
	launch := map[string]any{"program": s.main(), "cwd": s.dir}
	if more != "" {
		if err := json.Unmarshal([]byte(more), &launch); err != nil {
			return err
		}
	}
	s.begun = true
	if err := s.request("initialize", map[string]any{"adapterID": "concerto", "linesStartAt1": true, "columnsStartAt1": true, "pathFormat": "path"}, nil); err != nil {
		return err
	}
	if err := s.request("launch", launch, nil); err != nil {
		return err
	}
	s.waits = true
	return errors.Join(s.sendBreakpoints("line"), s.sendBreakpoints("name"), s.setErrors(), s.request("configurationDone", nil, nil))
}

// resume continues the program with `continue` or a step.
func (s *session) resume(line string) error {
	command, arguments := map[string]string{"continue": "continue", "step over": "next", "step in": "stepIn", "step out": "stepOut"}[line], map[string]any{"threadId": s.thread}
	if into, ok := strings.CutPrefix(line, "step in "); ok {
		var x struct {
			Targets []struct {
				ID    int
				Label string
			}
		}
		if err := s.inFrame("stepInTargets", nil, &x); err != nil {
			return err
		}
		for _, target := range x.Targets {
			if target.Label == into {
				command, arguments["targetId"] = "stepIn", target.ID
			}
		}
	}
	if command == "" {
		return errors.New("unknown step")
	}
	s.waits = true
	return s.request(command, arguments, nil)
}

// call is a stack frame.
type call struct {
	ID     int
	Name   string
	Line   int
	Source struct{ Name string }
}

func (c *call) String() string { return fmt.Sprintf("%s, %s:%d", c.Name, c.Source.Name, c.Line) }

func (s *session) calls() ([]call, error) {
	var x struct{ StackFrames []call }
	err := s.request("stackTrace", map[string]any{"threadId": s.thread}, &x)
	if err == nil && len(x.StackFrames) == 0 {
		err = errors.New("no call is active")
	}
	return x.StackFrames, err
}

func (s *session) stack() error {
	all, err := s.calls()
	for _, f := range all {
		s.print("%v", &f)
	}
	return err
}

func (s *session) threads() error {
	var x struct{ Threads []struct{ Name string } }
	err := s.request("threads", nil, &x)
	for _, t := range x.Threads {
		s.print("%s", t.Name)
	}
	return err
}

// inFrame sends a request about the innermost frame.
func (s *session) inFrame(command string, arguments map[string]any, into any) error {
	all, err := s.calls()
	if err != nil {
		return err
	}
	if arguments == nil {
		arguments = map[string]any{}
	}
	arguments["frameId"] = all[0].ID
	return s.request(command, arguments, into)
}

func (s *session) show(scope string) error {
	var x struct {
		Scopes []struct {
			Name               string
			VariablesReference int
		}
	}
	if err := s.inFrame("scopes", nil, &x); err != nil {
		return err
	}
	for _, sc := range x.Scopes {
		if sc.Name == scope {
			return s.variables(sc.VariablesReference, "")
		}
	}
	return fmt.Errorf("no scope %s", scope)
}

// variables shows variables, and the children of structured values.
func (s *session) variables(of int, indent string) error {
	var x struct {
		Variables []struct {
			Name, Value, Type  string
			VariablesReference int
		}
	}
	if err := s.request("variables", map[string]any{"variablesReference": of}, &x); err != nil {
		return err
	}
	for _, v := range x.Variables {
		switch {
		case v.Type != "":
			s.print("%s%s: %s = %s", indent, v.Name, v.Type, v.Value)
		case v.Value != "":
			s.print("%s%s: %s", indent, v.Name, v.Value)
		default:
			s.print("%s%s", indent, v.Name)
		}
		if v.Type == "" && v.VariablesReference > 0 {
			if err := s.variables(v.VariablesReference, indent+"  "); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *session) evaluate(context, text string) error {
	var x struct{ Result, Type string }
	if strings.HasPrefix(text, ":answer") {
		s.waits = true
		return s.request("evaluate", map[string]any{"expression": text, "context": context}, &x)
	}
	if err := s.inFrame("evaluate", map[string]any{"expression": text, "context": context}, &x); err != nil {
		return err
	}
	s.print("%s: %s", x.Result, x.Type)
	return nil
}

// awaitStop shows the output of the program until it stops, ends, or waits for an answer.
func (s *session) awaitStop() error {
	s.waits = false
	for {
		m, err := s.next()
		if err != nil {
			return err
		}
		var x struct {
			Category, Output, Description, Reason, Text string
			ThreadID                                    int
			ExitCode                                    int
		}
		if len(m.Body) > 0 {
			if err := json.Unmarshal(m.Body, &x); err != nil {
				return err
			}
		}
		switch m.Event {
		case "output":
			if x.Category != "stderr" {
				s.print("%s: %s", x.Category, strings.TrimRight(x.Output, "\n"))
			}
			if x.Category == "important" {
				return nil
			}
		case "stopped":
			s.thread = x.ThreadID
			all, err := s.calls()
			if err != nil {
				return err
			}
			s.print("stopped at %v (%s)", &all[0], x.Reason)
			if x.Text != "" {
				s.print("%s", x.Text)
			}
			return nil
		case "exited":
			s.print("ended with %d", x.ExitCode)
		case "terminated":
			s.over = true
			return nil
		}
	}
}

// request sends a request and decodes the body of the response into into, unless into is nil.
// Events that arrive before the response are queued.
func (s *session) request(command string, arguments, into any) error {
	s.seq++
	text, err := json.Marshal(map[string]any{"seq": s.seq, "type": "request", "command": command, "arguments": arguments})
	if err != nil {
		return err
	}
	if _, err := s.to.Write(frame.Encode(text)); err != nil {
		return err
	}
	for {
		m, err := s.read()
		switch {
		case err != nil:
			return err
		case m.Type != "response":
			s.pending = append(s.pending, m)
		case m.RequestSeq != s.seq:
			return fmt.Errorf("received the response to request %d, want %d", m.RequestSeq, s.seq)
		case !m.Success:
			return &adapterError{m.Message}
		case into != nil && len(m.Body) > 0:
			return json.Unmarshal(m.Body, into)
		default:
			return nil
		}
	}
}

// next returns the next event.
func (s *session) next() (*message, error) {
	if len(s.pending) > 0 {
		m := s.pending[0]
		s.pending = s.pending[1:]
		return m, nil
	}
	return s.read()
}

func (s *session) read() (*message, error) {
	text, err := frame.Read(s.from)
	if err != nil {
		return nil, fmt.Errorf("read the next message of the adapter: %w", err)
	}
	m := &message{}
	return m, json.Unmarshal(text, m)
}

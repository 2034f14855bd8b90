package lsp

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/concerto-lang/concerto/internal/editor/analysis"
	"github.com/concerto-lang/concerto/internal/editor/lsp/protocol"
)

// runParams identifies the program to run by one of its documents.
type runParams struct {
	URI   protocol.DocumentURI `json:"uri,omitempty"`
	Args  []string             `json:"args,omitempty"`
	Debug bool                 `json:"debug,omitempty"`
}

// launch is the configuration with which the client's debugger starts a run.
type launch struct {
	Type    string   `json:"type"`
	Request string   `json:"request"`
	Name    string   `json:"name"`
	Program string   `json:"program"`
	Args    []string `json:"args,omitempty"`
	Test    string   `json:"test,omitempty"`
}

// exitResult is the exit code of a command.
type exitResult struct {
	Code int `json:"code"`
}

// runProgram runs a program and returns its exit code. It reports the output line by line. With
// debug set, it does not run the program and returns a launch configuration.
func (c *call) runProgram(p *runParams) (any, error) {
	program, err := c.savedProgram(p.URI)
	if err != nil {
		return nil, err
	}
	if p.Debug {
		return []launch{{product, "launch", "Debug " + filepath.Base(program.Path), program.Path, p.Args, ""}}, nil
	}
	return c.execute("Running "+filepath.Base(program.Path), c.child(program, append([]string{"run", program.Path, "--"}, p.Args...)...))
}

// evalParams identifies an eval by a document of its program and a name; "" means all evals.
type evalParams struct {
	URI  protocol.DocumentURI `json:"uri,omitempty"`
	Name string               `json:"name,omitempty"`
}

// eval runs evals and returns the exit code, which is its verdict. It reports the output line by
// line.
func (c *call) eval(p *evalParams) (any, error) {
	program, err := c.savedProgram(p.URI)
	if err != nil {
		return nil, err
	}
	args, title := []string{"eval", program.Path}, "Running the evals of "+filepath.Base(program.Path)
	if p.Name != "" {
		args, title = append(args, "--filter", "^"+regexp.QuoteMeta(p.Name)+"$"), "Running "+p.Name
	}
	return c.execute(title, c.child(program, args...))
}

// execute runs a command and returns its exit code. It reports the output line by line.
func (c *call) execute(title string, child *Child) (any, error) {
	out := c.reportLines(protocol.MessageTypeInfo)
	child.Stdout = out
	defer c.showProgress(title)()
	code, err := c.server.Command(c, child)
	out.end()
	child.Stderr.(*lineWriter).end()
	if c.Err() != nil || err != nil {
		return nil, errors.Join(c.Err(), err)
	}
	return exitResult{code}, nil
}

// buildResult is the path of the file that a build has written.
type buildResult struct {
	Path string               `json:"path"`
	URI  protocol.DocumentURI `json:"uri"`
}

// build compiles a program into a file next to its entry.
func (c *call) build(p *fileParams) (any, error) {
	program, err := c.savedProgram(p.URI)
	if err != nil {
		return nil, err
	}
	if program.Entry == "" {
		return nil, refusal(errors.New("no program to build in " + filepath.Base(program.Path)))
	}
	to := strings.TrimSuffix(program.Entry, filepath.Ext(program.Entry)) + ".conc-ir"
	defer c.showProgress("Building " + filepath.Base(program.Path))()
	child := c.child(program, "build", "-o", to, program.Path)
	if err := c.runToSuccess(child, io.Discard); err != nil {
		return nil, err
	}
	return buildResult{to, c.uriOf(to)}, nil
}

// fetch brings the lock file of a document's project in line with its manifest, and fetches the
// packages that are not in the cache. The server itself never fetches.
func (c *call) fetch(p *fileParams) (any, error) {
	if c.server.Command == nil || p.URI == "" {
		return nil, refusal(errors.New("only the packages of a project in files can be fetched"))
	}
	defer c.showProgress("Fetching packages")()
	child := &Child{Dir: filepath.Dir(c.path(p.URI)), Args: []string{"update", "--lock"}, Stderr: c.reportLines(protocol.MessageTypeLog)}
	if err := c.runToSuccess(child, io.Discard); err != nil {
		return nil, err
	}
	return c.restart(nil)
}

// child returns a command that works on a program with the editor's unsaved texts. Its stderr is
// reported to the client.
func (c *call) child(p *analysis.Program, args ...string) *Child {
	dir := p.Path
	if p.Path == p.Entry {
		dir = filepath.Dir(p.Path)
	}
	return &Child{Dir: dir, Args: args, Texts: c.snapshot.Unsaved(), Stderr: c.reportLines(protocol.MessageTypeLog)}
}

// runToSuccess runs a command and returns an error if it fails. The error contains the command's
// message.
func (c *call) runToSuccess(child *Child, out io.Writer) error {
	var stderr bytes.Buffer
	child.Stdout, child.Stderr = out, &stderr
	code, err := c.server.Command(c, child)
	switch {
	case c.Err() != nil:
		return c.Err()
	case err != nil:
		return refusal(err)
	case code != 0:
		text := strings.TrimSpace(stderr.String())
		if text == "" {
			text = fmt.Sprintf("concerto %s exited with code %d", child.Args[0], code)
		}
		return refusal(errors.New(text))
	}
	return nil
}

// lineWriter calls a function for each complete line.
type lineWriter struct {
	line func(string)
	rest []byte
}

func (w *lineWriter) Write(p []byte) (int, error) {
	w.rest = append(w.rest, p...)
	for {
		i := bytes.IndexByte(w.rest, '\n')
		if i < 0 {
			return len(p), nil
		}
		w.line(strings.TrimSuffix(string(w.rest[:i]), "\r"))
		w.rest = w.rest[i+1:]
	}
}

// end passes an incomplete last line to the function.
func (w *lineWriter) end() {
	if len(w.rest) > 0 {
		w.line(string(w.rest))
		w.rest = nil
	}
}

// reportLines returns a writer that reports each line to the client.
func (c *call) reportLines(t protocol.MessageType) *lineWriter {
	return &lineWriter{line: func(text string) {
		c.loop.out.WaitRoom(c.Done()) // a program may print without limit
		c.notify(protocol.MethodWindowLogMessage, protocol.LogMessageParams{Type: t, Message: text})
	}}
}

// notify sends a notification while the request continues.
func (c *call) notify(method string, params any) {
	c.runInLoop(func() {
		if c.Err() == nil {
			c.loop.notify(method, params)
		}
	})
}

// methodProgressCancel is the notification that the user has cancelled a progress.
const methodProgressCancel = "window/workDoneProgress/cancel"

type progressCancelParams struct {
	Token any `json:"token"`
}

// showProgress shows a progress that the user can cancel until done is called. It does nothing if
// the client does not support progress.
func (c *call) showProgress(title string) (done func()) {
	if !deref(c.client.Window).WorkDoneProgress {
		return func() {}
	}
	token := rawString("concerto-command-" + strings.Trim(string(c.id), `"`))
	c.runInLoop(func() {
		c.loop.ask(protocol.MethodWindowWorkDoneProgressCreate, protocol.WorkDoneProgressCreateParams{Token: token}, nil)
		c.loop.notify(protocol.MethodProgress, protocol.ProgressParams{Token: token, Value: protocol.WorkDoneProgressBegin{Kind: "begin", Title: title, Cancellable: true}})
	})
	return func() {
		c.runInLoop(func() {
			c.loop.notify(protocol.MethodProgress, protocol.ProgressParams{Token: token, Value: protocol.WorkDoneProgressEnd{Kind: "end"}})
		})
	}
}

// handleProgressCancel cancels the command whose progress the user has cancelled.
func (s *server) handleProgressCancel(p *progressCancelParams) {
	text, _ := p.Token.(string)
	for _, c := range s.running {
		if text == "concerto-command-"+strings.Trim(string(c.id), `"`) {
			s.finish(c, nil, newError(codeCancelled, "cancelled"))
			return
		}
	}
}

package lsp

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/concerto-lang/concerto/internal/editor/analysis"
	"github.com/concerto-lang/concerto/internal/editor/lsp/protocol"
)

// runParams names the program to run by a document.
type runParams struct {
	URI   protocol.DocumentURI `json:"uri,omitempty"`
	Args  []string             `json:"args,omitempty"`
	Debug bool                 `json:"debug,omitempty"`
}

// launch is the configuration for the client's debugger.
type launch struct {
	Type    string   `json:"type"`
	Request string   `json:"request"`
	Name    string   `json:"name"`
	Program string   `json:"program"`
	Args    []string `json:"args,omitempty"`
	Test    string   `json:"test,omitempty"`
}

// exitResult is how a command ended.
type exitResult struct {
	Code int `json:"code"`
}

// runProgram runs a program and returns its exit code. It reports output line by line. To debug, it
// returns the configuration for the client's debugger.
func (c *call) runProgram(p *runParams) (any, error) {
	program, err := c.savedProgram(p.URI)
	if err != nil {
		return nil, err
	}
	if p.Debug {
		return []launch{{product, "launch", "Debug " + filepath.Base(program.Path), program.Path, p.Args, ""}}, nil
	}
	child := c.child(program, append([]string{"run", program.Path, "--"}, p.Args...)...)
	out := c.reportLines(protocol.MessageTypeInfo)
	child.Stdout = out
	defer c.showProgress("Running " + filepath.Base(program.Path))()
	code, err := c.server.Command(c, child)
	out.end()
	child.Stderr.(*lineWriter).end()
	if c.Err() != nil || err != nil {
		return nil, errors.Join(c.Err(), err)
	}
	return exitResult{code}, nil
}

// buildResult is what a build has written.
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

// child returns a command on a program, with the unsaved texts of the editor. Its stderr is
// reported.
func (c *call) child(p *analysis.Program, args ...string) *Child {
	dir := p.Path
	if p.Path == p.Entry {
		dir = filepath.Dir(p.Path)
	}
	return &Child{Dir: dir, Args: args, Texts: c.snapshot.Unsaved(), Stderr: c.reportLines(protocol.MessageTypeLog)}
}

// runToSuccess runs a command that must succeed. Its error contains the command's message.
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

// lineWriter passes on complete lines.
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

// end passes on an incomplete last line.
func (w *lineWriter) end() {
	if len(w.rest) > 0 {
		w.line(string(w.rest))
		w.rest = nil
	}
}

// reportLines returns a writer that reports each line to the client.
func (c *call) reportLines(t protocol.MessageType) *lineWriter {
	return &lineWriter{line: func(text string) {
		c.loop.out.WaitRoom(c.Done()) // a program may print without end
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

// methodProgressCancel is sent when the user cancels a progress.
const methodProgressCancel = "window/workDoneProgress/cancel"

type progressCancelParams struct {
	Token any `json:"token"`
}

// showProgress shows a cancellable progress, if the client supports that, until done is called.
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

// handleProgressCancel stops the command of a cancelled progress.
func (s *server) handleProgressCancel(p *progressCancelParams) {
	text, _ := p.Token.(string)
	for _, c := range s.running {
		if text == "concerto-command-"+strings.Trim(string(c.id), `"`) {
			s.finish(c, nil, newError(codeCancelled, "cancelled"))
			return
		}
	}
}

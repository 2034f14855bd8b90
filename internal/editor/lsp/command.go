package lsp

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"

	"github.com/concerto-lang/concerto/internal/editor/analysis"
	"github.com/concerto-lang/concerto/internal/editor/lsp/protocol"
	"github.com/concerto-lang/concerto/internal/eval/dataset"
)

// The commands of the server.
const (
	commandRun     = "concerto.run"
	commandTest    = "concerto.test"
	commandEval    = "concerto.eval"
	commandBuild   = "concerto.build"
	commandExplain = "concerto.explain"
	commandRestart = "concerto.restart"
	commandGraph   = "concerto.graph"
	commandFetch   = "concerto.fetch"
)

// checkedRows is the number of rows of each dataset that are checked.
const checkedRows = 1000

// command executes a command. Its arguments are encoded as one JSON object.
type command = func(c *call, argument json.RawMessage) (any, error)

// commands lists the commands in the order in which the server announces them.
var commands = []struct {
	name string
	run  command
}{
	{commandRun, typedCommand((*call).runProgram)},
	{commandTest, typedCommand((*call).test)},
	{commandEval, typedCommand((*call).eval)},
	{commandBuild, typedCommand((*call).build)},
	{commandExplain, typedCommand((*call).explain)},
	{commandRestart, typedCommand((*call).restart)},
	{commandGraph, typedCommand((*call).graph)},
	{commandFetch, typedCommand((*call).fetch)},
}

// typedCommand returns a command whose argument has type P.
func typedCommand[P any](f func(*call, *P) (any, error)) command {
	return func(c *call, argument json.RawMessage) (any, error) {
		p := new(P)
		if err := decode(argument, p); err != nil {
			return nil, err
		}
		return f(c, p)
	}
}

func commandNames() (all []string) {
	for _, x := range commands {
		all = append(all, x.name)
	}
	return all
}

func executeCommand(c *call, p *protocol.ExecuteCommandParams) (any, error) {
	argument := json.RawMessage("{}")
	if len(p.Arguments) > 0 {
		argument = p.Arguments[0]
	}
	for _, x := range commands {
		if x.name == p.Command {
			return x.run(c, argument)
		}
	}
	return nil, newError(codeInvalidParams, "unknown command `%s`", p.Command)
}

type explainParams struct {
	Code string `json:"code"`
}

// explain returns the Markdown text that explains a diagnostic code.
func (c *call) explain(p *explainParams) (any, error) {
	if c.server.Explain != nil {
		if text := c.server.Explain(strings.ToUpper(p.Code)); text != "" {
			return text, nil
		}
	}
	return nil, refusal(errors.New("no diagnostic has the code " + p.Code))
}

// restart discards all results and checks all programs again.
func (c *call) restart(*struct{}) (any, error) {
	c.runInLoop(func() {
		s := c.loop
		s.workspace = analysis.New(analysis.Options{Folders: s.folders, Data: dataset.Checker(checkedRows)})
		for _, d := range s.view.docs {
			s.workspace.Open(d.path, string(d.text))
		}
		s.completions, s.push.sent = completions{}, nil
		s.updateView(func(v *view) { v.tests = nil })
		clear(s.sentTokens)
		s.afterEdit()
		s.refresh()
	})
	return nil, nil
}

// fileParams contains the URI of a document.
type fileParams struct {
	URI protocol.DocumentURI `json:"uri,omitempty"`
}

// programOf returns the program that a document belongs to. Without a document, it returns the
// workspace's only program, or an error if there are several.
func (c *call) programOf(uri protocol.DocumentURI) (*analysis.Program, error) {
	if uri == "" {
		if all := c.snapshot.Programs(); len(all) == 1 {
			return all[0], nil
		}
		return nil, newError(codeInvalidParams, "the workspace has %d programs: select one with `uri`", len(c.snapshot.Programs()))
	}
	if p := c.snapshot.ProgramOf(c.path(uri)); p != nil {
		return p, nil
	}
	return nil, refusal(errors.New("no program in " + filepath.Base(c.path(uri))))
}

// savedProgram is like programOf, but it returns an error for a document that is no file. Only
// files can be run.
func (c *call) savedProgram(uri protocol.DocumentURI) (*analysis.Program, error) {
	p, err := c.programOf(uri)
	switch {
	case err != nil:
		return nil, err
	case c.server.Command == nil || !analysis.IsFile(p.Path):
		return nil, refusal(errors.New("only a program in a file can be run: save it first"))
	}
	return p, nil
}

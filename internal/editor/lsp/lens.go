package lsp

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/concerto-lang/concerto/internal/editor/analysis"
	"github.com/concerto-lang/concerto/internal/editor/lsp/protocol"
	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
)

// commandReferences is a command that the client implements. It shows locations. Its arguments are
// the document, a position in it and the locations.
const commandReferences = "concerto.references"

// codeLens returns the code lenses of a document.
func codeLens(c *call, p *protocol.CodeLensParams) (protocol.List[protocol.CodeLens], error) {
	path := c.path(p.TextDocument.URI)
	file := c.snapshot.File(path)
	if file == nil {
		return nil, nil
	}
	l := &lenses{translation: c.translation(), uri: p.TextDocument.URI, path: path}
	for _, x := range c.snapshot.Lenses(c, path) {
		l.at = l.rng(file, x.Span)
		l.addLens(&x)
	}
	return l.list, c.Err()
}

// lenses converts code lenses to the protocol's form.
type lenses struct {
	*translation
	uri  protocol.DocumentURI
	path string
	at   protocol.Range
	list protocol.List[protocol.CodeLens]
}

func (l *lenses) add(title, command string, arguments ...any) {
	var raw []json.RawMessage
	for _, a := range arguments {
		raw = append(raw, jsonwrite.MustEncode(a))
	}
	l.list = append(l.list, protocol.CodeLens{Range: l.at, Command: &protocol.Command{Title: title, Command: command, Arguments: raw}})
}

func (l *lenses) addLens(x *analysis.Lens) {
	can := l.settings.CodeLens
	isFile := analysis.IsFile(l.path) // a document that is no file cannot be run
	switch {
	case x.Kind == analysis.ProgramLens && can.Run && isFile:
		l.add("Run", commandRun, runParams{URI: l.uri})
		l.add("Debug", commandRun, runParams{URI: l.uri, Debug: true})
	case x.Kind == analysis.TestLens && can.Tests && isFile:
		test := testParams{URI: l.uri, Names: []string{x.Name}}
		l.add("Run test", commandTest, test)
		if last, ok := l.tests[testOf{l.path, x.Name}]; ok {
			l.add(last.outcomeText(), commandTest, test)
		}
		test.Debug = true
		l.add("Debug test", commandTest, test)
	case x.Kind == analysis.EvalLens && can.Tests && isFile:
		l.add("Run eval", commandEval, evalParams{URI: l.uri, Name: x.Name})
	case x.Kind == analysis.AnswerLens && can.Answers:
		l.addPlaces(x.Text, x.Uses)
	case x.Kind == analysis.ReferenceLens && can.References:
		title := fmt.Sprintf("%d references", len(x.Uses))
		if len(x.Uses) == 1 {
			title = "1 reference"
		}
		l.addPlaces(title, x.Uses)
	}
}

// addPlaces adds a lens that shows locations. Without locations, the lens has only a title.
func (l *lenses) addPlaces(title string, uses []analysis.Location) {
	if len(uses) == 0 {
		l.add(title, "")
		return
	}
	l.add(title, commandReferences, l.uri, l.at.Start, l.locations(uses))
}

// testOf identifies a test by the path of its document and the name of its function.
type testOf struct{ path, name string }

// outcomeText returns the result of a test on one line.
func (e *testEvent) outcomeText() string {
	if e.State != "failed" {
		return fmt.Sprintf("%s in %g ms", e.State, deref(e.MS))
	}
	first, _, _ := strings.Cut(e.Message, "\n")
	return "failed: " + first
}

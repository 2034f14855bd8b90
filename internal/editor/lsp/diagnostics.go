package lsp

import (
	"runtime/debug"
	"strings"

	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/editor/lsp/protocol"
	"github.com/concerto-lang/concerto/internal/text/hexsum"
	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
	"github.com/concerto-lang/concerto/internal/text/source"
)

// translation converts locations of one snapshot to the protocol's form.
type translation struct {
	*view
	tables map[*source.File]*lines
}

func (v *view) translation() *translation { return &translation{v, map[*source.File]*lines{}} }

// lines returns the lines of a text. An open document with the same text shares them.
func (t *translation) lines(f *source.File) *lines {
	if t.tables[f] == nil {
		t.tables[f] = newLines(f.Text, t.enc)
	}
	return t.tables[f]
}

func (t *translation) rng(f *source.File, s source.Span) protocol.Range { return t.lines(f).rng(s) }

// location converts a range of a file. For a text of the library, it writes a file that the client
// can open. ok is false if there is no such file.
func (t *translation) location(f *source.File, s source.Span) (l protocol.Location, ok bool) {
	uri := t.uri(f)
	return protocol.Location{URI: uri, Range: t.rng(f, s)}, uri != ""
}

func (t *translation) uri(f *source.File) protocol.DocumentURI {
	if path := t.snapshot.PathOf(f); path != "" {
		return t.uriOf(path)
	}
	return t.server.cacheText(f.Name, f.Text)
}

// diagnostics converts diagnostics to the protocol's form.
func (t *translation) diagnostics(found []*diag.Diagnostic) protocol.List[protocol.Diagnostic] {
	out := protocol.List[protocol.Diagnostic]{}
	for _, d := range found {
		out = append(out, t.diagnostic(d))
	}
	return out
}

func (t *translation) diagnostic(d *diag.Diagnostic) protocol.Diagnostic {
	out := protocol.Diagnostic{Severity: protocol.DiagnosticSeverityError, Code: d.Info.Code, Source: product, Message: messageText(d)}
	if d.Severity() == diag.Warning {
		out.Severity = protocol.DiagnosticSeverityWarning
	}
	if d.File != nil {
		out.Range = t.rng(d.File, d.Span)
	}
	can := t.client.diagnosticSupport()
	if can.codes {
		if href := t.server.explanationURI(d.Info.Code); href != "" {
			out.CodeDescription = &protocol.CodeDescription{Href: href}
		}
	}
	if d.Info.Unnecessary && can.tags {
		out.Tags = append(out.Tags, protocol.DiagnosticTagUnnecessary)
	}
	for _, l := range d.Labels {
		f := l.File
		if f == nil {
			f = d.File
		}
		if f == nil || !can.related {
			continue
		}
		if at, ok := t.location(f, l.Span); ok {
			out.RelatedInformation = append(out.RelatedInformation, protocol.DiagnosticRelatedInformation{Location: at, Message: l.Text})
		}
	}
	return out
}

// messageText returns the message of a diagnostic, followed by its hints on separate lines.
func messageText(d *diag.Diagnostic) string {
	var b strings.Builder
	b.WriteString(d.Message)
	for _, h := range d.Hints {
		b.WriteString("\nhint: " + h)
	}
	return b.String()
}

// diagnosticSupport lists the optional parts of a diagnostic that the client supports.
type diagnosticSupport struct{ related, tags, codes bool }

// diagnosticSupport returns the parts of diagnostics that the client supports. A client can specify
// them for pulled and for pushed diagnostics.
func (c *client) diagnosticSupport() diagnosticSupport {
	d := deref(c.TextDocument)
	if c.pulls() {
		p := d.Diagnostic
		return diagnosticSupport{p.RelatedInformation || deref(d.PublishDiagnostics).RelatedInformation, p.TagSupport != nil || deref(d.PublishDiagnostics).TagSupport != nil, p.CodeDescriptionSupport || deref(d.PublishDiagnostics).CodeDescriptionSupport}
	}
	p := deref(d.PublishDiagnostics)
	return diagnosticSupport{p.RelatedInformation, p.TagSupport != nil, p.CodeDescriptionSupport}
}

// resultID returns a hash of diagnostics.
func resultID(items protocol.List[protocol.Diagnostic]) string {
	return hexsum.SHA256(jsonwrite.MustEncode(items))[:16]
}

// pullReport returns the response to a pull request: all diagnostics, or that the diagnostics are
// the same as in the previous response.
func pullReport(items protocol.List[protocol.Diagnostic], previous string) (full *protocol.FullDocumentDiagnosticReport, same *protocol.UnchangedDocumentDiagnosticReport) {
	id := resultID(items)
	if id == previous {
		return nil, &protocol.UnchangedDocumentDiagnosticReport{Kind: string(protocol.DocumentDiagnosticReportKindUnchanged), ResultID: id}
	}
	return &protocol.FullDocumentDiagnosticReport{Kind: string(protocol.DocumentDiagnosticReportKindFull), ResultID: id, Items: items}, nil
}

func documentDiagnostic(c *call, p *protocol.DocumentDiagnosticParams) (any, error) {
	items, err := c.items(p.TextDocument.URI)
	if err != nil {
		return nil, err
	}
	full, same := pullReport(items, p.PreviousResultID)
	if same != nil {
		return same, nil
	}
	return full, nil
}

// items returns the diagnostics of a document. If the check panics, it returns a diagnostic that
// reports the panic.
func (c *call) items(uri protocol.DocumentURI) (items protocol.List[protocol.Diagnostic], err error) {
	defer func() {
		if p := recover(); p != nil {
			stack := debug.Stack()
			items, err = protocol.List[protocol.Diagnostic]{internalErrorDiagnostic(p)}, nil
			c.loop.enqueue(func() { c.loop.reportCrash(c.view, c.method, p, stack) })
		}
	}()
	path := c.path(uri)
	if c.server.isCached(path) {
		return nil, nil
	}
	found, err := c.snapshot.DiagnosticsOf(c, path)
	if err != nil {
		return nil, err
	}
	return c.translation().diagnostics(found), nil
}

// path returns the path of a document in the analysis.
func (v *view) path(uri protocol.DocumentURI) string {
	if d := v.find(uri); d != nil {
		return d.path
	}
	return pathOf(uri)
}

func workspaceDiagnostic(c *call, p *protocol.WorkspaceDiagnosticParams) (*protocol.WorkspaceDiagnosticReport, error) {
	all, err := c.snapshot.Diagnostics(c)
	if err != nil {
		return nil, err
	}
	previous := map[protocol.DocumentURI]string{}
	for _, x := range p.PreviousResultIDs {
		previous[x.URI] = x.Value
	}
	t, out := c.translation(), &protocol.WorkspaceDiagnosticReport{}
	add := func(uri protocol.DocumentURI, version *int32, items protocol.List[protocol.Diagnostic]) {
		full, same := pullReport(items, previous[uri])
		delete(previous, uri)
		if same != nil {
			out.Items = append(out.Items, protocol.WorkspaceUnchangedDocumentDiagnosticReport{Kind: same.Kind, ResultID: same.ResultID, URI: uri, Version: version})
			return
		}
		out.Items = append(out.Items, protocol.WorkspaceFullDocumentDiagnosticReport{Kind: full.Kind, ResultID: full.ResultID, Items: full.Items, URI: uri, Version: version})
	}
	for _, path := range sortedKeys(all) {
		uri := c.uriOf(path)
		if c.server.isCached(path) {
			continue
		}
		if d := c.docs[uri]; d != nil {
			add(uri, &d.version, t.diagnostics(all[path]))
		} else if c.settings.Check.Unopened {
			add(uri, nil, t.diagnostics(all[path]))
		}
	}
	for _, uri := range sortedKeys(previous) { // files that were removed since the previous response
		add(uri, nil, nil)
	}
	return out, nil
}

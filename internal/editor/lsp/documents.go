package lsp

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"github.com/concerto-lang/concerto/internal/editor/lsp/protocol"
	"github.com/concerto-lang/concerto/internal/text/fileuri"
	"github.com/concerto-lang/concerto/internal/text/hexsum"
	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
)

// document is the text of an open document. It is immutable: each edit creates a new document.
type document struct {
	uri     protocol.DocumentURI
	path    string // path in the analysis
	version int32
	text    []byte
	lines   func() *lines
}

func newDocument(uri protocol.DocumentURI, version int32, text []byte, enc encoding) *document {
	return &document{uri, pathOf(uri), version, text, sync.OnceValue(func() *lines { return newLines(text, enc) })}
}

// pathOf returns the path of a document in the analysis. For a URI that is not the URI of a file,
// the path is the URI itself.
func pathOf(uri protocol.DocumentURI) string {
	if path, ok := fileuri.Path(string(uri), runtime.GOOS); ok {
		return path
	}
	return string(uri)
}

// uriOf returns the URI of a path. For an open document, it is the URI with which the client opened
// the document.
func (v *view) uriOf(path string) protocol.DocumentURI {
	for uri, d := range v.docs {
		if d.path == path {
			return uri
		}
	}
	for _, f := range v.linked {
		if rest, in := strings.CutPrefix(path, f.real); in && (rest == "" || rest[0] == filepath.Separator) {
			return fileURI(f.named + rest)
		}
	}
	return fileURI(path)
}

// link is a folder that the client names by a path with symbolic links, and its real path.
type link struct{ named, real string }

// linksOf returns the folders whose paths contain symbolic links. The URIs of files in such a
// folder must use the client's path.
func linksOf(folders []string) (all []link) {
	for _, folder := range folders {
		if real, err := filepath.EvalSymlinks(folder); err == nil && real != filepath.Clean(folder) {
			all = append(all, link{filepath.Clean(folder), real})
		}
	}
	return all
}

func fileURI(path string) protocol.DocumentURI {
	if uri, ok := fileuri.Of(path, runtime.GOOS); ok {
		return protocol.DocumentURI(uri)
	}
	return protocol.DocumentURI(path)
}

// find returns the open document with a URI or with another URI of the same file.
func (v *view) find(uri protocol.DocumentURI) *document {
	if d := v.docs[uri]; d != nil {
		return d
	}
	path := pathOf(uri)
	for _, d := range v.docs {
		if d.path == path {
			return d
		}
	}
	return nil
}

// updateView replaces the view by a modified copy. f modifies the copy.
func (s *server) updateView(f func(v *view)) {
	v := *s.view
	f(&v)
	s.view = &v
}

// setDocument stores an open document, or removes it if d is nil.
func (s *server) setDocument(uri protocol.DocumentURI, d *document) {
	s.updateView(func(v *view) {
		v.docs = maps.Clone(v.docs)
		if d == nil {
			delete(v.docs, uri)
		} else {
			v.docs[uri] = d
		}
	})
}

func (s *server) didOpen(p *protocol.DidOpenTextDocumentParams) {
	d := newDocument(p.TextDocument.URI, p.TextDocument.Version, []byte(p.TextDocument.Text), s.view.enc)
	s.setDocument(d.uri, d)
	s.workspace.Open(d.path, string(d.text))
	s.afterEdit()
}

func (s *server) didChange(p *protocol.DidChangeTextDocumentParams) {
	d := s.view.docs[p.TextDocument.URI]
	if d == nil {
		s.options.log("ignored an edit of %s, which is not open", p.TextDocument.URI)
		return
	}
	text := d.text
	for i, c := range p.ContentChanges {
		l := d.lines()
		if i > 0 {
			l = newLines(text, s.view.enc)
		}
		text = l.applyChange(c)
	}
	d = newDocument(d.uri, p.TextDocument.Version, text, s.view.enc)
	s.setDocument(d.uri, d)
	s.workspace.Change(d.path, string(text))
	s.afterEdit()
}

// applyChange returns the text after a change that the client sent.
func (l *lines) applyChange(c protocol.TextDocumentContentChangePartial) []byte {
	if c.Range == nil {
		return []byte(c.Text)
	}
	at := l.span(*c.Range)
	out := make([]byte, 0, len(l.text)-int(at.End-at.Start)+len(c.Text))
	out = append(out, l.text[:at.Start]...)
	out = append(out, c.Text...)
	return append(out, l.text[at.End:]...)
}

func (s *server) didClose(p *protocol.DidCloseTextDocumentParams) {
	d := s.view.docs[p.TextDocument.URI]
	if d == nil {
		s.options.log("ignored the close of %s, which is not open", p.TextDocument.URI)
		return
	}
	s.setDocument(d.uri, nil)
	delete(s.sentTokens, d.uri)
	s.workspace.Close(d.path)
	s.afterEdit()
}

// afterEdit creates a new snapshot and schedules a check. It is called after each change of a
// document or file.
func (s *server) afterEdit() {
	s.updateView(func(v *view) { v.snapshot = s.workspace.Snapshot() })
	s.cancelOutdated()
	s.checkSoon()
}

// methodText returns the server's text of a document. Tests use it with --check-sync.
const methodText = "concerto/text"

type textParams struct {
	URI protocol.DocumentURI `json:"uri"`
}

type textResult struct {
	Version int32  `json:"version"`
	SHA256  string `json:"sha256"`
	Length  int    `json:"length"`
}

func text(c *call, p *textParams) (*textResult, error) {
	d := c.docs[p.URI]
	if d == nil {
		return nil, newError(codeInvalidParams, "%s is not open", p.URI)
	}
	return &textResult{d.version, hexsum.SHA256(d.text), len(d.text)}, nil
}

// rawString encodes a string as JSON.
func rawString(s string) json.RawMessage { return jsonwrite.MustEncode(s) }

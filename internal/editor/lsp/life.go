package lsp

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"time"

	"github.com/concerto-lang/concerto/internal/editor/analysis"
	"github.com/concerto-lang/concerto/internal/editor/lsp/protocol"
	"github.com/concerto-lang/concerto/internal/eval/dataset"
	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
)

// product is the source that the server's diagnostics name.
const product = "concerto"

// client contains the capabilities of the client.
type client struct{ protocol.ClientCapabilities }

// deref returns the value that a pointer refers to, or the zero value for nil.
func deref[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// pulls reports whether the client pulls diagnostics.
func (c *client) pulls() bool { return deref(c.TextDocument).Diagnostic != nil }

// watches reports whether the client can watch files for the server.
func (c *client) watches() bool {
	return deref(deref(c.Workspace).DidChangeWatchedFiles).DynamicRegistration
}

// aliveInterval is the time between two checks of the client's process, and between two scans for
// changed files.
const aliveInterval = time.Second

// initialize handles the initialize request.
func (s *server) initialize(params json.RawMessage) (json.RawMessage, *Error) {
	if s.phase != fresh {
		return nil, newError(codeInvalidRequest, "`initialize` was sent twice")
	}
	p := &protocol.InitializeParams{}
	if err := decode(params, p); err != nil {
		return nil, err
	}
	set := defaults
	if !isNull(p.InitializationOptions) {
		if err := set.read(p.InitializationOptions); err != nil {
			s.options.log("initializationOptions: %v", err)
		}
	}
	s.updateView(func(v *view) {
		v.client, v.settings = client{p.Capabilities}, set
		v.enc = encodingOf(deref(p.Capabilities.General).PositionEncodings)
	})
	s.phase = running
	s.folders = foldersOf(p, s.options.Dir)
	s.workspace = analysis.New(analysis.Options{Folders: s.folders, Data: dataset.Checker(checkedRows)})
	s.updateView(func(v *view) { v.snapshot, v.linked = s.workspace.Snapshot(), linksOf(s.folders) })
	if p.ProcessID != nil && s.options.Alive != nil {
		s.watchClient(int(*p.ProcessID))
	}
	result := struct {
		Capabilities options             `json:"capabilities"`
		ServerInfo   protocol.ServerInfo `json:"serverInfo"`
	}{s.view.capabilities(), protocol.ServerInfo{Name: product, Version: s.options.Name}}
	return jsonwrite.MustEncode(result), nil
}

// encodingOf returns the first encoding offered by the client that the server supports.
func encodingOf(offered []protocol.PositionEncodingKind) encoding {
	supported := []encoding{protocol.PositionEncodingKindUTF8, protocol.PositionEncodingKindUTF16, protocol.PositionEncodingKindUTF32}
	for _, e := range offered {
		if slices.Contains(supported, e) {
			return e
		}
	}
	return protocol.PositionEncodingKindUTF16
}

// foldersOf returns the directories of the client's workspace.
func foldersOf(p *protocol.InitializeParams, dir string) []string {
	var all []string
	for _, f := range p.WorkspaceFolders {
		all = append(all, pathOf(f.URI))
	}
	switch {
	case len(all) > 0 || p.WorkspaceFolders != nil:
	case p.RootURI != nil:
		all = append(all, pathOf(*p.RootURI))
	case deref(p.RootPath) != "":
		all = append(all, *p.RootPath)
	}
	return slices.DeleteFunc(all, func(f string) bool { return !filepath.IsAbs(f) })
}

// watchClient exits the server when the client's process has exited.
func (s *server) watchClient(pid int) {
	s.after(aliveInterval, func() {
		if !s.options.Alive(pid) {
			s.end(1, "")
			return
		}
		s.watchClient(pid)
	})
}

// initialized requests the settings and registers for changed files, if the client supports this.
func (s *server) initialized(*protocol.InitializedParams) {
	s.configure()
	if s.view.client.watches() {
		s.ask(protocol.MethodClientRegisterCapability, protocol.RegistrationParams{Registrations: []protocol.Registration{{
			ID: "files", Method: protocol.MethodWorkspaceDidChangeWatchedFiles,
			RegisterOptions: jsonwrite.MustEncode(protocol.DidChangeWatchedFilesRegistrationOptions{Watchers: []protocol.FileSystemWatcher{{GlobPattern: watchedPatterns}}}),
		}}}, nil)
	} else {
		s.polled = s.stamps()
		s.poll()
	}
	s.checkNow()
}

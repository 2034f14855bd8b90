package lsp

import (
	"encoding/json"

	"github.com/concerto-lang/concerto/internal/editor/lsp/protocol"
)

// settings contains the client's settings below `concerto`.
type settings struct {
	InlayHints struct {
		Types      bool `json:"types"`
		Parameters bool `json:"parameters"`
		Leaves     bool `json:"leaves"`
	} `json:"inlayHints"`
	CodeLens struct {
		Run        bool `json:"run"`
		Tests      bool `json:"tests"`
		Answers    bool `json:"answers"`
		References bool `json:"references"`
	} `json:"codeLens"`
	Completion struct {
		Snippets bool `json:"snippets"`
	} `json:"completion"`
	Check struct {
		Unopened bool `json:"unopened"`
	} `json:"check"`
}

var defaults = func() (s settings) {
	s.InlayHints.Types, s.InlayHints.Leaves = true, true
	s.CodeLens.Run, s.CodeLens.Tests, s.CodeLens.Answers, s.CodeLens.References = true, true, true, true
	s.Completion.Snippets, s.Check.Unopened = true, true
	return s
}()

// read decodes settings, with or without an enclosing `concerto` object. Settings that the object
// does not contain keep their values.
func (s *settings) read(data json.RawMessage) error {
	var outer struct {
		Concerto json.RawMessage `json:"concerto"`
	}
	if err := json.Unmarshal(data, &outer); err != nil {
		return err
	}
	if !isNull(outer.Concerto) {
		data = outer.Concerto
	}
	next := *s
	if err := json.Unmarshal(data, &next); err != nil {
		return err
	}
	*s = next
	return nil
}

// configure requests the settings from the client if the client supports that.
func (s *server) configure() {
	if !deref(s.view.client.Workspace).Configuration {
		return
	}
	s.ask(protocol.MethodWorkspaceConfiguration, protocol.ConfigurationParams{Items: []protocol.ConfigurationItem{{Section: product}}}, func(result json.RawMessage, err *Error) {
		var items []json.RawMessage
		if err != nil || json.Unmarshal(result, &items) != nil || len(items) != 1 || isNull(items[0]) {
			return
		}
		s.applySettings(items[0])
	})
}

// applySettings decodes and stores settings.
func (s *server) applySettings(data json.RawMessage) {
	next := s.view.settings
	if err := next.read(data); err != nil {
		s.options.log("settings: %v", err)
		return
	}
	if next == s.view.settings {
		return
	}
	s.updateView(func(v *view) { v.settings = next })
	s.refresh()
	s.checkSoon()
}

func (s *server) didChangeConfiguration(p *protocol.DidChangeConfigurationParams) {
	if deref(s.view.client.Workspace).Configuration {
		s.configure()
	} else if !isNull(p.Settings) {
		s.applySettings(p.Settings)
	}
}

// refresh asks the client to request again everything that depends on settings.
func (s *server) refresh() {
	w := deref(s.view.client.Workspace)
	if deref(w.InlayHint).RefreshSupport {
		s.ask(protocol.MethodWorkspaceInlayHintRefresh, nil, nil)
	}
	s.refreshLenses()
}

// refreshLenses asks the client to request the code lenses again.
func (s *server) refreshLenses() {
	if deref(deref(s.view.client.Workspace).CodeLens).RefreshSupport {
		s.ask(protocol.MethodWorkspaceCodeLensRefresh, nil, nil)
	}
}

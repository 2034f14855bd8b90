package lsp

import (
	"encoding/json"
	"maps"
	"strings"
	"sync"

	"github.com/concerto-lang/concerto/internal/editor/analysis"
	"github.com/concerto-lang/concerto/internal/editor/lsp/protocol"
)

// request handles a request and returns its result.
type request = func(c *call, params json.RawMessage) (any, error)

// method describes a request that clients may send.
type method struct {
	run      request
	answer   any     // value of the result's type, for tests
	options  options // properties of the capability that offers the request
	timeless bool    // the result stays valid after an edit
}

// options contains the properties of a capability.
type options map[string]any

// newMethod returns a method that decodes parameters of type P. more contains the properties of its
// capability.
func newMethod[P, R any](f func(*call, *P) (R, error), more ...options) method {
	m := method{answer: *new(R), run: func(c *call, params json.RawMessage) (any, error) {
		p := new(P)
		if err := decode(params, p); err != nil {
			return nil, err
		}
		return f(c, p)
	}}
	if len(more) > 0 {
		m.options = more[0]
	}
	return m
}

// withResult sets the result type of a request that has several. x is a value of the most general
// type.
func (m method) withResult(x any) method { m.answer = x; return m }

// anyVersion marks a request whose result stays valid after an edit.
func (m method) anyVersion() method { m.timeless = true; return m }

// notification returns a handler that decodes parameters of type P.
func notification[P any](f func(*server, *P)) func(*server, json.RawMessage) *Error {
	return func(s *server, params json.RawMessage) *Error {
		p := new(P)
		if err := decode(params, p); err != nil {
			return err
		}
		f(s, p)
		return nil
	}
}

var (
	// requests maps method names to requests. It does not contain `initialize` and `shutdown`.
	requests map[string]method
	// notifications maps method names to notification handlers. It does not contain `exit`.
	notifications map[string]func(*server, json.RawMessage) *Error
)

// initMethods sets requests and notifications. Other commands of the program than the server do not
// need them.
var initMethods = sync.OnceFunc(func() {
	requests = map[string]method{
		methodText:                                         newMethod(text).anyVersion(),
		protocol.MethodTextDocumentDiagnostic:              newMethod(documentDiagnostic, options{"identifier": product, "interFileDependencies": true, "workspaceDiagnostics": true}).withResult(protocol.FullDocumentDiagnosticReport{}),
		protocol.MethodWorkspaceDiagnostic:                 newMethod(workspaceDiagnostic),
		protocol.MethodTextDocumentFormatting:              newMethod(formatDocument),
		protocol.MethodTextDocumentRangeFormatting:         newMethod(formatRange),
		protocol.MethodTextDocumentOnTypeFormatting:        newMethod(formatOnType, options{"firstTriggerCharacter": "}", "moreTriggerCharacter": []string{";"}}),
		protocol.MethodTextDocumentHover:                   newMethod(hover),
		protocol.MethodTextDocumentCompletion:              newMethod(completion, options{"triggerCharacters": []string{".", ":", "\"", "@", "$", "/"}, "completionItem": options{"labelDetailsSupport": true}}),
		protocol.MethodCompletionItemResolve:               newMethod(resolveItem).anyVersion(),
		protocol.MethodTextDocumentSignatureHelp:           newMethod(signatureHelp, options{"triggerCharacters": []string{"(", ","}}),
		protocol.MethodTextDocumentDefinition:              newMethod(definition),
		protocol.MethodTextDocumentTypeDefinition:          newMethod(typeDefinition),
		protocol.MethodTextDocumentImplementation:          newMethod(implementation),
		protocol.MethodTextDocumentPrepareRename:           newMethod(prepareRename),
		protocol.MethodTextDocumentRename:                  newMethod(rename),
		protocol.MethodWorkspaceWillRenameFiles:            newMethod(willRenameFiles, fileFilter()),
		protocol.MethodTextDocumentInlayHint:               newMethod(inlayHint),
		protocol.MethodInlayHintResolve:                    newMethod(resolveInlay).anyVersion(),
		protocol.MethodWorkspaceExecuteCommand:             newMethod(executeCommand, options{"commands": commandNames()}).withResult(struct{}{}).anyVersion(),
		protocol.MethodTextDocumentCodeLens:                newMethod(codeLens, options{}),
		protocol.MethodTextDocumentPrepareCallHierarchy:    newMethod(prepareCallHierarchy),
		protocol.MethodCallHierarchyIncomingCalls:          newMethod(incomingCalls),
		protocol.MethodCallHierarchyOutgoingCalls:          newMethod(outgoingCalls),
		protocol.MethodTextDocumentReferences:              newMethod(references),
		protocol.MethodTextDocumentDocumentHighlight:       newMethod(documentHighlight),
		protocol.MethodTextDocumentDocumentSymbol:          newMethod(documentSymbol).withResult(protocol.List[protocol.DocumentSymbol]{}),
		protocol.MethodWorkspaceSymbol:                     newMethod(workspaceSymbol),
		protocol.MethodTextDocumentFoldingRange:            newMethod(foldingRange),
		protocol.MethodTextDocumentSelectionRange:          newMethod(selectionRange),
		protocol.MethodTextDocumentDocumentLink:            newMethod(documentLink, options{}),
		protocol.MethodTextDocumentSemanticTokensFull:      newMethod(semanticTokensFull, options{"legend": options{"tokenTypes": analysis.TokenTypes, "tokenModifiers": analysis.TokenModifiers}}),
		protocol.MethodTextDocumentSemanticTokensFullDelta: newMethod(semanticTokensDelta).withResult(protocol.SemanticTokens{}),
		protocol.MethodTextDocumentSemanticTokensRange:     newMethod(semanticTokensRange),
		protocol.MethodTextDocumentCodeAction:              newMethod(codeAction, options{"codeActionKinds": analysis.ActionKinds()}),
	}
	notifications = map[string]func(*server, json.RawMessage) *Error{
		protocol.MethodInitialized:                        notification((*server).initialized),
		protocol.MethodCancelRequest:                      notification((*server).handleCancel),
		methodProgressCancel:                              notification((*server).handleProgressCancel),
		protocol.MethodTextDocumentDidOpen:                notification((*server).didOpen),
		protocol.MethodTextDocumentDidChange:              notification((*server).didChange),
		protocol.MethodTextDocumentDidClose:               notification((*server).didClose),
		protocol.MethodTextDocumentDidSave:                notification((*server).didSave),
		protocol.MethodWorkspaceDidChangeConfiguration:    notification((*server).didChangeConfiguration),
		protocol.MethodWorkspaceDidChangeWatchedFiles:     notification((*server).didChangeWatchedFiles),
		protocol.MethodWorkspaceDidChangeWorkspaceFolders: notification((*server).didChangeWorkspaceFolders),
		protocol.MethodWorkspaceDidCreateFiles:            notification((*server).didCreateFiles),
		protocol.MethodWorkspaceDidRenameFiles:            notification((*server).didRenameFiles),
		protocol.MethodWorkspaceDidDeleteFiles:            notification((*server).didDeleteFiles),
	}
})

// fileFilter returns the filter for the files whose renames the client reports.
func fileFilter() options {
	return options{"filters": []options{
		{"scheme": "file", "pattern": options{"glob": watchedPatterns}},
		{"scheme": "file", "pattern": options{"glob": "**", "matches": "folder"}},
	}}
}

// capabilities returns the server's capabilities. They are derived from the tables of methods.
func (v *view) capabilities() options {
	all := options{
		"positionEncoding": v.enc,
		"textDocumentSync": options{"openClose": true, "change": 2, "save": options{"includeText": false}},
		"workspace": options{
			"workspaceFolders": options{"supported": true, "changeNotifications": true},
			"fileOperations":   options{"didCreate": fileFilter(), "didRename": fileFilter(), "didDelete": fileFilter()},
		},
	}
	for name, m := range requests {
		if at := protocol.Capabilities[name]; at != "" && (name != protocol.MethodTextDocumentDiagnostic || v.client.pulls()) && name != protocol.MethodWorkspaceDiagnostic {
			all.set(strings.Split(at, "."), m.options)
		}
	}
	return all
}

// set sets a nested capability. Without options, its value is true.
func (o options) set(at []string, more options) {
	inner, isOptions := o[at[0]].(options)
	if len(at) > 1 {
		if inner == nil {
			inner = options{}
			o[at[0]] = inner
		}
		inner.set(at[1:], more)
		return
	}
	switch {
	case isOptions:
		maps.Copy(inner, more)
	case more != nil:
		o[at[0]] = maps.Clone(more)
	case o[at[0]] == nil:
		o[at[0]] = true
	}
}

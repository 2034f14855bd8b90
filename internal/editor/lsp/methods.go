package lsp

import (
	"encoding/json"
	"maps"
	"strings"

	"github.com/concerto-lang/concerto/internal/editor/analysis"
	"github.com/concerto-lang/concerto/internal/editor/lsp/protocol"
)

// request handles a request and returns the result.
type request = func(c *call, params json.RawMessage) (any, error)

// method is a request that clients may make.
type method struct {
	run      request
	answer   any     // a value of the result's type, for tests
	options  options // more of the capability by which it is offered
	timeless bool    // an edit does not make its answer useless
}

// options are the properties of a capability.
type options map[string]any

// on returns a request with these types of parameters and result, and options of its capability.
func on[P, R any](f func(*call, *P) (R, error), more ...options) method {
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

// as sets the result type of a request with several types; x is the most general one.
func (m method) as(x any) method { m.answer = x; return m }

// whenever marks a request whose result no edit invalidates.
func (m method) whenever() method { m.timeless = true; return m }

// take returns a notification with this type of parameters.
func take[P any](f func(*server, *P)) func(*server, json.RawMessage) *Error {
	return func(s *server, params json.RawMessage) *Error {
		p := new(P)
		if err := decode(params, p); err != nil {
			return err
		}
		f(s, p)
		return nil
	}
}

// requests maps methods to requests, except `initialize` and `shutdown`.
var requests map[string]method

func init() { // assigned here because handlers refer to the table
	requests = map[string]method{
		methodText:                                         on(text).whenever(),
		protocol.MethodTextDocumentDiagnostic:              on(documentDiagnostic, options{"identifier": product, "interFileDependencies": true, "workspaceDiagnostics": true}).as(protocol.FullDocumentDiagnosticReport{}),
		protocol.MethodWorkspaceDiagnostic:                 on(workspaceDiagnostic),
		protocol.MethodTextDocumentFormatting:              on(formatDocument),
		protocol.MethodTextDocumentRangeFormatting:         on(formatRange),
		protocol.MethodTextDocumentOnTypeFormatting:        on(formatOnType, options{"firstTriggerCharacter": "}", "moreTriggerCharacter": []string{";"}}),
		protocol.MethodTextDocumentHover:                   on(hover),
		protocol.MethodTextDocumentCompletion:              on(completion, options{"triggerCharacters": []string{".", ":", "\"", "@", "$", "/"}, "completionItem": options{"labelDetailsSupport": true}}),
		protocol.MethodCompletionItemResolve:               on(resolveItem).whenever(),
		protocol.MethodTextDocumentSignatureHelp:           on(signatureHelp, options{"triggerCharacters": []string{"(", ","}}),
		protocol.MethodTextDocumentDefinition:              on(definition),
		protocol.MethodTextDocumentTypeDefinition:          on(typeDefinition),
		protocol.MethodTextDocumentImplementation:          on(implementation),
		protocol.MethodTextDocumentPrepareRename:           on(prepareRename),
		protocol.MethodTextDocumentRename:                  on(rename),
		protocol.MethodWorkspaceWillRenameFiles:            on(willRenameFiles, fileFilter),
		protocol.MethodTextDocumentInlayHint:               on(inlayHint),
		protocol.MethodInlayHintResolve:                    on(resolveInlay).whenever(),
		protocol.MethodWorkspaceExecuteCommand:             on(executeCommand, options{"commands": commandNames()}).as(struct{}{}).whenever(),
		protocol.MethodTextDocumentCodeLens:                on(codeLens, options{}),
		protocol.MethodTextDocumentPrepareCallHierarchy:    on(prepareCallHierarchy),
		protocol.MethodCallHierarchyIncomingCalls:          on(incomingCalls),
		protocol.MethodCallHierarchyOutgoingCalls:          on(outgoingCalls),
		protocol.MethodTextDocumentReferences:              on(references),
		protocol.MethodTextDocumentDocumentHighlight:       on(documentHighlight),
		protocol.MethodTextDocumentDocumentSymbol:          on(documentSymbol).as(protocol.List[protocol.DocumentSymbol]{}),
		protocol.MethodWorkspaceSymbol:                     on(workspaceSymbol),
		protocol.MethodTextDocumentFoldingRange:            on(foldingRange),
		protocol.MethodTextDocumentSelectionRange:          on(selectionRange),
		protocol.MethodTextDocumentDocumentLink:            on(documentLink, options{}),
		protocol.MethodTextDocumentSemanticTokensFull:      on(semanticTokensFull, options{"legend": legend}),
		protocol.MethodTextDocumentSemanticTokensFullDelta: on(semanticTokensDelta).as(protocol.SemanticTokens{}),
		protocol.MethodTextDocumentSemanticTokensRange:     on(semanticTokensRange),
		protocol.MethodTextDocumentCodeAction:              on(codeAction, options{"codeActionKinds": analysis.ActionKinds()}),
	}
}

// notifications maps methods to notifications, except `exit`.
var notifications = map[string]func(*server, json.RawMessage) *Error{
	protocol.MethodInitialized:                        take((*server).initialized),
	protocol.MethodCancelRequest:                      take((*server).cancelled),
	methodProgressCancel:                              take((*server).progressCancelled),
	protocol.MethodTextDocumentDidOpen:                take((*server).didOpen),
	protocol.MethodTextDocumentDidChange:              take((*server).didChange),
	protocol.MethodTextDocumentDidClose:               take((*server).didClose),
	protocol.MethodTextDocumentDidSave:                take((*server).didSave),
	protocol.MethodWorkspaceDidChangeConfiguration:    take((*server).didChangeConfiguration),
	protocol.MethodWorkspaceDidChangeWatchedFiles:     take((*server).didChangeWatchedFiles),
	protocol.MethodWorkspaceDidChangeWorkspaceFolders: take((*server).didChangeWorkspaceFolders),
	protocol.MethodWorkspaceDidCreateFiles:            take((*server).didCreateFiles),
	protocol.MethodWorkspaceDidRenameFiles:            take((*server).didRenameFiles),
	protocol.MethodWorkspaceDidDeleteFiles:            take((*server).didDeleteFiles),
}

// fileFilter selects the files for file operation events.
var fileFilter = options{"filters": []options{
	{"scheme": "file", "pattern": options{"glob": watched}},
	{"scheme": "file", "pattern": options{"glob": "**", "matches": "folder"}},
}}

// capabilities returns the server's capabilities from the tables, and the kind of text
// synchronisation.
func (v *view) capabilities() options {
	all := options{
		"positionEncoding": v.enc,
		"textDocumentSync": options{"openClose": true, "change": 2, "save": options{"includeText": false}},
		"workspace": options{
			"workspaceFolders": options{"supported": true, "changeNotifications": true},
			"fileOperations":   options{"didCreate": fileFilter, "didRename": fileFilter, "didDelete": fileFilter},
		},
	}
	for name, m := range requests {
		if at := protocol.Capabilities[name]; at != "" && (name != protocol.MethodTextDocumentDiagnostic || v.client.pulls()) && name != protocol.MethodWorkspaceDiagnostic {
			all.offer(strings.Split(at, "."), m.options)
		}
	}
	return all
}

// offer sets a nested capability. Without options it is true.
func (o options) offer(at []string, more options) {
	inner, isOptions := o[at[0]].(options)
	if len(at) > 1 {
		if inner == nil {
			inner = options{}
			o[at[0]] = inner
		}
		inner.offer(at[1:], more)
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

package lsp

import (
	"encoding/json"
	"maps"
	"strings"

	"github.com/concerto-lang/concerto/internal/editor/analysis"
	"github.com/concerto-lang/concerto/internal/editor/lsp/protocol"
)

// request gives the answer to a request.
type request = func(c *call, params json.RawMessage) (any, error)

// method is a request that clients may make.
type method struct {
	run      request
	answer   any     // a value of the type that run gives, for tests
	options  options // more of the capability by which it is offered
	timeless bool    // an edit does not make its answer useless
}

// options are what a server says of a capability.
type options map[string]any

// on returns a request whose params and answer have these types, with more of its capability.
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

// as returns a request that answers with one of several types, of which x is the longest.
func (m method) as(x any) method { m.answer = x; return m }

// whenever returns a request whose answer no edit makes useless.
func (m method) whenever() method { m.timeless = true; return m }

// take returns a notification whose params have this type.
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

// requests are what clients may ask for, `initialize` and `shutdown` apart.
var requests map[string]method

func init() { // the answers look into the table
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

// notifications are what clients may tell, `exit` apart.
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

// fileFilter says of which files the server wants to hear that they were made, renamed and deleted.
var fileFilter = options{"filters": []options{
	{"scheme": "file", "pattern": options{"glob": watched}},
	{"scheme": "file", "pattern": options{"glob": "**", "matches": "folder"}},
}}

// capabilities returns what the server offers: what stands in the table, and how texts are kept in
// step.
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

// offer sets a capability, which stands below others. Without more to say of it, it is true.
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

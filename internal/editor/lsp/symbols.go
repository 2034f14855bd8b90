package lsp

import (
	"github.com/concerto-lang/concerto/internal/editor/analysis"
	"github.com/concerto-lang/concerto/internal/editor/lsp/protocol"
)

// symbolKinds are the protocol's kinds of symbols.
var symbolKinds = map[analysis.SymbolKind]protocol.SymbolKind{
	analysis.FunctionSymbol: protocol.SymbolKindFunction,
	analysis.MethodSymbol:   protocol.SymbolKindMethod,
	analysis.TestSymbol:     protocol.SymbolKindFunction,
	analysis.StructSymbol:   protocol.SymbolKindStruct,
	analysis.SchemaSymbol:   protocol.SymbolKindStruct,
	analysis.EnumSymbol:     protocol.SymbolKindEnum,
	analysis.TraitSymbol:    protocol.SymbolKindInterface,
	analysis.AliasSymbol:    protocol.SymbolKindTypeParameter,
	analysis.ImplSymbol:     protocol.SymbolKindObject,
	analysis.FieldSymbol:    protocol.SymbolKindField,
	analysis.VariantSymbol:  protocol.SymbolKindEnumMember,
	analysis.ConstSymbol:    protocol.SymbolKindConstant,
	analysis.ModuleSymbol:   protocol.SymbolKindModule,
	analysis.AgentSymbol:    protocol.SymbolKindClass,
	analysis.HostSymbol:     protocol.SymbolKindInterface,
	analysis.ToolSymbol:     protocol.SymbolKindModule,
	analysis.StoreSymbol:    protocol.SymbolKindObject,
	analysis.PipelineSymbol: protocol.SymbolKindNamespace,
	analysis.StageSymbol:    protocol.SymbolKindMethod,
	analysis.HandlerSymbol:  protocol.SymbolKindEvent,
}

// documentSymbol returns the symbols as a tree, or as a list if the client does not support trees.
func documentSymbol(c *call, p *protocol.DocumentSymbolParams) (any, error) {
	all, t := c.snapshot.Symbols(c.path(p.TextDocument.URI)), c.translation()
	if deref(deref(c.client.TextDocument).DocumentSymbol).HierarchicalDocumentSymbolSupport {
		return protocol.List[protocol.DocumentSymbol](t.symbols(all)), nil
	}
	return t.flat(nil, all, ""), nil
}

// symbols converts declarations to a tree of symbols.
func (t *translation) symbols(all []analysis.Symbol) (out []protocol.DocumentSymbol) {
	for _, y := range all {
		out = append(out, protocol.DocumentSymbol{Name: y.Name, Detail: y.Detail, Kind: symbolKinds[y.Kind], Range: t.rng(y.File, y.Span), SelectionRange: t.rng(y.File, y.NameSpan),
			Children: t.symbols(y.Children)})
	}
	return out
}

// flat appends declarations to a list, with the names of their containers.
func (t *translation) flat(out protocol.List[protocol.SymbolInformation], all []analysis.Symbol, in string) protocol.List[protocol.SymbolInformation] {
	for _, y := range all {
		if at, ok := t.location(y.File, y.Span); ok {
			out = append(out, protocol.SymbolInformation{Name: y.Name, Kind: symbolKinds[y.Kind], ContainerName: in, Location: at})
		}
		out = t.flat(out, y.Children, y.Name)
	}
	return out
}

// workspaceSymbol returns the declarations of all programs that match a query. The container of a
// test is "test".
func workspaceSymbol(c *call, p *protocol.WorkspaceSymbolParams) (protocol.List[protocol.WorkspaceSymbol], error) {
	t := c.translation()
	var out protocol.List[protocol.WorkspaceSymbol]
	for _, y := range c.snapshot.WorkspaceSymbols(p.Query) {
		if at, ok := t.location(y.File, y.NameSpan); ok {
			out = append(out, protocol.WorkspaceSymbol{Name: y.Name, Kind: symbolKinds[y.Kind], ContainerName: y.Container, Location: at})
		}
	}
	return out, nil
}

package parser

import (
	plex "github.com/alecthomas/participle/v2/lexer"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/source"
)

// agentHeader is an agent up to its fields; `uses` is a word here only.
type agentHeader struct {
	Head fixed      `parser:"'agent' Name"`
	Uses plex.Token `parser:"( 'uses' @Name )?"`
}

func (f *agentHeader) node(name *ast.Ident) *ast.AgentDecl {
	n := &ast.AgentDecl{Uses: identOf(f.Uses)}
	n.Name = name
	return n
}

// hostHeader is a host up to its fields.
type hostHeader struct {
	Head fixed `parser:"'host' Name"`
}

func (f *hostHeader) node(name *ast.Ident) *ast.HostDecl {
	n := &ast.HostDecl{}
	n.Name = name
	return n
}

// configField is `word: value` of an agent, host or mock.
type configField struct {
	Head  fixed      `parser:"Word ':'"`
	Value expression `parser:"@@"`
}

func (f *configField) node(name *ast.Ident) *ast.ConfigField {
	n := &ast.ConfigField{Name: name, Value: f.Value}
	n.Sp = source.Join(n.Name.Sp, n.Value.Span())
	return n
}

// toolHeader is a tool up to its members.
type toolHeader struct {
	Head fixed `parser:"'tool' Name"`
}

func (f *toolHeader) node(name *ast.Ident) *ast.ToolDecl {
	n := &ast.ToolDecl{}
	n.Name = name
	return n
}

// toolField is `name: T = value`, state that lives for the run.
type toolField struct {
	Head    fixed      `parser:"Word ':'"`
	Type    typeExpr   `parser:"@@"`
	Default expression `parser:"'=' @@"`
}

func (f *toolField) node(name *ast.Ident) *ast.FieldDecl {
	return &ast.FieldDecl{Name: name, Type: f.Type, Default: f.Default}
}

// mcpHeader is an MCP server up to its signatures.
type mcpHeader struct {
	Head fixed `parser:"'mcp' Name"`
}

func (f *mcpHeader) node(name *ast.Ident) *ast.McpDecl {
	n := &ast.McpDecl{}
	n.Name = name
	return n
}

// pipelineHeader is a pipeline up to its stages.
type pipelineHeader struct {
	Head   fixed     `parser:"'pipeline' Name"`
	Params paramList `parser:"( '(' @@ ')' )?"`
	Result typeExpr  `parser:"( '->' @@ )?"`
}

func (f *pipelineHeader) node(name *ast.Ident) *ast.PipelineDecl {
	n := &ast.PipelineDecl{HasParams: f.Params != nil, Params: paramsOf(f.Params)}
	n.Name = name
	if f.Result != nil {
		n.Result = f.Result
	}
	return n
}

// stageHeader is a function stage up to its body, or a binding stage.
type stageHeader struct {
	Head   fixed      `parser:"'stage' Name"`
	Params paramList  `parser:"( '(' @@ ')'"`
	Result typeExpr   `parser:"  '->' @@"`
	Value  expression `parser:"| '=' @@ )"`
}

func (f *stageHeader) node(name *ast.Ident) *ast.Stage {
	n := &ast.Stage{Name: name, Params: paramsOf(f.Params)}
	if f.Result != nil {
		n.Result = f.Result
	}
	if f.Value != nil {
		n.Value = f.Value
	}
	return n
}

// store is `memory name: T = value`, hashmap and ledger alike.
type store struct {
	Head  fixed      `parser:"( 'hashmap' | 'ledger' | 'memory' ) Name"`
	Type  typeExpr   `parser:"':' @@"`
	Value expression `parser:"'=' @@"`
}

func (f *store) node(name *ast.Ident, kind ast.StoreKind) *ast.StoreDecl {
	n := &ast.StoreDecl{Kind: kind, Type: f.Type, Value: f.Value}
	n.Name = name
	return n
}

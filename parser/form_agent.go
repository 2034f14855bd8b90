package parser

import (
	plex "github.com/alecthomas/participle/v2/lexer"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/source"
)

// agentHeader is an agent up to its fields; `uses` is a word here only.
type agentHeader struct {
	Name plex.Token `parser:"'agent' @Name"`
	Uses plex.Token `parser:"( 'uses' @Name )?"`
}

func (f *agentHeader) node() *ast.AgentDecl {
	n := &ast.AgentDecl{Uses: identOf(f.Uses)}
	n.Name = identOf(f.Name)
	return n
}

// hostHeader is a host up to its fields.
type hostHeader struct {
	Name plex.Token `parser:"'host' @Name"`
}

func (f *hostHeader) node() *ast.HostDecl {
	n := &ast.HostDecl{}
	n.Name = identOf(f.Name)
	return n
}

// configField is `word: value` of an agent, host or mock.
type configField struct {
	Name  plex.Token `parser:"@Word ':'"`
	Value expression `parser:"@@"`
}

func (f *configField) node() *ast.ConfigField {
	n := &ast.ConfigField{Name: identOf(f.Name), Value: f.Value}
	n.Sp = source.Join(n.Name.Sp, n.Value.Span())
	return n
}

// toolHeader is a tool up to its members.
type toolHeader struct {
	Name plex.Token `parser:"'tool' @Name"`
}

func (f *toolHeader) node() *ast.ToolDecl {
	n := &ast.ToolDecl{}
	n.Name = identOf(f.Name)
	return n
}

// toolField is `name: T = value`, state that lives for the run.
type toolField struct {
	Name    plex.Token `parser:"@Word ':'"`
	Type    typeExpr   `parser:"@@"`
	Default expression `parser:"'=' @@"`
}

func (f *toolField) node() *ast.FieldDecl {
	return &ast.FieldDecl{Name: identOf(f.Name), Type: f.Type, Default: f.Default}
}

// mcpHeader is an MCP server up to its signatures.
type mcpHeader struct {
	Name plex.Token `parser:"'mcp' @Name"`
}

func (f *mcpHeader) node() *ast.McpDecl {
	n := &ast.McpDecl{}
	n.Name = identOf(f.Name)
	return n
}

// pipelineHeader is a pipeline up to its stages.
type pipelineHeader struct {
	Name   plex.Token `parser:"'pipeline' @Name"`
	Params paramList  `parser:"( '(' @@ ')' )?"`
	Result typeExpr   `parser:"( '->' @@ )?"`
}

func (f *pipelineHeader) node() *ast.PipelineDecl {
	n := &ast.PipelineDecl{HasParams: f.Params != nil, Params: paramsOf(f.Params)}
	n.Name = identOf(f.Name)
	if f.Result != nil {
		n.Result = f.Result
	}
	return n
}

// stageHeader is a function stage up to its body, or a binding stage.
type stageHeader struct {
	Name   plex.Token `parser:"'stage' @Name"`
	Params paramList  `parser:"( '(' @@ ')'"`
	Result typeExpr   `parser:"  '->' @@"`
	Value  expression `parser:"| '=' @@ )"`
}

func (f *stageHeader) node() *ast.Stage {
	n := &ast.Stage{Name: identOf(f.Name), Params: paramsOf(f.Params)}
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
	Kind  plex.Token `parser:"@( 'hashmap' | 'ledger' | 'memory' )"`
	Name  plex.Token `parser:"@Name"`
	Type  typeExpr   `parser:"':' @@"`
	Value expression `parser:"'=' @@"`
}

func (f *store) node() *ast.StoreDecl {
	n := &ast.StoreDecl{Type: f.Type, Value: f.Value}
	n.Name = identOf(f.Name)
	for k := ast.HashMapStore; k <= ast.MemoryStore; k++ {
		if k.String() == f.Kind.Value {
			n.Kind = k
		}
	}
	return n
}

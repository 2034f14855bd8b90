package parser

import (
	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/source"
)

// agentHeader is an agent up to its fields; `uses` is a word here only.
type agentHeader struct {
	Name *name `parser:"'agent' @Name"`
	Uses *name `parser:"( 'uses' @Name )?"`
}

func (f *agentHeader) node() *ast.AgentDecl {
	n := &ast.AgentDecl{Uses: (*ast.Ident)(f.Uses)}
	n.Name = (*ast.Ident)(f.Name)
	return n
}

// hostHeader is a host up to its fields.
type hostHeader struct {
	Name *name `parser:"'host' @Name"`
}

func (f *hostHeader) node() *ast.HostDecl {
	n := &ast.HostDecl{}
	n.Name = (*ast.Ident)(f.Name)
	return n
}

// configField is `word: value` of an agent, host or mock.
type configField struct {
	Name  *word    `parser:"@Word ':'"`
	Value ast.Expr `parser:"@@"`
}

func (f *configField) node() *ast.ConfigField {
	n := &ast.ConfigField{Name: (*ast.Ident)(f.Name), Value: f.Value}
	n.Sp = source.Join(n.Name.Sp, n.Value.Span())
	return n
}

// toolHeader is a tool up to its members.
type toolHeader struct {
	Name *name `parser:"'tool' @Name"`
}

func (f *toolHeader) node() *ast.ToolDecl {
	n := &ast.ToolDecl{}
	n.Name = (*ast.Ident)(f.Name)
	return n
}

// toolField is `name: T = value`, state that lives for the run.
type toolField struct {
	Name    *word    `parser:"@Word ':'"`
	Type    ast.Type `parser:"@@"`
	Default ast.Expr `parser:"'=' @@"`
}

func (f *toolField) node() *ast.FieldDecl {
	return &ast.FieldDecl{Name: (*ast.Ident)(f.Name), Type: f.Type, Default: f.Default}
}

// mcpHeader is an MCP server up to its signatures.
type mcpHeader struct {
	Name *name `parser:"'mcp' @Name"`
}

func (f *mcpHeader) node() *ast.McpDecl {
	n := &ast.McpDecl{}
	n.Name = (*ast.Ident)(f.Name)
	return n
}

// pipelineHeader is a pipeline up to its stages.
type pipelineHeader struct {
	Name      *name     `parser:"'pipeline' @Name"`
	HasParams bool      `parser:"( @'('"`
	Params    paramList `parser:"  @@ ')' )?"`
	Result    ast.Type  `parser:"( '->' @@ )?"`
}

func (f *pipelineHeader) node() *ast.PipelineDecl {
	n := &ast.PipelineDecl{HasParams: f.HasParams, Params: f.Params.list, Result: f.Result}
	n.Name = (*ast.Ident)(f.Name)
	return n
}

// stageHeader is a function stage up to its body, or a binding stage.
type stageHeader struct {
	Name   *name     `parser:"'stage' @Name"`
	Params paramList `parser:"( '(' @@ ')'"`
	Result ast.Type  `parser:"  '->' @@"`
	Value  ast.Expr  `parser:"| '=' @@ )"`
}

func (f *stageHeader) node() *ast.Stage {
	return &ast.Stage{Name: (*ast.Ident)(f.Name), Params: f.Params.list, Result: f.Result, Value: f.Value}
}

// store is `memory name: T = value`, hashmap and ledger alike.
type store struct {
	Name  *name    `parser:"( 'hashmap' | 'ledger' | 'memory' ) @Name"`
	Type  ast.Type `parser:"':' @@"`
	Value ast.Expr `parser:"'=' @@"`
}

func (f *store) node(kind ast.StoreKind) *ast.StoreDecl {
	n := &ast.StoreDecl{Kind: kind, Type: f.Type, Value: f.Value}
	n.Name = (*ast.Ident)(f.Name)
	return n
}

package parser

import (
	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/text/source"
)

// agentHeader is the part of an agent before its fields. `uses` is a keyword only here.
type agentHeader struct {
	Name *captured `parser:"'agent' @Name"`
	Uses *captured `parser:"( 'uses' @Name )?"`
}

func (f *agentHeader) node(p *parser) *ast.AgentDecl {
	n := &ast.AgentDecl{Uses: p.captured(f.Uses)}
	n.Name = p.captured(f.Name)
	return n
}

// hostHeader is the part of a host before its fields.
type hostHeader struct {
	Name *captured `parser:"'host' @Name"`
}

func (f *hostHeader) node(p *parser) *ast.HostDecl {
	n := &ast.HostDecl{}
	n.Name = p.captured(f.Name)
	return n
}

// configField is a field `word: value` of an agent, host or mock.
type configField struct {
	Name  *captured `parser:"@Word ':'"`
	Value ast.Expr  `parser:"@@"`
}

func (f *configField) node(p *parser) *ast.ConfigField {
	n := &ast.ConfigField{Name: p.captured(f.Name), Value: f.Value}
	n.Sp = source.Join(n.Name.Sp, n.Value.Span())
	return n
}

// toolHeader is the part of a tool before its members.
type toolHeader struct {
	Name *captured `parser:"'tool' @Name"`
}

func (f *toolHeader) node(p *parser) *ast.ToolDecl {
	n := &ast.ToolDecl{}
	n.Name = p.captured(f.Name)
	return n
}

// toolField is a state field `name: T = value` of a tool.
type toolField struct {
	Name    *captured `parser:"@Word ':'"`
	Type    ast.Type  `parser:"@@"`
	Default ast.Expr  `parser:"'=' @@"`
}

func (f *toolField) node(p *parser) *ast.FieldDecl {
	return &ast.FieldDecl{Name: p.captured(f.Name), Type: f.Type, Default: f.Default}
}

// mcpHeader is the part of an MCP server before its signatures.
type mcpHeader struct {
	Name *captured `parser:"'mcp' @Name"`
}

func (f *mcpHeader) node(p *parser) *ast.McpDecl {
	n := &ast.McpDecl{}
	n.Name = p.captured(f.Name)
	return n
}

// pipelineHeader is the part of a pipeline before its stages.
type pipelineHeader struct {
	Name      *captured `parser:"'pipeline' @Name"`
	HasParams bool      `parser:"( @'('"`
	Params    paramList `parser:"  @@ ')' )?"`
	Result    ast.Type  `parser:"( '->' @@ )?"`
}

func (f *pipelineHeader) node(p *parser) *ast.PipelineDecl {
	n := &ast.PipelineDecl{HasParams: f.HasParams, Params: f.Params.list, Result: f.Result}
	n.Name = p.captured(f.Name)
	return n
}

// stageHeader is a binding stage, or the part of a function stage before its body.
type stageHeader struct {
	Name   *captured `parser:"'stage' @Name"`
	Params paramList `parser:"( '(' @@ ')'"`
	Result ast.Type  `parser:"  '->' @@"`
	Value  ast.Expr  `parser:"| '=' @@ )"`
}

func (f *stageHeader) node(p *parser) *ast.Stage {
	return &ast.Stage{Name: p.captured(f.Name), Params: f.Params.list, Result: f.Result, Value: f.Value}
}

// store is `memory name: T = value`. The words hashmap, ledger and queue declare the other kinds.
type store struct {
	Name  *captured `parser:"( 'hashmap' | 'ledger' | 'memory' | 'queue' ) @Name"`
	Type  ast.Type  `parser:"':' @@"`
	Value ast.Expr  `parser:"'=' @@"`
}

func (f *store) node(p *parser, kind ast.StoreKind) *ast.StoreDecl {
	n := &ast.StoreDecl{Kind: kind, Type: f.Type, Value: f.Value}
	n.Name = p.captured(f.Name)
	return n
}

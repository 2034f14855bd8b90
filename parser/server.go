package parser

import (
	"strconv"
	"strings"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/text/foreign"
	"github.com/concerto-lang/concerto/lexer"
)

// reportServerFields reports consecutive fields that describe the connection to an MCP server,
// which the manifest configures. The diagnostic contains the corresponding keys of the manifest.
// reportServerFields returns false if the current token starts no such field.
func (p *parser) reportServerFields(server *ast.Ident) bool {
	start, at, first := p.here(), p.span(), p.i
	var keys []string
	for p.k == lexer.Ident && p.peek(1) == lexer.Colon && foreign.Server.Hint(p.text()) != "" {
		if len(keys) > 0 {
			at = p.from(start)
		}
		key := p.text()
		p.next()
		p.next()
		keys = append(keys, manifestKeys(key, p.expr())...)
		if k := p.peek(1); p.k != lexer.Comma || k != lexer.Ident || p.peek(2) != lexer.Colon {
			break
		}
		p.next()
	}
	if len(keys) == 0 {
		return false
	}
	p.recordLostText(nil, first, p.i)
	p.report(diag.Unexpected.At(at, "an `mcp` block contains only functions; the connection to the server is configured in Concerto.toml").
		Hint("write this in section `[mcp.%s]`: `%s`", server.Name, strings.Join(keys, "`, `")))
	return true
}

// manifestKeys returns the lines of the manifest that correspond to the field key with the value x.
// A command with spaces becomes a program and its arguments.
func manifestKeys(key string, x ast.Expr) []string {
	text := "…"
	if s, ok := x.(*ast.StringLit); ok {
		text = strconv.Quote(s.Value)
		if words := strings.Fields(s.Value); key == "command" && len(words) > 1 {
			for i, w := range words {
				words[i] = strconv.Quote(w)
			}
			return []string{"command = " + words[0], "args = [" + strings.Join(words[1:], ", ") + "]"}
		}
	}
	return []string{key + " = " + text}
}

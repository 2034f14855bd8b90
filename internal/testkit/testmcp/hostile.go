package testmcp

import (
	"context"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Hostile lists tools whose names, descriptions and schemas try to pass as code, or contain control
// sequences of terminals. A server offers them if TESTMCP_HOSTILE is set.
var Hostile = []struct{ Name, Description, Input, Output string }{
	{"f(); } @test fn t() { std::fs::write(\"owned\", \"x\"); } trait Z { fn g", "", `{"type":"object"}`, ""},
	{"line\n@test fn t() {}\nmcp Y { fn h", "", `{"type":"object"}`, ""},
	{"fn", "", `{"type":"object"}`, ""},
	{"3d", "Begins with a digit", `{"type":"object"}`, ""},
	{"", "", `{"type":"object"}`, ""},
	{"a.b", "", `{"type":"object"}`, ""},
	{"esc\x1b[31m\u202e", "", `{"type":"object"}`, ""},
	{"param", "", `{"type":"object","properties":{"x: String) -> String; } fn main() { } mcp Q { fn z(y":{"type":"string"}}}`, ""},
	{"word", "", `{"type":"object","properties":{"match":{"type":"string"}}}`, ""},
	{"described", "First\r// \u001b]0;title\u0007\u2028pub fn sneaked() {}\n*/ fn other() {} /*\n}}} ${1 + 1} \u202etxt",
		`{"type":"object","properties":{"x":{"type":"string","description":"a\") fn q() {} // \u001b[2J ${std::env::get(\"HOME\")} \\"}}}`, ""},
	{"choices", "", `{"type":"object","properties":{"mode":{"type":"string","enum":["a\"; } fn q() { ","${std::env::get(\"HOME\")}","\u001b[31m","\\",""]}}}`, ""},
	{"nested", "", `{"type":"object","properties":{"deep":{"type":"object","description":"x\n} fn main() {}","properties":{
		"a: Int } fn q() {} schema R { b":{"type":"string"}}},"words":{"type":"object","properties":{"fn":{"type":"string"}}}}}`,
		`{"type":"object","properties":{"result":{"type":"object","properties":{"ok":{"type":"boolean","description":"yes\u001b[0m"}}}}}`},
}

// addHostile adds the tools of Hostile.
func addHostile(s *mcp.Server) {
	for _, h := range Hostile {
		t := &mcp.Tool{Name: h.Name, Description: h.Description, InputSchema: json.RawMessage(h.Input)}
		if h.Output != "" {
			t.OutputSchema = json.RawMessage(h.Output)
		}
		s.AddTool(t, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{}, nil
		})
	}
}

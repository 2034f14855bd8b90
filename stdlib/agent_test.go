package stdlib

import (
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/data/value"
)

func TestAgent(t *testing.T) {
	run(t, []call{
		{"agent.tool_args", `["{\"a\": 2, \"b\": 1}"]`, `{"a":2,"b":1}`, ""},
		{"agent.tool_args", `["  "]`, `{}`, ""},
		{"agent.tool_args", `["null"]`, `{}`, ""},
		{"agent.tool_args", `["[1]"]`, `ToolError: the arguments must be a JSON object, not Array`, ""},
		{"agent.tool_text", `["raw"]`, `"raw"`, ""},
		{"agent.tool_text", `[null]`, `"null"`, ""},
		{"agent.tool_text", `[[1, "x"]]`, `"[1,\"x\"]"`, ""},
		{"host.tool_call", `[{"id": "t", "tool": "look", "args": {"a": 1, "b": 2}}]`, `["look",{"a":1,"b":2}]`, ""},
		{"host.tool_call", `[{"id": "t", "tool": "look"}]`, `["look",{}]`, ""},
		{"host.tool_call", `[{"id": "t", "tool": 5}]`, "ToolError: tool_call: `tool` must be a string, not Int", ""},
		{"host.tool_call", `[{"tool": "x", "args": [1]}]`, "ToolError: tool_call: `args` must be an object, not Array", ""},
	})
	_, err := natives["agent.tool_args"].Invoke("agent.tool_args", []value.Slot{value.String("{")})
	if got := outcome(value.Nil, err); !strings.HasPrefix(got, "ToolError: the arguments are not JSON: ") {
		t.Error(got)
	}
}

package mcp

import (
	"encoding/json"
	"testing"
)

func TestMisfit(t *testing.T) {
	const theirs = `{"type":"object","properties":{"path":{"type":"string"},"limit":{"type":["integer","null"]},
		"mode":{"type":"string","enum":["a","b"]},"at":{"type":"number"},"tags":{"type":"array","items":{"type":"string"}},"any":{}},"required":["path"]}`
	for _, c := range []struct{ ours, want string }{
		{`{"properties":{"path":{"type":"string"}},"required":["path"]}`, ""},
		{`{"properties":{"path":{"type":"string"},"limit":{"type":"integer"},"at":{"type":"integer"},"any":{"type":"object"}},"required":["path","at"]}`, ""},
		{`{"properties":{"path":{"type":"string"},"mode":{"type":"string","enum":["a"]}},"required":["path"]}`, ""},
		{`{"properties":{"path":{"type":"string"},"mode":{"type":"string","enum":["a","c"]}},"required":["path"]}`, "`mode` is \"a\" | \"b\" there"},
		{`{"properties":{"path":{"type":"integer"}},"required":["path"]}`, "`path` is String there"},
		{`{"properties":{"path":{"type":"string"}}}`, "`path` is required there"},
		{`{"properties":{"path":{"type":"string"},"tags":{"type":"array","items":{"type":"integer"}}},"required":["path"]}`, "`tags` is Array<String> there"},
		{`{"properties":{"path":{"type":"string"},"more":{}},"required":["path"]}`, "it has no parameter `more`"},
		{`{"properties":{}}`, "it requires `path`"},
	} {
		if got := misfit(readShape(json.RawMessage(c.ours)), readShape(json.RawMessage(theirs))); got != c.want {
			t.Errorf("parameters %s: misfit = %q, want %q", c.ours, got, c.want)
		}
	}
	if got := signature("read", readShape(json.RawMessage(theirs))); got != `fn read(any: Any?, at: Float?, limit: Int?, mode: "a" | "b"?, path: String, tags: Array<String>?)` {
		t.Error(got)
	}
}

func TestElicitation(t *testing.T) {
	one := map[string]any{"properties": map[string]any{"name": map[string]any{}}}
	two := map[string]any{"properties": map[string]any{"a": nil, "b": nil}}
	for _, c := range []struct {
		answer string
		schema any
		want   string
	}{
		{`"Ada"`, one, `{"action":"accept","content":{"name":"Ada"}}`},
		{`{"a":1,"b":2}`, two, `{"action":"accept","content":{"a":1,"b":2}}`},
		{`true`, nil, `{"action":"accept"}`},
		{`"Ada"`, two, `{"action":"decline"}`},
		{`null`, one, `{"action":"decline"}`},
		{`false`, one, `{"action":"decline"}`},
		{`"No"`, one, `{"action":"decline"}`},
		{`"cancel"`, one, `{"action":"cancel"}`},
		{``, one, `{"action":"decline"}`},
	} {
		got, err := json.Marshal(elicitation(json.RawMessage(c.answer), c.schema))
		if err != nil || string(got) != c.want {
			t.Errorf("answer %s: content %s (error %v), want %s", c.answer, got, err, c.want)
		}
	}
}

package adapter

import (
	"strings"
	"testing"
)

const twoQuestions = `[{"question":"Tabs or spaces?","header":"Indent","multiSelect":false,"options":[{"label":"Tabs"},{"label":"Two Spaces"}]},` +
	`{"question":"Which?","header":"Parts","multiSelect":true,"options":[{"label":"A"},{"label":"B"}]}]`

// questions lists questions of each vendor, their translations, and the answers to them.
var questions = []struct {
	transport, line, want string
	answers               [][2]string
}{
	{"claude-code", `{"type":"control_request","request_id":"r","request":{"subtype":"can_use_tool","tool_name":"AskUserQuestion","input":{"questions":[{"question":"Which?","header":"Parts","multiSelect":true,"options":[{"label":"A"},{"label":"B"}]}]}}}`,
		`{"type":"question","id":"r","question":"Which?","options":["A","B"],"questions":[{"id":"Which?","question":"Which?","header":"Parts","options":[{"label":"A"},{"label":"B"}],"multi":true}]`,
		[][2]string{
			{`["b","A "]`, `"answers":{"Which?":"B, A"}`}, {`"none of them"`, `"answers":{"Which?":"none of them"}`}, {`{"Parts":"a"}`, `"answers":{"Which?":"A"}`},
			{`""`, `"behavior":"deny"`}, {`null`, `"message":"there was no usable answer"`}, {`7`, `"behavior":"deny"`}, {`{"Other":"a"}`, `"behavior":"deny"`},
		}},
	{"claude-code", `{"type":"control_request","request_id":"r","request":{"subtype":"can_use_tool","tool_name":"AskUserQuestion","input":{"questions":` + twoQuestions + `}}}`,
		`{"type":"question","id":"r","question":"Tabs or spaces?\nWhich?","questions":[{"id":"Tabs or spaces?","question":"Tabs or spaces?","header":"Indent","options":[{"label":"Tabs"},{"label":"Two Spaces"}],"multi":false},{"id":"Which?","question":"Which?","header":"Parts","options":[{"label":"A"},{"label":"B"}],"multi":true}]`,
		[][2]string{
			{`{"Indent":"twospaces","Which?":["a","b"]}`, `"answers":{"Tabs or spaces?":"Two Spaces","Which?":"A, B"}`},
			{`["tabs",["B"]]`, `"answers":{"Tabs or spaces?":"Tabs","Which?":"B"}`}, {`"as you like"`, `"answers":{"Tabs or spaces?":"as you like","Which?":"as you like"}`},
			{`["tabs"]`, `"answers":{"Tabs or spaces?":"Tabs"}`}, {`[["a","b"]]`, `"behavior":"deny"`}, {`["tabs"]`, `"questions":[{"question":"Tabs or spaces?"`},
		}},
	{"codex", `{"method":"item/tool/requestUserInput","id":0,"params":{"questions":[{"id":"q","header":"H","question":"Which?","options":[{"label":"Yes","description":"d"}]}]}}`,
		`{"type":"question","id":"0","question":"Which?","options":["Yes"],"questions":[{"id":"q","question":"Which?","header":"H","options":[{"label":"Yes","description":"d"}],"multi":false}],"session":"T"`,
		[][2]string{{`"YES"`, `"result":{"answers":{"q":{"answers":["Yes"]}}}`}, {`{"q":"no"}`, `{"q":{"answers":["no"]}}`}, {`""`, `"result":{"answers":{}}`}, {`{"a":1}`, `"answers":{}`}}},
	{"codex", `{"method":"item/tool/requestUserInput","id":0,"params":{"questions":[{"id":"q","question":"Free?","options":null}]}}`,
		`{"type":"question","id":"0","question":"Free?","questions":[{"id":"q","question":"Free?","options":[],"multi":false}],"session":"T"`, nil},
	{"codex", `{"method":"mcpServer/elicitation/request","id":0,"params":{"mode":"form","message":"Who?","requestedSchema":{"type":"object","properties":{"name":{"type":"string","title":"Name"},"age":{"type":"integer"}},"required":["name"]}}}`,
		`{"type":"question","id":"0","question":"Who?","questions":[{"id":"name","question":"Name","options":[],"multi":false},{"id":"age","question":"age","options":[],"multi":false}],"schema":{"type":"object","properties":{"name":{"type":"string","title":"Name"},"age":{"type":"integer"}},"required":["name"]},"session":"T"`,
		[][2]string{
			{`{"name":"Ada","age":"36"}`, `{"_meta":null,"action":"accept","content":{"age":36,"name":"Ada"}}`}, {`{"name":"Ada"}`, `"content":{"name":"Ada"}`},
			{`["Ada",36]`, `"content":{"age":36,"name":"Ada"}`}, {`{"age":36}`, `{"_meta":null,"action":"decline","content":null}`}, {`{"name":"Ada","age":"old"}`, `"action":"decline"`},
			{`{"name":"Ada","age":3.5}`, `"action":"decline"`}, {`null`, `"action":"decline"`},
		}},
	{"acp", `{"method":"elicitation/create","id":5,"params":{"requestedSchema":{"properties":{"q":{"type":"string","title":"Which?","oneOf":[{"const":"Red","title":"Red — take Red"},{"const":"b","title":"Blue — sky"}]}}}}}`,
		`{"type":"question","id":"5","question":"Which?","options":["Red","Blue — sky"],"questions":[{"id":"q","question":"Which?","options":[{"label":"Red","description":"take Red"},{"label":"Blue — sky"}],"multi":false}],"schema":{"properties":{"q":{"type":"string","title":"Which?","oneOf":[{"const":"Red","title":"Red — take Red"},{"const":"b","title":"Blue — sky"}]}}},"session":"S"`,
		[][2]string{{`"red"`, `"content":{"q":"Red"}`}, {`"b"`, `"content":{"q":"b"}`}}},
	{"acp", `{"method":"elicitation/create","id":5,"params":{"sessionId":"S","mode":"form","message":"Indent?","requestedSchema":{"properties":{"q":{"type":"string","title":"Indent","oneOf":[{"const":"t","title":"Tabs"},{"const":"s","title":"Two spaces"}]},"q_custom":{"type":"string"}}}}}`,
		`{"type":"question","id":"5","question":"Indent?","options":["Tabs","Two spaces"],"questions":[{"id":"q","question":"Indent","options":[{"label":"Tabs"},{"label":"Two spaces"}],"multi":false}],"schema":{"properties":{"q":{"type":"string","title":"Indent","oneOf":[{"const":"t","title":"Tabs"},{"const":"s","title":"Two spaces"}]},"q_custom":{"type":"string"}}},"session":"S"`,
		[][2]string{
			{`"TWO SPACES"`, `"result":{"action":"accept","content":{"q":"s"}}`}, {`"t"`, `"content":{"q":"t"}`}, {`"three"`, `"content":{"q_custom":"three"}`},
			{`{"q_custom":"my own"}`, `"content":{"q_custom":"my own"}`}, {`{"q":7}`, `{"action":"decline"}`}, {`""`, `{"action":"decline"}`},
		}},
	{"acp", `{"method":"elicitation/create","id":5,"params":{"mode":"form","message":"Set","requestedSchema":{"properties":{"l":{"type":"array","items":{"type":"string","enum":["a","b"]}},"ok":{"type":"boolean"},"e":{"type":"string","enum":["x"],"enumNames":["The X"]}}}}}`,
		`{"type":"question","id":"5","question":"Set","questions":[{"id":"l","question":"l","options":[{"label":"a"},{"label":"b"}],"multi":true},{"id":"ok","question":"ok","options":[],"multi":false},{"id":"e","question":"e","options":[{"label":"The X"}],"multi":false}],"schema":{"properties":{"l":{"type":"array","items":{"type":"string","enum":["a","b"]}},"ok":{"type":"boolean"},"e":{"type":"string","enum":["x"],"enumNames":["The X"]}}},"session":"S"`,
		[][2]string{
			{`{"l":["A","b"],"ok":true,"e":"the x"}`, `"content":{"e":"x","l":["a","b"],"ok":true}`}, {`{"l":"a","ok":"Yes"}`, `"content":{"l":["a"],"ok":true}`},
			{`{"l":["c"]}`, `"action":"decline"`}, {`{"ok":"maybe"}`, `"action":"decline"`}, {`{"l":[1]}`, `"action":"decline"`}, {`{"e":"y"}`, `"action":"decline"`},
		}},
}

func TestQuestions(t *testing.T) {
	for _, c := range questions {
		id := map[string]string{"claude-code": "r", "codex": "0", "acp": "5"}[c.transport]
		ask := func() Adapter {
			a := begun(t, c.transport)
			if got := translateFromAgent(t, a, c.line); got != c.want {
				t.Fatalf("%s: translation of %s:\ngot  %s\nwant %s", c.transport, c.line, got, c.want)
			}
			return a
		}
		for _, answer := range c.answers {
			s := ask().ToAgent(response(id, "value", answer[0]))
			if len(s.Lines) != 1 || !strings.Contains(string(s.Lines[0]), answer[1]) {
				t.Errorf("%s: question %s\nanswered with %s: lines to the agent %s, want %s", c.transport, c.line, answer[0], s.Lines, answer[1])
			}
		}
		s := ask().ToAgent(response(id, "error", `"nobody"`))
		for _, refusal := range []string{`"behavior":"deny","interrupt":false,"message":"nobody"`, `"answers":{}`, `"action":"decline"`} {
			if len(s.Lines) == 1 && strings.Contains(string(s.Lines[0]), refusal) {
				s.Lines = nil
			}
		}
		if s.Lines != nil {
			t.Errorf("%s: a response with an error produced %s, want a refusal", c.transport, s.Lines)
		}
	}
}

// TestToolCalls checks that a call of one of the program's tools is answered with the tool's value
// or its error.
func TestToolCalls(t *testing.T) {
	for _, c := range []struct{ transport, line, id, value, err string }{
		{"claude-code", `{"type":"control_request","request_id":"r","request":{"subtype":"mcp_message","server_name":"concerto","message":{"id":7,"method":"tools/call","params":{"name":"look"}}}}`, "r",
			`"mcp_response":{"id":7,"jsonrpc":"2.0","result":{"content":[{"text":"{\"n\":1}","type":"text"}],"isError":false}}`, `[{"text":"no","type":"text"}],"isError":true`},
		{"codex", `{"method":"item/tool/call","id":4,"params":{"tool":"look"}}`, "4",
			`"result":{"contentItems":[{"text":"{\"n\":1}","type":"inputText"}],"success":true}`, `[{"text":"no","type":"inputText"}],"success":false`},
	} {
		for member, want := range map[string][2]string{"value": {`{"n":1}`, c.value}, "error": {`"no"`, c.err}} {
			a := begun(t, c.transport)
			a.FromAgent([]byte(c.line))
			if s := a.ToAgent(response(c.id, member, want[0])); len(s.Lines) != 1 || !strings.Contains(string(s.Lines[0]), want[1]) {
				t.Errorf("%s: lines to the agent %s, want %s", c.transport, s.Lines, want[1])
			}
		}
	}
}

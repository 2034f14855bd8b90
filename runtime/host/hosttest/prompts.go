package hosttest

import (
	"encoding/json"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/runtime/host"
)

var promptRules = []rule{
	{"H31", "With `input_format` json the prompt is a message: `text`; `context` if the call has `.with_context`; `schema`, a JSON Schema, for `execute_with_schema`; `session`, a text, for `.resume`; `tools`, a list of `{\"name\", \"description\", \"parameters\"}`, possibly empty, if the host has the capability `tools` or `send_tools = true` in the manifest. The list contains the tools that it may call: its own `tools` and the application's.", jsonPrompts},
	{"H32", "With `input_format` text the prompt is a bare line. A line break in it is sent as the two characters `\\n`, backslashes are sent unchanged, and a context follows as `\\nContext: ` and its JSON, a schema as `\\nSchema: ` and its JSON.", textPrompts},
	{"H33", "If `input_format` is not set, it is json when `output_format` is json or the host has parameters; otherwise it is text.", inputFormat},
}

func jsonPrompts(w *world) {
	tools := []effect.ToolSpec{{Name: "stock", Description: "Pieces <in> stock", Parameters: json.RawMessage(`{"type":"object"}`)}}
	withTools := w.named("told", `
>= {"type":"prompt","text":"a","tools":[{"name":"stock","description":"Pieces <in> stock","parameters":{"type":"object"}}]}
< {"type":"result"}
>= {"type":"prompt","text":"b","tools":[]}
< {"type":"result"}
`)
	withTools.SendTools = true
	w.start(withTools, w.worker(`
>= {"type":"prompt","text":"plain"}
< {"type":"result"}
>= {"type":"prompt","text":"with context","context":{"files":["a","b"],"depth":2}}
< {"type":"result"}
>= {"type":"prompt","text":"with both","context":["x"],"schema":{"type":"object"}}
< {"type":"result"}
>= {"type":"prompt","text":"","context":null}
< {"type":"result"}
`))
	for _, r := range []effect.ExchangeOpen{
		{Prompt: "plain"},
		{Prompt: "with context", Context: json.RawMessage(`{"files":["a","b"],"depth":2}`)},
		{Prompt: "with both", Context: json.RawMessage(`["x"]`), Schema: json.RawMessage(`{"type":"object"}`)},
		{Prompt: "", Context: json.RawMessage(`null`), Tools: tools},
		{Host: "told", Prompt: "a", Tools: tools},
		{Host: "told", Prompt: "b"},
	} {
		w.exchange(r)
	}
}

// exchange runs an exchange with worker and checks that its only message is an empty result.
func (w *world) exchange(r effect.ExchangeOpen) {
	w.Helper()
	if r.Host == "" {
		r.Host = "worker"
	}
	x, err := w.tryOpen(r)
	if err != nil {
		w.Fatal(err)
	}
	x.want("result", `{}`)
	x.close()
}

func textPrompts(w *world) {
	c := w.worker(`
>= hello
< {"type":"result"}
>= 
< {"type":"result"}
>= two\nlines\nand \n, a \\ and "quotes" é
< {"type":"result"}
>= go\nContext: {"a":"x\ny"}
< {"type":"result"}
>= go\nContext: [1]\nSchema: {"type":"object"}
< {"type":"result"}
`)
	c.InputFormat = "text"
	w.start(c)
	for _, r := range []effect.ExchangeOpen{
		{Prompt: "hello"},
		{Prompt: ""},
		{Prompt: "two\nlines\r\nand \\n, a \\\\ and \"quotes\" é"},
		{Prompt: "go", Context: json.RawMessage(`{"a":"x\ny"}`)},
		{Prompt: "go", Context: json.RawMessage(`[1]`), Schema: json.RawMessage(`{"type":"object"}`)},
	} {
		w.exchange(r)
	}
}

func inputFormat(w *world) {
	const text, jsonLine = ">= go\n< {\"type\":\"result\"}\n", ">= {\"type\":\"prompt\",\"text\":\"go\"}\n< {\"type\":\"result\"}\n"
	make := func(name, script, input, output string) host.Config {
		c := w.named(name, script)
		c.InputFormat, c.OutputFormat = input, output
		return c
	}
	params := make("params", "read\n< {\"type\":\"init_ack\"}\n"+jsonLine, "", "")
	params.Params = json.RawMessage(`{"a":1}`)
	initialised := make("given", "read\n< {\"type\":\"init_ack\"}\n"+text, "text", "json")
	initialised.Params = params.Params
	w.start(
		make("nothing", text, "", ""),
		make("out-text", text, "", "text"),
		make("out-json", jsonLine, "", "json"),
		make("in-json", jsonLine, "json", "text"),
		params, initialised,
	)
	for _, name := range []string{"nothing", "out-text", "out-json", "in-json", "params", "given"} {
		w.exchange(effect.ExchangeOpen{Host: name, Prompt: "go"})
	}
}

package tooltest

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/concerto-lang/concerto/runtime/tool"
)

// Around provides a tool's implementation with access to its environment. If the tools of a route
// cannot report progress or call other tools, its methods do nothing.
type Around interface {
	Progress(done, total float64, message string)
	Call(ctx context.Context, name string, args any) tool.Result
}

// Tool is a tool of the script with its declaration and its implementation.
type Tool struct {
	tool.Definition // without a handler
	Do              func(ctx context.Context, input json.RawMessage, a Around) (tool.Result, error)
}

// Find returns the tool with a name and version.
func Find(name string, version int) (Tool, bool) {
	for _, x := range Tools() {
		if x.Name == name && x.Version == version {
			return x, true
		}
	}
	return Tool{}, false
}

// Tools lists the tools that the script calls.
func Tools() []Tool {
	value := `{"type":"object","properties":{"value":{}},"required":["value"]}`
	guarded := define("guarded", value, echo)
	guarded.RequiresApproval = true
	slow := define("slow", `{"type":"object"}`, wait)
	slow.Timeout = 200 * time.Millisecond
	second := define("versioned", `{"type":"object"}`, fixedOutput("2"))
	second.Version = 2
	return []Tool{
		define("echo", value, echo), guarded, slow, define("wait", `{"type":"object","properties":{"url":{"type":"string"}}}`, wait),
		define("query", `{"type":"object","properties":{"sql":{"type":"string","minLength":1},"limit":{"type":"integer","minimum":1},"order":{"enum":["asc","desc"]},`+
			`"tags":{"type":"array","items":{"type":"string"}},"token":{"type":"string","writeOnly":true}},"required":["sql"],"additionalProperties":false}`, fixedOutput(`"rows"`)),
		define("fail", `{"type":"object"}`, func(context.Context, json.RawMessage, Around) (tool.Result, error) {
			return tool.Failure("no rows"), nil
		}),
		define("steps", `{"type":"object"}`, func(_ context.Context, _ json.RawMessage, a Around) (tool.Result, error) {
			a.Progress(1, 2, "one")
			a.Progress(2, 2, "two")
			return tool.Success("done")
		}),
		define("versioned", `{"type":"object"}`, fixedOutput("1")), second,
		define("outer", `{"type":"object","properties":{"tool":{"type":"string"},"args":{}}}`, outer),
		define("big", `{"type":"object","properties":{"bytes":{"type":"integer"}},"required":["bytes"]}`, big),
	}
}

func define(name, parameters string, do func(context.Context, json.RawMessage, Around) (tool.Result, error)) Tool {
	return Tool{tool.Definition{Name: name, Version: 1, Description: "The script's tool " + strconv.Quote(name), Parameters: json.RawMessage(parameters)}, do}
}

// fixedOutput returns the implementation of a tool whose output is always the same.
func fixedOutput(output string) func(context.Context, json.RawMessage, Around) (tool.Result, error) {
	return func(context.Context, json.RawMessage, Around) (tool.Result, error) {
		return tool.Result{Success: true, Output: json.RawMessage(output)}, nil
	}
}

func echo(_ context.Context, input json.RawMessage, _ Around) (tool.Result, error) {
	var in struct{ Value json.RawMessage }
	if err := json.Unmarshal(input, &in); err != nil {
		return tool.Result{}, err
	}
	return tool.Result{Success: true, Output: in.Value}, nil
}

// wait is a tool that waits until ctx ends. If the input contains a URL, the tool first reports to
// it that it has begun.
func wait(ctx context.Context, input json.RawMessage, _ Around) (tool.Result, error) {
	var in struct{ URL string }
	if err := json.Unmarshal(input, &in); err != nil {
		return tool.Result{}, err
	}
	if in.URL != "" {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, in.URL, nil)
		if err != nil {
			return tool.Result{}, err
		}
		if answer, err := http.DefaultClient.Do(r); err == nil {
			_ = answer.Body.Close()
		}
	}
	select {
	case <-ctx.Done():
	case <-time.After(time.Hour): // without a timer the runtime ends a program in which all goroutines wait
	}
	return tool.Result{}, ctx.Err()
}

func outer(ctx context.Context, input json.RawMessage, a Around) (tool.Result, error) {
	var in struct {
		Tool string
		Args json.RawMessage
	}
	if err := json.Unmarshal(input, &in); err != nil {
		return tool.Result{}, err
	}
	r := a.Call(ctx, in.Tool, in.Args)
	r.Metadata = nil
	return r, nil
}

func big(_ context.Context, input json.RawMessage, _ Around) (tool.Result, error) {
	var in struct{ Bytes int }
	if err := json.Unmarshal(input, &in); err != nil {
		return tool.Result{}, err
	}
	return tool.Success(strings.Repeat("x", in.Bytes))
}

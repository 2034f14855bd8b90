package tooltest

import (
	"fmt"
	"strings"

	"github.com/concerto-lang/concerto/runtime/tool"
)

// Step is a call and its expected results.
type Step struct {
	Name, Tool, Args string
	Unregister       string   // tool to remove before the call; "" for none
	Cancel           bool     // cancel the call after the tool has begun; the tool reports that to the URL in Args
	Answers          []string // answers to approvals, in order; when they are used up, there is no approver
	Outcome          tool.Outcome
	Want             string   // expected result as text for a model
	Progress         []string // expected messages of the progress reports
	Asked            []string // expected arguments in the requests for approval
}

// Script returns the steps in the order in which they are played.
func Script() []Step {
	var all []Step
	for _, list := range [][]Step{echoes(), badArguments(), endings(), approvals(), versions(), compositions(), sizes()} {
		all = append(all, list...)
	}
	return all
}

func echoes() []Step {
	var all []Step
	for i, c := range []struct{ value, want string }{
		{`null`, `null`}, {`true`, `true`}, {`false`, `false`}, {`0`, `0`}, {`-7`, `-7`}, {`9007199254740993`, `9007199254740993`}, {`1.5`, `1.5`},
		{`"text"`, `text`}, {`""`, ``}, {`"ü \"q\" \\ \n</b> 😀"`, "ü \"q\" \\ \n</b> 😀"}, {`[]`, `[]`}, {`[1,"a",null,[2]]`, `[1,"a",null,[2]]`}, {`{}`, `{}`},
		{`{"a":{"b":[true]}}`, `{"a":{"b":[true]}}`},
	} {
		all = append(all, Step{Name: fmt.Sprintf("echo %d", i), Tool: "echo", Args: `{"value":` + c.value + `}`, Outcome: tool.OutcomeOK, Want: c.want})
	}
	return all
}

func badArguments() []Step {
	var all []Step
	for name, c := range []struct{ args, want string }{
		{`{}`, `sql: missing`},
		{`{"sql":1,"limit":"six"}`, `limit: expected integer, got "six"; sql: expected string, got 1`},
		{`{"sql":"a","limit":0}`, `limit: expected at least 1, got 0`},
		{`{"sql":"a","limit":2.5}`, `limit: expected integer, got 2.5`},
		{`{"sql":"","order":"up"}`, `order: expected "asc" or "desc", got "up"; sql: expected at least 1 character, got 0`},
		{`{"sql":"a","tags":["x",1,"y",null]}`, `tags[1]: expected string, got 1; tags[3]: expected string, got null`},
		{`{"sql":"a","limt":1}`, `limt: unknown (did you mean limit?)`},
		{`{"sql":"a","token":7}`, `token: expected string, got a secret`},
	} {
		all = append(all, Step{Name: fmt.Sprintf("arguments %d", name), Tool: "query", Args: c.args, Outcome: tool.OutcomeArguments, Want: "bad arguments for query: " + c.want})
	}
	return append(all, Step{Name: "arguments not found", Tool: "nothing-like-it", Args: `{}`, Outcome: tool.OutcomeNotFound, Want: "unknown tool 'nothing-like-it'"})
}

func endings() []Step {
	return []Step{
		{Name: "failure", Tool: "fail", Args: `{}`, Outcome: tool.OutcomeFailed, Want: "no rows"},
		{Name: "timeout", Tool: "slow", Args: `{}`, Outcome: tool.OutcomeTimeout, Want: "tool 'slow' timed out after 0.2 s"},
		{Name: "cancel", Tool: "wait", Args: `{"url":"URL"}`, Cancel: true, Outcome: tool.OutcomeCancelled, Want: "tool 'wait' was cancelled"},
		{Name: "progress", Tool: "steps", Args: `{}`, Outcome: tool.OutcomeOK, Want: "done", Progress: []string{"one", "two"}},
	}
}

func approvals() []Step {
	const args = `{"value":"a"}`
	step := func(name, answer string, outcome tool.Outcome, want string) Step {
		s := Step{Name: "approval " + name, Tool: "guarded", Args: args, Answers: []string{answer}, Outcome: outcome, Want: want, Asked: []string{args}}
		if answer == "" {
			s.Answers = nil
		}
		return s
	}
	granted := step("granted before", "", tool.OutcomeOK, "a")
	granted.Asked = nil
	return []Step{
		step("deny", `"not today"`, tool.OutcomeDenied, "guarded was not called: not today"),
		step("nobody", "", tool.OutcomeDenied, "guarded was not called: it was not approved"),
		step("once", `"yes"`, tool.OutcomeOK, "a"),
		step("other arguments", `{"decision":"allow","args_sha256":"00"}`, tool.OutcomeDenied, "guarded was not called: the approval is for other arguments"),
		step("edit", `{"decision":"allow","input":{"value":"b"}}`, tool.OutcomeOK, "b\n(called with changed arguments: {\"value\":\"b\"})"),
		step("bad edit", `{"decision":"allow","input":{"other":"b"}}`, tool.OutcomeArguments, "bad arguments for guarded: value: missing"),
		step("respond", `{"decision":"respond","output":[1]}`, tool.OutcomeOK, "[1]"),
		step("session", `"session"`, tool.OutcomeOK, "a"),
		granted,
	}
}

func versions() []Step {
	return []Step{
		{Name: "version 1", Tool: "versioned@1", Args: `{}`, Outcome: tool.OutcomeOK, Want: "1"},
		{Name: "version 2", Tool: "versioned@2", Args: `{}`, Outcome: tool.OutcomeOK, Want: "2"},
		{Name: "version highest", Tool: "versioned", Args: `{}`, Outcome: tool.OutcomeOK, Want: "2"},
		{Name: "version missing", Tool: "versioned@3", Args: `{}`, Outcome: tool.OutcomeNotFound, Want: "unknown tool 'versioned@3'"},
		{Name: "unregister version", Unregister: "versioned@2", Tool: "versioned", Args: `{}`, Outcome: tool.OutcomeOK, Want: "1"},
		{Name: "unregister", Unregister: "versioned", Tool: "versioned", Args: `{}`, Outcome: tool.OutcomeNotFound, Want: "unknown tool 'versioned'"},
	}
}

func compositions() []Step {
	return []Step{
		{Name: "composition", Tool: "outer", Args: `{"tool":"echo","args":{"value":"inner"}}`, Outcome: tool.OutcomeOK, Want: "inner"},
		{Name: "composition failure", Tool: "outer", Args: `{"tool":"fail","args":{}}`, Outcome: tool.OutcomeFailed, Want: "no rows"},
		{Name: "composition cycle", Tool: "outer", Args: `{"tool":"outer","args":{"tool":"outer","args":{}}}`, Outcome: tool.OutcomeFailed, Want: "tool cycle: outer → outer"},
	}
}

func sizes() []Step {
	return []Step{
		{Name: "output 64 KB", Tool: "big", Args: `{"bytes":65536}`, Outcome: tool.OutcomeOK, Want: strings.Repeat("x", 65536)},
		{Name: "output 5 MB", Tool: "big", Args: `{"bytes":5242880}`, Outcome: tool.OutcomeOK, Want: strings.Repeat("x", 5242880)},
	}
}

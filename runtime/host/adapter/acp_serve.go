package adapter

import (
	"encoding/json"
	"strings"
	"unicode"

	"github.com/concerto-lang/concerto/internal/data/decision"
	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
)

// Request is what an agent wants done at its client: with files, or in a terminal. The
// adapter hands it on once it is allowed; who does it gives back what came of it.
type Request struct {
	ID     json.RawMessage
	Method string
	Params json.RawMessage

	Number int64 // of the request, as the process made them
	Heard  int64 // the line that the adapter had heard last when it came
}

// Result answers an errand with its result.
func (e *Request) Result(result any) []byte { return rpcResult(e.ID, result) }

// Failure answers an errand with why it failed.
func (e *Request) Failure(code int, message string) []byte { return rpcFailure(e.ID, code, message) }

// File is what the requests of files say.
type File struct {
	Path    string `json:"path"`
	Content string `json:"content"`
	Line    *int   `json:"line"`  // the first, from 1; nil: from the beginning
	Limit   *int   `json:"limit"` // how many; nil: all
}

// Command is what starts a terminal.
type Command struct {
	Command string     `json:"command"`
	Args    []string   `json:"args"`
	Env     []Variable `json:"env"`
	Dir     string     `json:"cwd"`
	Limit   *int       `json:"outputByteLimit"` // how much output is kept, in bytes
}

type Variable struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Line is the command as it would be typed in a shell: quotes keep each argument one. What a
// shell is given to run is the command.
func (c *Command) Line() string {
	if len(c.Args) == 2 && strings.HasSuffix(c.Command, "sh") && (c.Args[0] == "-c" || c.Args[0] == "-lc") {
		return c.Args[1]
	}
	if len(c.Args) == 0 {
		return c.Command
	}
	words := []string{word(c.Command)}
	for _, arg := range c.Args {
		words = append(words, word(arg))
	}
	return strings.Join(words, " ")
}

// word is an argument as a word of a shell's line.
func word(arg string) string {
	if arg != "" && !strings.ContainsFunc(arg, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !strings.ContainsRune("%+,-./:=@_^", r)
	}) {
		return arg
	}
	return "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
}

// asksFile asks whether a file may be read, or written.
func (a *ACP) asksFile(s *Output, q *rpcRequest, line []byte) {
	var f File
	if err := json.Unmarshal(q.Params, &f); err != nil || f.Path == "" {
		s.answer(rpcFailure(q.ID, CodeInvalid, q.Method+" needs a path"))
		return
	}
	w := approval{tool: "fs.read", kind: "read", paths: []string{f.Path}, payload: line}
	args := obj{"path": f.Path}
	if q.Method == "fs/write_text_file" {
		w.tool, w.kind = "fs.write", "edit"
		args["content"] = f.Content
	}
	if f.Line != nil {
		args["line"] = *f.Line
	}
	if f.Limit != nil {
		args["limit"] = *f.Limit
	}
	a.asksErrand(s, q, w, args, f.Path)
}

// asksTerminal asks whether a command may be run.
func (a *ACP) asksTerminal(s *Output, q *rpcRequest, line []byte) {
	var c Command
	if err := json.Unmarshal(q.Params, &c); err != nil || c.Command == "" {
		s.answer(rpcFailure(q.ID, CodeInvalid, q.Method+" needs a command"))
		return
	}
	args := obj{"command": c.Line()}
	if c.Dir != "" {
		args["cwd"] = c.Dir
	}
	if len(c.Env) > 0 {
		args["env"] = c.Env
	}
	a.asksErrand(s, q, approval{tool: "terminal", kind: "execute", payload: line}, args, c.Line())
}

func (a *ACP) asksErrand(s *Output, q *rpcRequest, w approval, args obj, what string) {
	w.Args = jsonwrite.MustEncode(args)
	w.description = described(w.tool, what)
	w.Options = []string{decision.Once, decision.Deny}
	q.Options, q.Args = w.Options, w.Args
	w.ID = a.RPC.take(*q)
	s.approval(w)
}

// decidedErrand has an errand done when it is allowed.
func decidedErrand(s *Output, q *rpcRequest, o *ours) {
	d := o.decide(q.Options, q.Args, false)
	if !d.Allow {
		s.answer(rpcFailure(q.ID, CodeDenied, d.Reason))
		return
	}
	s.Requests = append(s.Requests, q.clientRequest())
}

func (q *rpcRequest) clientRequest() Request {
	return Request{ID: q.ID, Method: q.Method, Params: q.Params, Number: q.Number}
}

// asksOfTerminal is about a terminal that there is already.
func (a *ACP) asksOfTerminal(s *Output, q *rpcRequest, _ []byte) {
	s.Requests = append(s.Requests, q.clientRequest())
}

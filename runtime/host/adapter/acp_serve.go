package adapter

import (
	"encoding/json"
	"strings"
	"unicode"

	"github.com/concerto-lang/concerto/internal/data/decision"
	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
)

// Request is an agent's request for a file operation or a terminal. The adapter passes it to the
// service after it was allowed.
type Request struct {
	ID     json.RawMessage
	Method string
	Params json.RawMessage

	Number   int64 // number of the request among the process's requests, from 1
	LastLine int64 // number of the last line that the adapter had received when the request arrived
}

// Result returns the line that answers the request with a result.
func (e *Request) Result(result any) []byte { return rpcResult(e.ID, result) }

// Failure returns the line that answers the request with an error.
func (e *Request) Failure(code int, message string) []byte { return rpcFailure(e.ID, code, message) }

// File contains the fields of file requests.
type File struct {
	Path    string `json:"path"`
	Content string `json:"content"`
	Line    *int   `json:"line"`  // the first line, from 1; nil means from the beginning
	Limit   *int   `json:"limit"` // number of lines; nil means all
}

// Command contains the fields of a request that runs a command in a terminal.
type Command struct {
	Command string     `json:"command"`
	Args    []string   `json:"args"`
	Env     []Variable `json:"env"`
	Dir     string     `json:"cwd"`
	Limit   *int       `json:"outputByteLimit"` // bytes of output to store
}

type Variable struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Line returns the command as a user would type it in a shell, with quotes around arguments where
// necessary. If the command is a shell that runs a command line, Line returns that command line.
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

// word returns an argument as one word of a shell command.
func word(arg string) string {
	if arg != "" && !strings.ContainsFunc(arg, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !strings.ContainsRune("%+,-./:=@_^", r)
	}) {
		return arg
	}
	return "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
}

// asksFile requests approval for reading or writing a file.
func (a *ACP) asksFile(s *Output, q *rpcRequest, line []byte) {
	var f File
	if err := json.Unmarshal(q.Params, &f); err != nil || f.Path == "" {
		s.addLines(rpcFailure(q.ID, CodeInvalid, q.Method+" needs a path"))
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
	a.requestApproval(s, q, w, args, f.Path)
}

// asksTerminal requests approval for running a command.
func (a *ACP) asksTerminal(s *Output, q *rpcRequest, line []byte) {
	var c Command
	if err := json.Unmarshal(q.Params, &c); err != nil || c.Command == "" {
		s.addLines(rpcFailure(q.ID, CodeInvalid, q.Method+" needs a command"))
		return
	}
	args := obj{"command": c.Line()}
	if c.Dir != "" {
		args["cwd"] = c.Dir
	}
	if len(c.Env) > 0 {
		args["env"] = c.Env
	}
	a.requestApproval(s, q, approval{tool: "terminal", kind: "execute", payload: line}, args, c.Line())
}

func (a *ACP) requestApproval(s *Output, q *rpcRequest, w approval, args obj, what string) {
	w.Args = jsonwrite.MustEncode(args)
	w.description = described(w.tool, what)
	w.Options = []string{decision.Once, decision.Deny}
	q.Options, q.Args = w.Options, w.Args
	w.ID = a.RPC.storeRequest(*q)
	s.approval(w)
}

// passApproved passes an allowed request to the service, and refuses a denied one.
func passApproved(s *Output, q *rpcRequest, o *ours) {
	d := o.decide(q.Options, q.Args, false)
	if !d.Allow {
		s.addLines(rpcFailure(q.ID, CodeDenied, d.Reason))
		return
	}
	s.Requests = append(s.Requests, q.clientRequest())
}

func (q *rpcRequest) clientRequest() Request {
	return Request{ID: q.ID, Method: q.Method, Params: q.Params, Number: q.Number}
}

// passTerminalRequest passes on a request about an existing terminal, which needs no approval.
func (a *ACP) passTerminalRequest(s *Output, q *rpcRequest, _ []byte) {
	s.Requests = append(s.Requests, q.clientRequest())
}

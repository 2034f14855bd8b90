package host

import (
	"encoding/json"
	"strings"
	"unicode"

	"github.com/concerto-lang/concerto/internal/data/decision"
	"github.com/concerto-lang/concerto/runtime/host/jsonobject"
)

// errand is what an agent wants done at its client: with files, or in a terminal. The
// adapter hands it on once it is allowed; who does it gives back what came of it.
type errand struct {
	ID     json.RawMessage
	Method string
	Params json.RawMessage

	number int64 // of the request, as the process made them
	heard  int64 // the line that the adapter had heard last when it came
}

// done answers an errand with its result.
func (e *errand) done(result any) []byte { return rpcResult(e.ID, result) }

// failed answers an errand with why it failed.
func (e *errand) failed(code int, message string) []byte { return rpcFailure(e.ID, code, message) }

// acpFile is what the requests of files say.
type acpFile struct {
	Path    string `json:"path"`
	Content string `json:"content"`
	Line    *int   `json:"line"`  // the first, from 1; nil: from the beginning
	Limit   *int   `json:"limit"` // how many; nil: all
}

// acpCommand is what starts a terminal.
type acpCommand struct {
	Command string        `json:"command"`
	Args    []string      `json:"args"`
	Env     []acpVariable `json:"env"`
	Dir     string        `json:"cwd"`
	Limit   *int          `json:"outputByteLimit"` // how much output is kept, in bytes
}

type acpVariable struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// line is the command as it would be typed in a shell: quotes keep each argument one. What a
// shell is given to run is the command.
func (c *acpCommand) line() string {
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
func (a *acp) asksFile(s *said, q *rpcRequest, line []byte) {
	var f acpFile
	if err := json.Unmarshal(q.Params, &f); err != nil || f.Path == "" {
		s.answer(rpcFailure(q.ID, rpcInvalid, q.Method+" needs a path"))
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
func (a *acp) asksTerminal(s *said, q *rpcRequest, line []byte) {
	var c acpCommand
	if err := json.Unmarshal(q.Params, &c); err != nil || c.Command == "" {
		s.answer(rpcFailure(q.ID, rpcInvalid, q.Method+" needs a command"))
		return
	}
	args := obj{"command": c.line()}
	if c.Dir != "" {
		args["cwd"] = c.Dir
	}
	if len(c.Env) > 0 {
		args["env"] = c.Env
	}
	a.asksErrand(s, q, approval{tool: "terminal", kind: "execute", payload: line}, args, c.line())
}

func (a *acp) asksErrand(s *said, q *rpcRequest, w approval, args obj, what string) {
	w.Args = jsonobject.Encode(args)
	w.description = described(w.tool, what)
	w.Options = []string{decision.Once, decision.Deny}
	q.Options, q.Args = w.Options, w.Args
	w.ID = a.RPC.take(*q)
	s.approval(w)
}

// decidedErrand has an errand done when it is allowed.
func decidedErrand(s *said, q *rpcRequest, o *ours) {
	d := o.decide(q.Options, q.Args, false)
	if !d.Allow {
		s.answer(rpcFailure(q.ID, rpcDenied, d.Reason))
		return
	}
	s.errands = append(s.errands, q.errand())
}

func (q *rpcRequest) errand() errand {
	return errand{ID: q.ID, Method: q.Method, Params: q.Params, number: q.Number}
}

// asksOfTerminal is about a terminal that there is already.
func (a *acp) asksOfTerminal(s *said, q *rpcRequest, _ []byte) {
	s.errands = append(s.errands, q.errand())
}

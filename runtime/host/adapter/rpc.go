package adapter

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
	"github.com/concerto-lang/concerto/runtime/host/jsonobject"
)

// rpcMessage is a JSON-RPC message: a request, a notification or a response.
type rpcMessage struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *RPCError       `json:"error"`
}

type RPCError struct {
	Code    json.Number     `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data"`
}

// text returns the message, and the details in the error's data: a text, or one of the members
// that agents use.
func (e *RPCError) text() string {
	var text string
	var members struct {
		Details string `json:"details"`
		Message string `json:"message"`
		Error   string `json:"error"`
		Reason  string `json:"reason"`
	}
	if json.Unmarshal(e.Data, &text) != nil && json.Unmarshal(e.Data, &members) == nil {
		text = cmp.Or(members.Details, members.Message, members.Error, members.Reason)
	}
	return joinDetails(e.Message, text)
}

// readMembers reads a JSON object into a struct, and skips members with the wrong type. It returns
// false for another value.
func readMembers(line []byte, to any) bool {
	_, wrong := errors.AsType[*json.UnmarshalTypeError](json.Unmarshal(line, to))
	return jsonobject.Begins(line) && (wrong || json.Valid(line))
}

// problem describes why a request cannot be read, without the names of Go's types.
func problem(err error) string {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Sprintf("%s cannot be a JSON %s", cmp.Or(wrong.Field, "it"), wrong.Value)
	}
	return err.Error()
}

// joinDetails returns an error's message with its details, unless the message contains them.
func joinDetails(message, details string) string {
	details = strings.TrimSpace(details)
	if details == "" || strings.Contains(message, details) {
		return message
	}
	return strings.TrimSuffix(message, ".") + ": " + details
}

// Error codes of JSON-RPC and of the agents' protocols.
const (
	CodeInvalid   = -32602 // invalid parameters
	CodeUnknown   = -32601 // unknown method
	codeNoRequest = -32600 // no request, which Codex answers to an unknown method
	CodeInternal  = -32603
	CodeCancelled = -32800
	CodeMissing   = -32002 // not found
	CodeDenied    = -32003 // not allowed
)

// rpc is the client's end of a JSON-RPC connection. It holds the open requests of both sides.
type rpc struct {
	Sent    int64                 // number of requests sent; their IDs count from 1
	Waiting map[string]string     // methods of the sent requests that have no response, by ID
	Awaited map[string]int        // number of these requests, by method
	Open    map[string]rpcRequest // requests of the agent that have no response, by ID as a string
}

// rpcRequest is a request of the agent. Options and Args are the scopes and arguments that an
// approval for the request showed.
type rpcRequest struct {
	ID      json.RawMessage
	Number  int64 `json:",omitempty"` // among all requests of the process, from 1, if counted
	Method  string
	Params  json.RawMessage `json:",omitempty"`
	Options []string
	Args    json.RawMessage `json:",omitempty"`
	detached
}

func newRPC() rpc {
	return rpc{Waiting: map[string]string{}, Awaited: map[string]int{}, Open: map[string]rpcRequest{}}
}

// request returns the line of a new request to the agent.
func (r *rpc) request(method string, params any) []byte {
	r.Sent++
	r.Waiting[strconv.FormatInt(r.Sent, 10)] = method
	r.Awaited[method]++
	return jsonwrite.MustEncode(obj{"jsonrpc": "2.0", "id": r.Sent, "method": method, "params": params})
}

func notification(method string, params any) []byte {
	m := obj{"jsonrpc": "2.0", "method": method}
	if params != nil {
		m["params"] = params
	}
	return jsonwrite.MustEncode(m)
}

// matchResponse returns the method of the request that a response answers. ok is false if there is
// no such request.
func (r *rpc) matchResponse(m *rpcMessage) (method string, ok bool) {
	id := idText(m.ID)
	method, ok = r.Waiting[id]
	if ok {
		delete(r.Waiting, id)
		r.Awaited[method]--
	}
	return method, ok
}

// awaits reports whether a request with the method has no response.
func (r *rpc) awaits(method string) bool { return r.Awaited[method] > 0 }

// idText returns a JSON-RPC ID as the string that serves as ID in the host protocol.
func idText(id json.RawMessage) string {
	var text string
	if json.Unmarshal(id, &text) == nil {
		return text
	}
	return string(id)
}

// isRepeated reports whether a request has the ID of an open one, which alone is answered. A
// request with the same text in another JSON type is refused.
func (r *rpc) isRepeated(s *Output, m *rpcMessage, line []byte) bool {
	q, open := r.Open[idText(m.ID)]
	switch {
	case !open:
	case bytes.Equal(q.ID, m.ID):
		s.Quiet = m.Method
	default:
		s.refuse(m.ID, m.Method, "its id is that of another request", line)
	}
	return open
}

// storeRequest stores an open request of the agent, and returns its ID as a string.
func (r *rpc) storeRequest(q rpcRequest) string {
	id := idText(q.ID)
	r.Open[id] = q
	return id
}

// removeRequest removes a request of the agent. It returns false if the request was not open.
func (r *rpc) removeRequest(id string) (rpcRequest, bool) {
	q, ok := r.Open[id]
	delete(r.Open, id)
	return q, ok
}

func rpcResult(id json.RawMessage, result any) []byte {
	return jsonwrite.MustEncode(obj{"jsonrpc": "2.0", "id": id, "result": result})
}

func rpcFailure(id json.RawMessage, code int, message string) []byte {
	return jsonwrite.MustEncode(obj{"jsonrpc": "2.0", "id": id, "error": obj{"code": code, "message": message}})
}

// refuse answers a request with an error. If problem is "", the request is not supported.
func (s *Output) refuse(id json.RawMessage, name, problem string, line []byte) {
	code := CodeInvalid
	if problem == "" {
		code = CodeUnknown
	}
	s.addLines(rpcFailure(id, code, s.refused(idText(id), name, problem, line)))
}

// elicits passes an elicitation to the program, or refuses it if it cannot be read.
func (r *rpc) elicits(s *Output, q *rpcRequest, line []byte) {
	e, err := readElicitation(q.Params)
	if err != nil {
		s.refuse(q.ID, q.Method, problem(err), line)
		return
	}
	s.elicits(r.storeRequest(*q), e, line)
}

// elicited returns the result of an elicitation that was passed to the program.
func (q *rpcRequest) elicited(o *ours) obj {
	e, _ := readElicitation(q.Params) // elicits has read it
	return e.answer(o)
}

// rpcKind is the kind of a JSON-RPC message.
type rpcKind uint8

const (
	rpcIsRequest rpcKind = iota
	rpcIsNotification
	rpcIsAnswer
	rpcIsNone
)

// parseRPC parses a line. Members with the wrong type do not hide the message.
func parseRPC(line []byte) (m rpcMessage, kind rpcKind) {
	if !readMembers(line, &m) {
		return m, rpcIsNone
	}
	hasID := len(m.ID) > 0 && string(m.ID) != "null"
	switch {
	case m.Method != "" && hasID:
		return m, rpcIsRequest
	case m.Method != "":
		return m, rpcIsNotification
	case hasID && (m.Error != nil || m.Result != nil):
		return m, rpcIsAnswer
	}
	return m, rpcIsNone
}

func NewRPCError(code int, message string) *RPCError {
	return &RPCError{Code: json.Number(jsonwrite.MustEncode(code)), Message: message}
}

func (e *RPCError) Number() int {
	n, err := e.Code.Int64()
	if err != nil {
		return CodeInternal
	}
	return int(n)
}

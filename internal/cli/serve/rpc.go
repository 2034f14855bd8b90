package serve

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/concerto-lang/concerto/internal/text/jsonread"
	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
)

// Code is the code of an error response.
type Code int

// The codes of JSON-RPC and of Concerto (spec/22-serve.md).
const (
	codeParse          Code = -32700
	codeInvalid        Code = -32600
	codeMethod         Code = -32601
	codeParams         Code = -32602
	codeInternal       Code = -32603
	codeNotInitialized Code = -32001
	codeStopping       Code = -32003
	codeLimit          Code = -32004
	codeCancelled      Code = -32005
	codeDuplicate      Code = -32010
	codeNotOwner       Code = -32011
	codeCompile        Code = -32020
	codePath           Code = -32021
	codeNoSession      Code = -32022
	codeSource         Code = -32024
	codeNoAudit        Code = -32030
)

// Error is the error of a request, as the protocol encodes it.
type Error struct {
	Code    Code            `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

func (e *Error) Error() string { return e.Message }

// failure returns an error without data.
func failure(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// with adds a member to the error's data.
func (e *Error) with(name string, v any) *Error {
	e.Data = encode(map[string]any{name: v})
	return e
}

// message is a JSON-RPC message in either direction.
type message struct {
	Version *string         `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  *string         `json:"method"`
	Params  json.RawMessage `json:"params"`
	Result  json.RawMessage `json:"result"`
	Error   *Error          `json:"error"`
}

// kind is the kind of a message.
type kind uint8

const (
	isRequest kind = iota
	isNotification
	isResponse
)

func (m *message) kind() kind {
	switch {
	case m.Method == nil:
		return isResponse
	case m.ID == nil:
		return isNotification
	}
	return isRequest
}

// parse parses a message. If it returns an error, the returned message contains the id for the
// error response.
func parse(text []byte) (*message, *Error) {
	m := &message{}
	text = bytes.Trim(text, " \t\r\n")
	var err error
	if object := len(text) > 0 && text[0] == '{'; object && utf8.Valid(text) {
		if !m.parseFast(text) {
			*m = message{}
			err = json.Unmarshal(text, m)
		}
	} else if !object && utf8.Valid(text) && json.Valid(text) {
		if text[0] == '[' {
			return m, failure(codeInvalid, "batches are not supported: send each message separately")
		}
		return m, failure(codeInvalid, "a message must be an object")
	} else {
		return m, failure(codeParse, "the message is not valid JSON")
	}
	if noJSON := (*json.SyntaxError)(nil); errors.As(err, &noJSON) {
		return &message{}, failure(codeParse, "the message is not valid JSON")
	}
	if err != nil {
		return m.answerable(), failure(codeInvalid, "the message is not valid JSON-RPC 2.0: %v", err)
	}
	switch {
	case !m.isID():
		m.ID = nil
		return m, failure(codeInvalid, "an id must be a string or a number")
	case m.Version == nil || *m.Version != "2.0":
		return m.answerable(), failure(codeInvalid, `the member "jsonrpc" must be "2.0"`)
	case m.Method == nil && m.ID == nil, m.Method == nil && m.Result == nil && m.Error == nil:
		return m.answerable(), failure(codeInvalid, "the message is neither a request, nor a notification, nor a response")
	}
	return m, nil
}

// parseFast decodes a message in the usual form, many times faster than encoding/json. It returns
// false for other messages. The decoded message refers to text.
func (m *message) parseFast(text []byte) bool {
	return jsonread.Members(text, func(name, value []byte) bool {
		switch string(name) {
		case "jsonrpc":
			s, ok := jsonread.Plain(value)
			if ok = ok && m.Version == nil && string(s) == version; ok {
				m.Version = &usualVersion
			}
			return ok
		case "id":
			return once(&m.ID, value) && m.isID()
		case "method":
			s, ok := jsonread.Plain(value)
			if ok = ok && m.Method == nil; ok {
				method := string(s)
				m.Method = &method
			}
			return ok
		case "params":
			return once(&m.Params, value)
		case "result":
			return once(&m.Result, value)
		}
		return false
	})
}

var usualVersion = version

// once stores a member's value. It returns false if the member occurred before.
func once(to *json.RawMessage, value []byte) bool {
	first := *to == nil
	*to = value
	return first
}

// answerable removes the id unless the message may be a request.
func (m *message) answerable() *message {
	if !m.isID() || m.Method == nil && (m.Result != nil || m.Error != nil) {
		m.ID = nil
	}
	return m
}

func (m *message) isID() bool {
	return len(m.ID) == 0 || m.ID[0] == '"' || m.ID[0] == '-' || m.ID[0] >= '0' && m.ID[0] <= '9' || string(m.ID) == "null"
}

const version = "2.0"

// head is the beginning of every message. room is the initial capacity, in bytes, which is enough
// for most messages.
const (
	head = `{"jsonrpc":"` + version + `"`
	room = 256
)

// response returns the response to a client's request. The response's id is null if id is empty.
func response(id json.RawMessage, result any, err *Error) []byte {
	b := append(make([]byte, 0, room), head+`,"id":`...)
	if len(id) == 0 {
		id = nil
	}
	b = jsonwrite.Raw(b, id)
	if err != nil {
		b = appendJSON(append(b, `,"error":`...), err)
	} else {
		b = appendJSON(append(b, `,"result":`...), result)
	}
	return append(b, '}')
}

// call returns a request of the server.
func call(id, method string, params any) []byte {
	b := append(make([]byte, 0, 2*room), head+`,"id":`...)
	return appendCall(jsonwrite.Text(b, id), method, params)
}

// notification returns a message that has no response.
func notification(method string, params any) []byte {
	return appendCall(append(make([]byte, 0, room), head...), method, params)
}

// appendCall appends the method, the parameters and the end of a message.
func appendCall(b []byte, method string, params any) []byte {
	b = jsonwrite.Text(append(b, `,"method":`...), method)
	return append(appendJSON(append(b, `,"params":`...), params), '}')
}

// encode returns v as JSON. v must be JSON or a value of a type of this package.
func encode(v any) json.RawMessage { return appendJSON(nil, v) }

func appendJSON(b []byte, v any) []byte {
	b, err := jsonwrite.Append(b, v)
	if err != nil {
		panic(fmt.Sprintf("serve: a message has no JSON: %v", err))
	}
	return b
}

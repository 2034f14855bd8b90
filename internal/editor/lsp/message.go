package lsp

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
)

// The error codes of the protocol.
const (
	codeParse           = -32700
	codeInvalidRequest  = -32600
	codeMethodNotFound  = -32601
	codeInvalidParams   = -32602
	codeInternal        = -32603
	codeNotInitialized  = -32002
	codeCancelled       = -32800
	codeContentModified = -32801
	codeRequestFailed   = -32803
)

// Error is the error of a response.
type Error struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (e *Error) Error() string { return e.Message }

// newError returns an error with a code and a formatted message.
func newError(code int, format string, args ...any) *Error {
	return &Error{code, fmt.Sprintf(format, args...)}
}

// message is a received message. A request has a method and an id, a notification only a method, a
// response only an id.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method *string         `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *Error          `json:"error"`
}

var null = json.RawMessage("null")

// readMessage decodes a message. If decoding fails, the message may still contain the id for the
// error response.
func readMessage(body []byte) (*message, *Error) {
	if !json.Valid(body) {
		return &message{ID: null}, newError(codeParse, "the message is not valid JSON")
	}
	m := &message{}
	if trimmed := bytes.TrimSpace(body); trimmed[0] != '{' {
		return &message{ID: null}, newError(codeInvalidRequest, "the message is not a JSON object")
	}
	if err := json.Unmarshal(body, m); err != nil {
		var only struct {
			ID json.RawMessage `json:"id"`
		}
		_ = json.Unmarshal(body, &only) // the text is an object
		if !isID(only.ID) {
			only.ID = null
		}
		return &message{ID: only.ID}, newError(codeInvalidRequest, "the message is neither a request nor a notification nor a response: %v", err)
	}
	if m.ID != nil && !isID(m.ID) && m.Method != nil {
		return &message{ID: null}, newError(codeInvalidRequest, "the id must be a number or a string, not %s", m.ID)
	}
	if m.Method == nil && m.ID == nil {
		return &message{ID: null}, newError(codeInvalidRequest, "the message has neither a method nor an id")
	}
	return m, nil
}

func isID(id json.RawMessage) bool {
	return len(id) > 0 && (id[0] == '"' || id[0] == '-' || id[0] >= '0' && id[0] <= '9')
}

// encodeResponse returns the encoded response to a request.
func encodeResponse(id json.RawMessage, result json.RawMessage, err *Error) []byte {
	if err != nil {
		return jsonwrite.MustEncode(struct {
			Version string          `json:"jsonrpc"`
			ID      json.RawMessage `json:"id"`
			Error   *Error          `json:"error"`
		}{"2.0", id, err})
	}
	return jsonwrite.MustEncode(struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Result  json.RawMessage `json:"result"`
	}{"2.0", id, result})
}

// encodeRequest returns an encoded request of the server. Without an id it returns a notification.
func encodeRequest(id json.RawMessage, method string, params any) []byte {
	return jsonwrite.MustEncode(struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id,omitempty"`
		Method  string          `json:"method"`
		Params  any             `json:"params,omitempty"`
	}{"2.0", id, method, params})
}

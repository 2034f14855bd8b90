package serve

import (
	"encoding/json"
	"strconv"

	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
	"github.com/concerto-lang/concerto/runtime/tool"
)

// toolCall contains the parameters of `tool/call`, which is sent to the client that owns the tool.
type toolCall struct {
	call    *tool.Context
	name    string
	version int
	timeout float64 // seconds
	args    json.RawMessage
}

// AppendJSON appends the JSON object with all members. An empty map or list is encoded as empty,
// not as null.
func (t toolCall) AppendJSON(b []byte) ([]byte, error) {
	c := t.call
	b = jsonwrite.Text(append(b, `{"call_id":`...), c.CallID)
	b = jsonwrite.Text(append(b, `,"session_id":`...), c.SessionID)
	b = jsonwrite.Text(append(b, `,"name":`...), t.name)
	b = strconv.AppendInt(append(b, `,"version":`...), int64(t.version), 10)
	b = jsonwrite.Raw(append(b, `,"args":`...), t.args)
	b = jsonwrite.Text(append(b, `,"context":{"session_id":`...), c.SessionID)
	b = jsonwrite.Text(append(b, `,"cwd":`...), c.Cwd)
	b, err := object(append(b, `,"environment":`...), c.Environment)
	if err != nil {
		return b, err
	}
	if b, err = object(append(b, `,"metadata":`...), c.Metadata); err != nil {
		return b, err
	}
	b = jsonwrite.Texts(append(b, `,"render":`...), c.Render)
	b = jsonwrite.Text(append(b, `},"by":`...), c.Caller)
	b = jsonwrite.Text(append(b, `,"route":`...), c.Route)
	b = jsonwrite.Texts(append(b, `,"chain":`...), c.Chain)
	b = strconv.AppendFloat(append(b, `,"timeout_s":`...), t.timeout, 'f', -1, 64)
	return append(b, '}'), nil
}

// object appends a map as a JSON object.
func object[V any](b []byte, m map[string]V) ([]byte, error) {
	if len(m) == 0 {
		return append(b, "{}"...), nil
	}
	return jsonwrite.Append(b, m)
}

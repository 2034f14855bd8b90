package llm

import (
	"encoding/json"
	"regexp"
	"sync"

	"github.com/concerto-lang/concerto/internal/data/schema"
)

// replySchema is the JSON Schema of a reply in the form that providers require, with an object at
// the top. A schema of another type is wrapped in an object with the member "value".
type replySchema struct {
	by      SchemaBy
	name    string
	schema  json.RawMessage
	wrapped bool
}

var notName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^A-Za-z0-9_-]+`) })

// newWanted returns the replySchema of a request, or nil if the request has no schema.
func newWanted(req *Request, c Capabilities) *replySchema {
	if len(req.Schema) == 0 {
		return nil
	}
	w := &replySchema{by: c.Schema, name: notName().ReplaceAllString(req.SchemaName, "_"), schema: req.Schema}
	if len(req.Tools) > 0 {
		w.by = c.SchemaTools
	}
	if len(w.name) > 64 {
		w.name = w.name[:64]
	}
	if w.name == "" {
		w.name = "reply"
	}
	w.schema, w.wrapped = schema.AsObject(req.Schema)
	return w
}

// native reports whether the schema is sent as a field of the request.
func (w *replySchema) native() bool { return w != nil && w.by == SchemaNative }

// asTool reports whether the schema is sent as a tool that the model must call.
func (w *replySchema) asTool() bool { return w != nil && w.by == SchemaTool }

// system returns the system prompt. It contains the schema if the provider supports no other way to
// send it.
func (w *replySchema) system(prompt string) string {
	if w == nil || w.by != SchemaPrompted {
		return prompt
	}
	if prompt != "" {
		prompt += "\n\n"
	}
	return prompt + "When you give the answer, give nothing but JSON that fits this JSON Schema:\n" + string(w.schema)
}

// unwrap returns the text of a reply without the wrapping object.
func (w *replySchema) unwrap(t string) string {
	if w == nil || !w.wrapped {
		return t
	}
	return schema.Unwrap(t)
}

// answerTool is the description of the tool whose call is the answer.
const answerTool = "Give the answer with this tool."

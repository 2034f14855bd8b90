package llm

import (
	"encoding/json"
	"regexp"
	"sync"

	"github.com/concerto-lang/concerto/internal/data/models"
	"github.com/concerto-lang/concerto/internal/data/schema"
)

// replySchema is the JSON Schema of a reply in the form that providers require, with an object at
// the top. A schema of another type is wrapped in an object with the member "value".
type replySchema struct {
	by      SchemaBy
	name    string
	schema  json.RawMessage
	wrapped bool
	rest    int // number of forms that can replace this one
}

var notName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^A-Za-z0-9_-]+`) })

// schemaForms maps the forms of models.Model to ways of enforcing a schema.
var schemaForms = map[string]SchemaBy{models.Native: SchemaNative, models.Tool: SchemaTool, models.Prompt: SchemaPrompted}

// replySchema returns the replySchema of a request, or nil if the request has no schema. It has the
// first form that the model accepts, that can express the schema, and that the provider has not
// refused.
func (p *remote) replySchema(req *Request) *replySchema {
	if len(req.Schema) == 0 {
		return nil
	}
	w := &replySchema{name: notName().ReplaceAllString(req.SchemaName, "_")}
	if len(w.name) > 64 {
		w.name = w.name[:64]
	}
	if w.name == "" {
		w.name = "reply"
	}
	object, wrapped := schema.AsObject(req.Schema)
	w.schema, w.wrapped = object, wrapped
	forms := p.forms(req)
	refused, _ := p.world.refused.forms.Load(formKey(req))
	n, _ := refused.(int)
	for ; n < len(forms); n++ {
		w.by, w.rest = forms[n], len(forms)-n-1
		if w.by != SchemaNative || p.adapt == nil {
			return w
		}
		if fits, ok := p.adapt(object); ok {
			var again bool
			w.schema, again = schema.AsObject(fits) // a map has become an array
			w.wrapped = w.wrapped || again
			return w
		}
	}
	w.by, w.rest = SchemaPrompted, 0
	return w
}

// forms returns the ways in which a schema is enforced, the best first.
func (p *remote) forms(req *Request) (out []SchemaBy) {
	c := p.Capabilities()
	by := c.Schema
	if len(req.Tools) > 0 {
		by = c.SchemaTools
	}
	if req.row == nil {
		return []SchemaBy{by}
	}
	names := req.row.Schema
	if len(req.Tools) > 0 {
		names = req.row.SchemaTools
	}
	if names == nil { // only the manifest has a row
		return []SchemaBy{by}
	}
	for _, name := range names {
		out = append(out, schemaForms[name])
	}
	return out
}

// strictSchema returns a schema in a form of OpenAI's strict mode if there is one, else unchanged:
// the provider then does not enforce it.
func strictSchema(object json.RawMessage) (json.RawMessage, bool) {
	if strict, ok := schema.OpenAI.Adapt(object); ok && schema.IsStrict(strict) {
		return strict, true
	}
	return object, true
}

// formKey identifies the requests that have the same forms of schemas.
func formKey(req *Request) string {
	if len(req.Tools) > 0 {
		return "tools " + req.Model
	}
	return req.Model
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

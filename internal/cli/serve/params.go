package serve

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"

	"github.com/concerto-lang/concerto/internal/text/jsonschema"
	"github.com/concerto-lang/concerto/runtime/tool"
)

// form describes the parameters of a method by a Go type and the type's schema.
type form struct {
	of     reflect.Type
	schema func() *jsonschema.Schema
}

func formOf(t reflect.Type) form {
	return form{t, sync.OnceValue(func() *jsonschema.Schema {
		text, err := tool.SchemaOf(t)
		if err != nil {
			panic(fmt.Sprintf("serve: %s has no schema: %v", t, err))
		}
		s, problems := jsonschema.Compile(text)
		if len(problems) > 0 {
			panic(fmt.Sprintf("serve: the schema of %s: %v", t, problems))
		}
		return s
	})}
}

// badParams returns the error for invalid parameters.
func badParams(problems ...jsonschema.Problem) *Error {
	return failure(codeParams, "invalid parameters: %s", jsonschema.FormatProblems(problems, 20)).with("errors", problems)
}

// badParam returns the error for one invalid parameter.
func badParam(path, format string, args ...any) *Error {
	return badParams(jsonschema.Problem{Path: path, Message: fmt.Sprintf(format, args...)})
}

// fastReader is implemented by parameters of frequent methods, which have their own decoder.
type fastReader interface {
	// readFast decodes text, which matches the schema. decoded is the value of text as generic
	// JSON. If readFast returns false, encoding/json decodes the text.
	readFast(text []byte, decoded any) bool
}

// read validates parameters against the form and decodes them into to, which is a pointer.
func (f form) read(text json.RawMessage, to any) *Error {
	if len(text) == 0 {
		text = json.RawMessage("{}")
	}
	v, err := jsonschema.Decode(text)
	if err != nil {
		return badParam("", "%v", err)
	}
	if problems := f.schema().Check(v); len(problems) > 0 {
		return badParams(problems...)
	}
	if u, ok := to.(fastReader); ok && u.readFast(text, v) {
		return nil
	}
	if err := json.Unmarshal(text, to); err != nil {
		return badParam("", "%v", err)
	}
	return nil
}

// dotted converts a JSON pointer to the dotted form of paths in error messages.
func dotted(pointer string) string {
	var b strings.Builder
	for part := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		part = strings.ReplaceAll(strings.ReplaceAll(part, "~1", "/"), "~0", "~")
		switch {
		case part == "":
		case strings.Trim(part, "0123456789") == "":
			b.WriteString("[" + part + "]")
		default:
			b.WriteString("." + part)
		}
	}
	return b.String()
}

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

// form describes the parameters of a method: a Go type with its schema.
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
		s, mistakes := jsonschema.Compile(text)
		if len(mistakes) > 0 {
			panic(fmt.Sprintf("serve: the schema of %s: %v", t, mistakes))
		}
		return s
	})}
}

// badParams is the error of parameters with problems.
func badParams(problems ...jsonschema.Problem) *Error {
	return failure(codeParams, "bad parameters: %s", jsonschema.Say(problems, 20)).with("errors", problems)
}

// badParam is that of one.
func badParam(path, format string, args ...any) *Error {
	return badParams(jsonschema.Problem{Path: path, Message: fmt.Sprintf(format, args...)})
}

// usual is parameters that are asked with often enough to be read by hand.
type usual interface {
	// usual reads the text, which fits the form and is decoded; false leaves it to
	// encoding/json.
	usual(text []byte, decoded any) bool
}

// read holds parameters against the form and reads them into to, a pointer.
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
	if u, ok := to.(usual); ok && u.usual(text, v) {
		return nil
	}
	if err := json.Unmarshal(text, to); err != nil {
		return badParam("", "%v", err)
	}
	return nil
}

// dotted is a JSON pointer as problems write paths.
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

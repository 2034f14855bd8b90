package mcp

import (
	"context"
	"fmt"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Function is a server's tool as a declaration: the lines of its description and
// decorators, and its signature.
type Function struct {
	Name      string
	Head      []string
	Signature string
}

// Inspect connects to a server and gives its tools as the functions of an mcp
// block, in the server's order.
func Inspect(ctx context.Context, c Config, o Options) ([]Function, error) {
	s := &server{config: c, options: o}
	limited, cancel := context.WithTimeoutCause(ctx, c.timeout(), errTimeout)
	defer cancel()
	l, err := s.reach(limited, nil)
	if err != nil {
		return nil, err
	}
	defer s.close(context.Background())
	var out []Function
	for tool, err := range l.session.Tools(limited, nil) {
		if err != nil {
			return nil, s.unreachable(err)
		}
		out = append(out, function(tool))
	}
	return out, nil
}

// function is a tool as a declaration. What has to be given comes first.
func function(tool *sdk.Tool) Function {
	in := readShape(tool.InputSchema)
	f := Function{Name: tool.Name}
	for line := range strings.Lines(strings.TrimSpace(tool.Description)) {
		f.Head = append(f.Head, strings.TrimRight("/// "+strings.TrimSpace(line), " "))
	}
	params := names(in.Properties)
	slices.SortStableFunc(params, func(a, b string) int { return required(in, b) - required(in, a) })
	var list []string
	for _, p := range params {
		x := in.Properties[p]
		t := typeName(x)
		if required(in, p) == 0 {
			t = optional(t)
		}
		if x.Description != "" {
			f.Head = append(f.Head, fmt.Sprintf("@param(%s, %s)", text(p), text(strings.Join(strings.Fields(x.Description), " "))))
		}
		list = append(list, p+": "+t)
	}
	f.Signature = "fn " + word(tool.Name) + "(" + strings.Join(list, ", ") + ") -> " + resultType(tool) + ";"
	return f
}

// word is a tool's name as Concerto writes it: `-`, `.` and `/` are `_`.
func word(name string) string { return strings.NewReplacer("-", "_", ".", "_", "/", "_").Replace(name) }

func required(s *shape, name string) int {
	if slices.Contains(s.Required, name) {
		return 1
	}
	return 0
}

func optional(t string) string {
	if strings.Contains(t, " | ") {
		return "Option<" + t + ">"
	}
	return t + "?"
}

// resultType is what a tool gives: text, unless it says what its structured
// result is. One that is no object stands in a `result`.
func resultType(tool *sdk.Tool) string {
	if tool.OutputSchema == nil {
		return "String"
	}
	out := readShape(tool.OutputSchema)
	if inner := out.Properties["result"]; inner != nil && len(out.Properties) == 1 {
		return typeName(inner)
	}
	return typeName(out)
}

// text is a string literal.
func text(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, `$`, `\$`).Replace(s) + `"`
}

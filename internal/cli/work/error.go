package work

import (
	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/internal/term/cmdline"
)

// writeError writes the members of a program's error if the format is JSON. format is nil for a
// command without formats.
func writeError(a *console.Console, format *cmdline.Format, e *effect.Error) error {
	if format == nil || format.IsText() {
		return nil
	}
	return a.WriteJSON(map[string]any{"error": members(e)})
}

// members returns the fields of an error, also those that are not set.
func members(e *effect.Error) map[string]any {
	all := map[string]any{"kind": e.Kind, "message": e.Message}
	for _, f := range value.ErrorType(e.Kind).Fields[1:] {
		v, ok := e.Fields[f.Name]
		switch {
		case ok:
		case f.Type.Kind == value.TypeString:
			v = ""
		case f.Type.Kind == value.TypeBool:
			v = false
		case f.Type.Kind == value.TypeArray:
			v = []string{}
		}
		all[f.Name] = v
	}
	return all
}

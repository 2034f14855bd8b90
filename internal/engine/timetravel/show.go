package timetravel

import (
	"encoding/json"
	"fmt"

	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/vm"
)

// formatPlace formats a position as FILE:LINE:COLUMN.
func formatPlace(p vm.Place) string {
	if p.File == "" {
		return ""
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

// framesOf returns the frames of a scene, without secrets.
func framesOf(s vm.Scene, clean func([]byte) []byte) []Frame {
	frames := s.Frames(false)
	out := make([]Frame, 0, len(frames))
	for _, f := range frames {
		x := Frame{Function: f.Function, At: formatPlace(f.Place), Locals: Locals{}, File: f.File, Line: f.Line}
		for _, v := range f.Locals {
			x.Locals = append(x.Locals, Variable{v.Name, clean(jsonOf(v.Value))})
		}
		out = append(out, x)
	}
	return out
}

// mostText limits the text of a variable's value, in bytes.
const mostText = 64 << 20

// jsonOf returns a value as JSON, or the encoding error as a JSON string.
func jsonOf(v value.Slot) (out json.RawMessage) {
	defer func() {
		if p := recover(); p != nil {
			f, ok := p.(*value.Fault)
			if !ok {
				panic(p)
			}
			out, _ = json.Marshal("<" + f.Message + ">")
		}
	}()
	tooLong := &value.Fault{Message: "a value of more than 64 MiB"}
	return value.AppendJSONWithin(nil, v, &value.Bound{Max: mostText, Exceeded: tooLong})
}

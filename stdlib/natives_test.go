package stdlib

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/vm"
)

// A call is one row of a table: a native, its arguments as JSON (see args), and its result. The
// result is JSON, "fault: …" or "ParseError: …". after is the receiver after the call, or "" if it
// must be unchanged.
type call struct {
	native string
	args   string
	want   string
	after  string
}

// natives contains all natives of the library, by name.
var natives = func() map[string]vm.Native {
	all := map[string]vm.Native{}
	for _, family := range registry {
		for _, n := range *family {
			all[n.Name] = n.Func
		}
	}
	return all
}()

// args parses a JSON array of arguments. The following forms represent values that JSON cannot
// represent: {"range": [lo, hi]}, {"ok": v}, {"err": v}, {"some": v}, {"tuple": […]}, {"float":
// "NaN"} and {"error": msg}, which is a ToolError.
func args(t testing.TB, text string) []value.Slot {
	t.Helper()
	v, err := value.Parse([]byte(text))
	if err != nil {
		t.Fatalf("%s: %s", text, err)
	}
	var out []value.Slot
	for i := range v.Array().Len {
		out = append(out, special(v.Array().At(i)))
	}
	return out
}

func special(s value.Slot) value.Slot {
	switch s.Kind() {
	case value.KindArray:
		out := value.NewArray()
		for i := range s.Array().Len {
			out.Push(special(s.Array().At(i)))
		}
		return out.Slot()
	case value.KindMap:
		if s.Map().Len() != 1 {
			return s
		}
		made := s
		s.Map().Each(func(k, v value.Slot) bool {
			switch k.AsString() {
			case "range":
				made = value.NewRange(v.Array().At(0).AsInt(), v.Array().At(1).AsInt())
			case "ok":
				made = value.Ok(special(v))
			case "err":
				made = value.Err(special(v))
			case "some":
				made = value.Some(special(v))
			case "tuple":
				made = value.Tuple(special(v).Array().Slots()...)
			case "float":
				made = value.Float(map[string]float64{"NaN": math.NaN(), "inf": math.Inf(1), "-inf": math.Inf(-1)}[v.AsString()])
			case "error":
				made = value.NewError("ToolError", v.AsString())
			}
			return true
		})
		return made
	}
	return s
}

// written returns a result in the form that the tables use: JSON, with additional forms for NaN,
// infinity and Results.
func written(s value.Slot) string {
	if f := s; f.Kind() == value.KindFloat {
		return value.Text(s)
	}
	return string(value.AppendJSON(nil, s))
}

func run(t *testing.T, calls []call) {
	t.Helper()
	for _, c := range calls {
		t.Run(c.native+c.args, func(t *testing.T) {
			f := natives[c.native]
			if f == nil {
				t.Fatalf("there is no native %s", c.native)
			}
			window := args(t, c.args)
			before := written(window[0])
			got, err := f.Invoke(c.native, window)
			if text := outcome(got, err); text != c.want {
				t.Errorf("result = %s, want %s", text, c.want)
			}
			after := c.after
			if after == "" {
				after = before
			}
			if text := written(window[0]); text != after {
				t.Errorf("receiver after the call = %s, want %s", text, after)
			}
		})
	}
}

func outcome(got value.Slot, err error) string {
	var fault *value.Fault
	var program *value.Error
	switch {
	case err == nil:
		return written(got)
	case errors.As(err, &fault):
		return "fault: " + fault.Message
	case errors.As(err, &program):
		return program.Kind + ": " + program.Message
	}
	return "error: " + err.Error()
}

func BenchmarkNatives(b *testing.B) {
	numbers := make([]int64, 1000)
	words := make([]string, 1000)
	for i := range numbers {
		numbers[i] = int64(i * 7919 % 1000)
		words[i] = string(rune('a'+i%26)) + string(rune('a'+i*7%26))
	}
	text := strings.Repeat("the quick brown fox ", 50)
	for _, c := range []struct {
		native string
		window []value.Slot
	}{
		{"Array.sort", []value.Slot{value.IntArray(numbers)}},
		{"Array.sort", []value.Slot{value.StringArray(words)}},
		{"Array.unique", []value.Slot{value.StringArray(words)}},
		{"Array.join", []value.Slot{value.StringArray(words), value.String(",")}},
		{"Array.enumerate", []value.Slot{value.IntArray(numbers)}},
		{"String.split", []value.Slot{value.String(text), value.String(" ")}},
		{"String.replace", []value.Slot{value.String(text), value.String("fox"), value.String("cat")}},
		{"String.contains", []value.Slot{value.String(text), value.String("cat")}},
		{"Map.get", []value.Slot{value.NewMap(0).Slot(), value.String("k")}},
	} {
		b.Run(c.native+"/"+value.TypeName(c.window[0]), func(b *testing.B) {
			var f vm.Native = natives[c.native]
			b.ReportAllocs()
			for b.Loop() {
				if _, err := f.Invoke(c.native, c.window); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

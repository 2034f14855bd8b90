package stdlib

import (
	"testing"

	"github.com/concerto-lang/concerto/internal/data/value"
)

func TestErrorContext(t *testing.T) {
	e := value.NewError("HostError", "no disk", value.ErrorField{Name: "host", Value: value.String("W")})
	got, err := natives["Error.context"].Invoke("Error.context", []value.Slot{e, value.String("step 1")})
	if err != nil {
		t.Fatal(err)
	}
	if value.Message(got) != "step 1: no disk" || value.ErrorKind(got) != "HostError" || !value.Equal(value.Source(got), e) {
		t.Errorf("message = %s, kind = %s, source = %s", value.Message(got), value.ErrorKind(got), value.Text(value.Source(got)))
	}
	if value.Message(e) != "no disk" {
		t.Error("Error.context changed the original error")
	}
	own := &value.Type{Kind: value.TypeStruct, Name: "Own", Fields: []value.Field{{Name: "code"}, {Name: "message"}}}
	got, err = natives["Error.context"].Invoke("Error.context",
		[]value.Slot{own.Struct(value.Int(7), value.String("m")), value.String("c")})
	if err != nil || written(got) != `{"code":7,"message":"c: m"}` {
		t.Errorf("Error.context returned %s, %v", written(got), err)
	}
}

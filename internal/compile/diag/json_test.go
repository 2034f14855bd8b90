package diag

import (
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/text/source"
)

func TestJSON(t *testing.T) {
	f := source.NewFile("m.conc", []byte("é <x>\nb\n"))
	d := sample.At(source.Span{Start: 3, End: 6}, "bad <x>").In(f).
		Label(source.Span{Start: 7, End: 8}, "here").Hint("drop it")
	fixed := (&Info{Code: "W2"}).At(source.Span{}, "f").In(f).Repair(Fix{Title: "Go on", Safe: true, Edits: []Edit{Replace(source.Span{End: 2}, "<>")}}, "go on")
	var b strings.Builder
	if err := JSON(&b, []*Diagnostic{d, (&Info{Code: "W1"}).At(source.Span{}, "w"), fixed}); err != nil {
		t.Fatal(err)
	}
	want := `[{"code":"E9999","severity":"error","message":"bad <x>","file":"m.conc","line":1,"column":3,"end":{"line":1,"column":6},` +
		`"labels":[{"file":"m.conc","line":2,"column":1,"end":{"line":2,"column":2},"text":"here"}],"hints":["drop it"],"fixes":[]}` + "\n" +
		`,{"code":"W1","severity":"warning","message":"w","labels":[],"hints":[],"fixes":[]}` + "\n" +
		`,{"code":"W2","severity":"warning","message":"f","file":"m.conc","line":1,"column":1,"end":{"line":1,"column":1},"labels":[],"hints":["go on"],` +
		`"fixes":[{"title":"Go on","safe":true,"edits":[{"file":"m.conc","line":1,"column":1,"end":{"line":1,"column":2},"text":"<>"}]}]}` + "\n]\n"
	if b.String() != want {
		t.Errorf("JSON\n got %s\nwant %s", b.String(), want)
	}
	b.Reset()
	if err := JSON(&b, nil); err != nil || b.String() != "[]\n" {
		t.Errorf("JSON of an empty list = %q, error = %v", b.String(), err)
	}
}

package report_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/engine"
	"github.com/concerto-lang/concerto/internal/engine/report"
)

// clone returns a copy of a report, as if it was written and read.
func clone(t *testing.T, r *report.Report) *report.Report {
	t.Helper()
	var b bytes.Buffer
	if err := r.WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	out, err := report.Read(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// change is a change of an item, and what the comparison must name.
type change struct {
	what string
	can  func(*report.Item) bool
	make func(*report.Item)
}

var changes = []change{
	{"status", func(x *report.Item) bool { return x.Status == report.OK }, func(x *report.Item) { x.Status = report.Failed }},
	{"request", func(x *report.Item) bool { return x.Texts.Payload != nil }, func(x *report.Item) { x.Texts.Payload = json.RawMessage(`{"changed":true}`) }},
	{"request", func(x *report.Item) bool { return x.Texts.Request != nil }, func(x *report.Item) { x.Texts.Request = json.RawMessage(`["changed"]`) }},
	{"request", func(x *report.Item) bool { return x.Texts.Prompt != nil }, func(x *report.Item) { x.Texts.Prompt = json.RawMessage(`"changed"`) }},
	{"result", func(x *report.Item) bool { return x.Texts.Reply != nil }, func(x *report.Item) { x.Texts.Reply = json.RawMessage(`"changed"`) }},
	{"result", func(x *report.Item) bool { return x.Texts.Result != nil }, func(x *report.Item) { x.Texts.Result = json.RawMessage(`{"changed":1}`) }},
	{"answer", func(x *report.Item) bool { return x.Texts.Answer != nil }, func(x *report.Item) { x.Texts.Answer = json.RawMessage(`"changed"`) }},
	{"answer", func(x *report.Item) bool { return x.Details.Actor != "" }, func(x *report.Item) { x.Details.Actor = "nobody" }},
}

// TestDiffNamesChanges makes 100 random changes of items of recorded runs, one at a time and at
// least five of each kind, and checks that the comparison names each.
func TestDiffNamesChanges(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var all []*report.Report
	for _, name := range []string{"review", "coder", "supervise", "pipeline", "advisor"} {
		dir := filepath.Join("../../../examples", name)
		var tape bytes.Buffer
		all = append(all, clone(t, run(t, compile(t, dir), dir, engine.Records{Tape: &tape})))
	}
	made := map[string]int{"status": 0, "request": 0, "result": 0, "answer": 0}
	least := func() int { return slices.Min(slices.Collect(maps.Values(made))) }
	for sum := 0; sum < 100 || least() < 5; {
		a := all[random.IntN(len(all))]
		b := clone(t, a)
		x := b.Items[random.IntN(len(b.Items))]
		c := changes[random.IntN(len(changes))]
		if !c.can(x) {
			continue
		}
		c.make(x)
		sum++
		made[c.what]++
		d := report.Compare(a, b)
		if d.Same || d.First.What != c.what || d.First.Item[0] == nil || *d.First.Item[0] != x.N || d.Counts.Different != 1 || d.Counts.OnlyA+d.Counts.OnlyB != 0 {
			t.Errorf("change of %s of item %d %s %s: first difference %+v, counts %+v", c.what, x.N, x.Kind, x.Name, d.First, d.Counts)
		}
		var text strings.Builder
		if err := d.WriteText(&text); err != nil || !strings.HasPrefix(text.String(), fmt.Sprintf("first difference: item %d %s %s", x.N, x.Kind, x.Name)) {
			t.Errorf("text %q, error %v", text.String(), err)
		}
	}
}

// TestDiffOfMissingItems removes an item that has no others of its kind after it.
func TestDiffOfMissingItems(t *testing.T) {
	dir := "../../../examples/coder"
	a := clone(t, run(t, compile(t, dir), dir, engine.Records{}))
	i := slices.IndexFunc(a.Items, func(x *report.Item) bool { return x.Kind == "question" })
	if i < 0 {
		t.Fatal("the run has no question")
	}
	b := clone(t, a)
	b.Items[i].Kind = "message" // as the last message of its task and kind
	b.Items = append(slices.Delete(b.Items, i, i+1), b.Items[i])
	d := report.Compare(a, b)
	if d.Same || d.First.What != "missing" || *d.First.Item[0] != i+1 || d.First.Item[1] != nil || d.Counts.OnlyA != 1 || d.Counts.OnlyB != 1 {
		t.Errorf("first difference %+v, counts %+v", d.First, d.Counts)
	}
	if d = report.Compare(b, a); d.Same || d.Counts.OnlyA != 1 || d.Counts.OnlyB != 1 {
		t.Errorf("the other way: first difference %+v, counts %+v", d.First, d.Counts)
	}
}

// TestDiffPaths checks the paths of differences within values.
func TestDiffPaths(t *testing.T) {
	of := func(payload string) *report.Report {
		n := int64(1)
		return &report.Report{Items: []*report.Item{{N: 1, Kind: "emit", Task: 1, Effect: &n, Texts: report.Texts{Payload: json.RawMessage(payload)}}}}
	}
	for _, x := range []struct{ a, b, path string }{
		{`{"a":1,"b":[1,2]}`, `{"b":[1,2],"a":1}`, ""},
		{`{"a":1,"b":[1,2]}`, `{"a":1,"b":[1,3]}`, "/payload/b/1"},
		{`[1]`, `[1,2]`, "/payload/1"},
		{`{"x/y":{"~":1}}`, `{"x/y":{"~":2}}`, "/payload/x~1y/~0"},
		{`{"duration_ms":1}`, `{"duration_ms":2}`, ""},
		{`{"a":{}}`, `{"a":[]}`, "/payload/a"},
		{`1`, `1.0`, "/payload"},
		{`null`, `{"a":1}`, "/payload"},
		{`9007199254740993`, `9007199254740992`, "/payload"},
	} {
		d := report.Compare(of(x.a), of(x.b))
		if d.Same != (x.path == "") || !d.Same && d.First.Path != x.path {
			t.Errorf("%s and %s: %+v, want a difference at %q", x.a, x.b, d.First, x.path)
		}
	}
}

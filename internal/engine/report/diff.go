package report

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/concerto-lang/concerto/internal/record/event"
)

// Diff is the result of comparing two runs.
type Diff struct {
	Version int         `json:"concerto_report_diff"`
	Same    bool        `json:"same"`
	First   *Difference `json:"first"` // null if the runs are the same
	Counts  Counts      `json:"counts"`
	Totals  [2]Total    `json:"totals"`
}

// Counts contains the numbers of items.
type Counts struct {
	Same      int `json:"same"`
	Different int `json:"different"`
	OnlyA     int `json:"only_a"`
	OnlyB     int `json:"only_b"`
}

// Difference is a difference between two items. Path is a JSON pointer into the value that differs.
type Difference struct {
	Item [2]*int         `json:"item"` // numbers of the items; null for an item that is missing
	Kind string          `json:"kind"`
	Name string          `json:"name"`
	At   *string         `json:"at"`
	What string          `json:"what"` // request, result, status, answer, missing or extra
	Path string          `json:"path"`
	A    json.RawMessage `json:"a"`
	B    json.RawMessage `json:"b"`
}

// Compare compares two runs. It pairs their items by the position of their task, their kind and
// their order. It ignores times, numbers, ids of runs and sessions, tokens and costs.
func Compare(a, b *Report) *Diff {
	d := &Diff{Version: 1, Totals: [2]Total{a.Totals.All, b.Totals.All}}
	others := map[string][]*Item{}
	paths := taskPaths(b)
	for _, x := range b.Items {
		key := paths[x.Task] + " " + x.Kind
		others[key] = append(others[key], x)
	}
	note := func(x *Difference) {
		if d.First == nil {
			d.First = x
		}
	}
	paths = taskPaths(a)
	for _, x := range inOrder(a.Items) {
		key := paths[x.Task] + " " + x.Kind
		if len(others[key]) == 0 {
			d.Counts.OnlyA++
			note(difference(x, nil, "missing", "", nil, nil).at(a, x))
			continue
		}
		y := others[key][0]
		others[key] = others[key][1:]
		if found := compare(x, y); found != nil {
			d.Counts.Different++
			note(found.at(a, x))
		} else {
			d.Counts.Same++
		}
	}
	var extra []*Item
	for _, rest := range others {
		extra = append(extra, rest...)
	}
	d.Counts.OnlyB = len(extra)
	for _, y := range inOrder(extra) {
		note(difference(nil, y, "extra", "", nil, nil).at(b, y))
	}
	d.Same = d.First == nil
	return d
}

// inOrder sorts items by their effects. An item without an effect stays after the item before it.
func inOrder(items []*Item) []*Item {
	out := slices.Clone(items)
	slices.SortFunc(out, func(a, b *Item) int { return a.N - b.N })
	effects := map[*Item]int64{}
	last := int64(0)
	for _, x := range out {
		if x.Effect != nil {
			last = *x.Effect
		}
		effects[x] = last
	}
	slices.SortStableFunc(out, func(a, b *Item) int { return cmp.Compare(effects[a], effects[b]) })
	return out
}

// taskPaths returns the position of each task in the tree of tasks, such as "2.1".
func taskPaths(r *Report) map[int64]string {
	paths := map[int64]string{}
	children := map[string]int{}
	for _, x := range r.Items {
		if k := event.Kind(x.Kind); k != event.Run && k != event.Task {
			continue
		}
		above := ""
		if x.Parent != nil {
			above = paths[r.Items[*x.Parent-1].Task] + "."
		}
		children[above]++
		paths[x.Task] = above + strconv.Itoa(children[above])
	}
	return paths
}

func difference(x, y *Item, what, path string, a, b json.RawMessage) *Difference {
	d := &Difference{What: what, Path: path, A: a, B: b}
	if y != nil {
		d.Item[1], d.Kind, d.Name = &y.N, y.Kind, y.Name
	}
	if x != nil {
		d.Item[0], d.Kind, d.Name = &x.N, x.Kind, x.Name
	}
	return d
}

// at sets the place of an item of a report: for an item without one, such as a request of a host,
// that of the item that caused it.
func (d *Difference) at(r *Report, x *Item) *Difference {
	for x.At == nil && x.Parent != nil {
		x = r.Items[*x.Parent-1]
	}
	d.At = x.At
	return d
}

// part is a member of an item that is compared.
type part struct {
	what, path string
	of         func(*Item) json.RawMessage
}

// parts lists what is compared, in the order of a run.
var parts = []part{
	{"request", "/name", func(x *Item) json.RawMessage { return encode(x.Name) }},
	{"request", "/connection", func(x *Item) json.RawMessage { return encode(x.Details.Connection) }},
	{"request", "/channel", func(x *Item) json.RawMessage { return encode(x.Details.Channel) }},
	{"request", "/type", func(x *Item) json.RawMessage { return encode(x.Details.Type) }},
	{"request", "/prompt", func(x *Item) json.RawMessage { return x.Texts.Prompt }},
	{"request", "/request", func(x *Item) json.RawMessage { return x.Texts.Request }},
	{"request", "/args", func(x *Item) json.RawMessage { return x.Texts.Args }},
	{"request", "/payload", func(x *Item) json.RawMessage { return x.Texts.Payload }},
	{"request", "/text", func(x *Item) json.RawMessage { return x.Texts.Text }},
	{"request", "/message", func(x *Item) json.RawMessage { return x.Texts.Message }},
	{"answer", "/answer", func(x *Item) json.RawMessage { return x.Texts.Answer }},
	{"answer", "/actor", func(x *Item) json.RawMessage { return encode(x.Details.Actor) }},
	{"result", "/reply", func(x *Item) json.RawMessage { return x.Texts.Reply }},
	{"result", "/result", func(x *Item) json.RawMessage { return x.Texts.Result }},
	{"status", "/status", func(x *Item) json.RawMessage { return encode(x.Status) }},
}

// compare returns the first difference between two items, or nil.
func compare(x, y *Item) *Difference {
	for _, p := range parts {
		a, b := p.of(x), p.of(y)
		if bytes.Equal(a, b) {
			continue
		}
		if path, va, vb, differ := firstDifference(parse(a), parse(b), p.path); differ {
			return difference(x, y, p.what, path, va, vb)
		}
	}
	return nil
}

func parse(text json.RawMessage) any {
	if text == nil {
		return nil
	}
	var v any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return string(text)
	}
	return v
}

// ignored contains the members whose values differ between equal runs.
var ignored = map[string]bool{"duration_ms": true, "latency_ms": true, "seconds": true, "session": true, "session_id": true, "run": true, "key": true,
	"tokens_in": true, "tokens_out": true, "cost_usd": true, "usage": true, "request_id": true}

// firstDifference returns the path and the values of the first difference between two values.
// Members of objects are compared in the order of their names.
func firstDifference(a, b any, path string) (at string, va, vb json.RawMessage, differ bool) {
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok {
			break
		}
		names := map[string]bool{}
		for _, m := range []map[string]any{x, y} {
			for name := range m {
				names[name] = true
			}
		}
		for _, name := range slices.Sorted(maps.Keys(names)) {
			if ignored[name] {
				continue
			}
			if at, va, vb, differ := firstDifference(x[name], y[name], path+"/"+pointerEscapes.Replace(name)); differ {
				return at, va, vb, true
			}
		}
		return "", nil, nil, false
	case []any:
		y, ok := b.([]any)
		if !ok {
			break
		}
		for i := range min(len(x), len(y)) {
			if at, va, vb, differ := firstDifference(x[i], y[i], path+"/"+strconv.Itoa(i)); differ {
				return at, va, vb, true
			}
		}
		if len(x) == len(y) {
			return "", nil, nil, false
		}
		n := min(len(x), len(y))
		return path + "/" + strconv.Itoa(n), element(x, n), element(y, n), true
	default:
		if a == b {
			return "", nil, nil, false
		}
	}
	return path, encode(a), encode(b), true
}

// pointerEscapes escapes the name of a member in a JSON pointer (RFC 6901).
var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

func element(list []any, i int) json.RawMessage {
	if i < len(list) {
		return encode(list[i])
	}
	return nil
}

// WriteText writes the result for people.
func (d *Diff) WriteText(w io.Writer) error {
	compared := d.Counts.Same + d.Counts.Different
	if d.Same {
		_, err := fmt.Fprintf(w, "no differences (%s compared)\n", counted(int64(compared), "item"))
		return err
	}
	f := d.First
	n := f.Item[0]
	if n == nil {
		n = f.Item[1]
	}
	at := ""
	if f.At != nil {
		at = " at " + *f.At
	}
	what := f.What
	switch what {
	case "missing", "extra":
	default:
		what += fmt.Sprintf(" %s: %s → %s", f.Path, valueText(f.A), valueText(f.B))
	}
	_, err := fmt.Fprintf(w, "first difference: item %d %s %s%s: %s\n%d same, %d different, %d only in the first run, %d only in the second\n",
		*n, f.Kind, f.Name, at, what, d.Counts.Same, d.Counts.Different, d.Counts.OnlyA, d.Counts.OnlyB)
	return err
}

func valueText(v json.RawMessage) string {
	if v == nil {
		return "nothing"
	}
	return line(string(v))
}

// WriteJSON writes the result as JSON on one line.
func (d *Diff) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(d)
}

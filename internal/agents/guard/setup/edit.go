package setup

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/tailscale/hujson"
)

// editor adds values to a JSON text. It changes nothing else of the text.
type editor struct {
	text  []byte
	begin string   // content of an empty text; "" for an empty object
	added []string // the inserted texts, in their order
}

// append adds a value to the array that names lead to. It creates objects and the array.
func (e *editor) append(names []string, value []byte) error {
	if len(bytes.TrimSpace(e.text)) == 0 {
		e.insert(len(e.text), cmp.Or(e.begin, "{}\n"))
	}
	at, err := hujson.Parse(e.text)
	if err != nil {
		return err
	}
	for depth, name := range names {
		object, ok := at.Value.(*hujson.Object)
		if !ok {
			return fmt.Errorf("%s is not an object", cmp.Or(strings.Join(names[:depth], "."), "the content"))
		}
		found := false
		for _, m := range object.Members {
			if key, ok := m.Name.Value.(hujson.Literal); ok && key.String() == name {
				at, found = m.Value, true
			}
		}
		if found {
			continue
		}
		for i := len(names) - 1; i > depth; i-- {
			inner := value
			if i == len(names)-1 {
				inner = append(append([]byte("["), value...), ']')
			}
			value = fmt.Appendf(nil, "{%q:%s}", names[i], inner)
		}
		if depth == len(names)-1 {
			value = append(append([]byte("["), value...), ']')
		}
		last := -1
		if n := len(object.Members); n > 0 {
			last = object.Members[n-1].Value.EndOffset
		}
		e.add(at, last, depth+1, fmt.Sprintf("%q: ", name), value)
		return nil
	}
	array, ok := at.Value.(*hujson.Array)
	if !ok {
		return fmt.Errorf("%s is not an array", strings.Join(names, "."))
	}
	last := -1
	if n := len(array.Elements); n > 0 {
		last = array.Elements[n-1].EndOffset
	}
	e.add(at, last, len(names)+1, "", value)
	return nil
}

// add inserts a value with a name at the end of an object or array. last is the end of its last
// entry, or -1.
func (e *editor) add(in hujson.Value, last, depth int, name string, value []byte) {
	unit := e.indent()
	margin := strings.Repeat(unit, depth)
	var b bytes.Buffer
	_ = json.Indent(&b, value, margin, unit) // the value was encoded
	text := "\n" + margin + name + b.String()
	if last >= 0 {
		e.insert(last, ","+text)
		return
	}
	e.insert(in.StartOffset+1, text+"\n"+strings.Repeat(unit, depth-1))
}

func (e *editor) insert(at int, text string) {
	e.text = bytes.Join([][]byte{e.text[:at], []byte(text), e.text[at:]}, nil)
	e.added = append(e.added, text)
}

// indent returns the indentation of the text.
func (e *editor) indent() string {
	for line := range bytes.Lines(e.text) {
		if n := len(line) - len(bytes.TrimLeft(line, " \t")); n > 0 && n < len(bytes.TrimRight(line, "\r\n")) {
			return string(line[:n])
		}
	}
	return "  "
}

// remove removes inserted texts, the last one first. Each must be there exactly once.
func remove(text []byte, added []string) ([]byte, error) {
	for i := len(added) - 1; i >= 0; i-- {
		if n := bytes.Count(text, []byte(added[i])); n != 1 {
			return nil, &ChangedError{Text: strings.TrimSpace(added[i]), Times: n}
		}
		text = bytes.Replace(text, []byte(added[i]), nil, 1)
	}
	return text, nil
}

// ChangedError means that an installed text was changed since.
type ChangedError struct {
	Path  string
	Text  string // the text that was installed
	Times int    // how often the file contains it
}

func (e *ChangedError) Error() string {
	return fmt.Sprintf("%s was changed since the installation: it contains %d times\n%s", e.Path, e.Times, e.Text)
}

// place adds the line to an error of JSON.
func place(text []byte, err error) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return fmt.Errorf("line %d: %w", lineAt(text, syntax.Offset), err)
	case errors.As(err, &kind):
		return fmt.Errorf("line %d: `%s` is a JSON %s, which the agent does not accept, and it ignores the whole file", lineAt(text, kind.Offset), kind.Field, kind.Value)
	}
	return errors.New(strings.TrimPrefix(err.Error(), "hujson: "))
}

func lineAt(text []byte, offset int64) int {
	return 1 + bytes.Count(text[:min(int(offset), len(text))], []byte("\n"))
}

package spool_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/testkit/markers"
	"github.com/concerto-lang/concerto/relay/hostd/spool"
	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/seal"
)

// marker is in each text of an event.
const marker = markers.Text

// marked returns a value of a type with the marker in each text.
func marked(t reflect.Type, depth int) any {
	if t == reflect.TypeFor[json.RawMessage]() {
		return map[string]any{"any": marker}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return marked(t.Elem(), depth)
	case reflect.String:
		return marker
	case reflect.Bool:
		return true
	case reflect.Int64, reflect.Int, reflect.Float64:
		return 7
	case reflect.Slice:
		return []any{marked(t.Elem(), depth+1)}
	case reflect.Map:
		return map[string]any{"key": marked(t.Elem(), depth+1)}
	case reflect.Struct:
		all := map[string]any{}
		for i := range t.NumField() {
			f := t.Field(i)
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			switch {
			case depth > 6 || !f.IsExported() || name == "-":
			case f.Anonymous && name == "":
				maps.Copy(all, marked(f.Type, depth).(map[string]any))
			default:
				all[name] = marked(f.Type, depth+1)
			}
		}
		return all
	}
	panic(fmt.Sprintf("no marked value of the type %s: add one", t))
}

// TestMarkers seals an event of each type with a marker in each text of its data. Their frames,
// which the server receives, have none.
func TestMarkers(t *testing.T) {
	t.Parallel()
	a := newAccount("a_1")
	s := open(t, filepath.Join(t.TempDir(), "spool.db"), spool.Options{Keys: a})
	n := 0
	for _, m := range protocol.Messages {
		if m.Kind != protocol.Event || m.Type == protocol.RunGap {
			continue
		}
		run := "run_" + strings.ReplaceAll(m.Type, ".", "_")
		data := marked(reflect.TypeOf(m.Data), 0).(map[string]any)
		visible := map[string]string{}
		for _, name := range []string{"request_id", "input_id"} { // the server needs them
			if _, has := data[name]; has {
				data[name], visible[name] = "q7", "q7"
			}
		}
		if _, err := s.Append(t.Context(), run, spool.Event{Type: m.Type, Data: data}); err != nil {
			t.Fatalf("%s: %v", m.Type, err)
		}
		events, err := s.Next(t.Context(), run, 0, 10)
		if err != nil || len(events) == 0 {
			t.Fatalf("%s: %d events, %v", m.Type, len(events), err)
		}
		_, _, plain, err := a.open(&events[0])
		if err != nil || plain.Type != m.Type || !bytes.Contains(plain.Data, []byte(marker)) && len(data) > 0 && m.Type != protocol.RunExited && m.Type != protocol.RunResized {
			t.Errorf("%s: opened %s %s, %v; want the marker", m.Type, plain.Type, plain.Data, err)
		}
		for _, e := range events {
			frame := e.Append(nil)
			if found := markers.In(frame, marker); len(found) > 0 {
				t.Errorf("%s: the frame has the marker, %s: %s", m.Type, found, frame)
			}
			if e.Type != m.Type && e.Type != seal.TypeSealed {
				t.Errorf("%s: the visible type is %s", m.Type, e.Type)
			}
		}
		n++
	}
	if n < 12 {
		t.Errorf("only %d types of events", n)
	}
}

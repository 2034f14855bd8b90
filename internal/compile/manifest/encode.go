package manifest

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
)

// encode returns a value as JSON. Tables are in the order of the file, and integers are exact.
// Floats have the fewest possible digits, with `.0` for integral values. Dates with an offset have
// the format of RFC 3339; local dates and times are strings. If JSON cannot represent the value,
// encode reports it and returns false.
func (r *reader) encode(n *node, v any) (json.RawMessage, bool) {
	e := &encoder{r: r, ok: true}
	e.value(n, v)
	return e.buf.Bytes(), e.ok
}

type encoder struct {
	r   *reader
	buf bytes.Buffer
	ok  bool
}

func (e *encoder) value(n *node, v any) {
	switch v := v.(type) {
	case broken:
		e.ok = false
	case nil:
		e.buf.WriteString("null")
	case string:
		e.string(v)
	case int64:
		e.buf.WriteString(strconv.FormatInt(v, 10))
	case float64:
		e.float(n, v)
	case json.Number:
		e.buf.WriteString(v.String())
	case bool:
		e.buf.WriteString(strconv.FormatBool(v))
	case time.Time:
		e.string(dateText(v))
	case map[string]any:
		e.buf.WriteByte('{')
		for i, c := range n.children {
			if i > 0 {
				e.buf.WriteByte(',')
			}
			e.string(c.name)
			e.buf.WriteByte(':')
			e.value(c, v[c.name])
		}
		e.buf.WriteByte('}')
	default:
		elements, _ := tables(v)
		e.buf.WriteByte('[')
		for i, x := range elements {
			if i > 0 {
				e.buf.WriteByte(',')
			}
			e.value(n.children[i], x)
		}
		e.buf.WriteByte(']')
	}
}

func (e *encoder) float(n *node, f float64) {
	if math.IsInf(f, 0) || math.IsNaN(f) {
		e.ok = false
		e.r.add(e.r.kinds.param.At(n.value, "%s cannot be sent as JSON", e.r.file.Slice(n.value)).
			Hint("write a finite number, or text in quotes"))
		return
	}
	format := byte('f')
	if a := math.Abs(f); a != 0 && (a < 1e-6 || a >= 1e21) {
		format = 'e'
	}
	s := strconv.FormatFloat(f, format, -1, 64)
	if !strings.ContainsAny(s, ".e") {
		s += ".0"
	}
	e.buf.WriteString(s)
}

func (e *encoder) string(s string) { e.buf.Write(jsonwrite.Text(e.buf.AvailableBuffer(), s)) }

func (e *encoder) strings(texts []string) {
	e.buf.Write(jsonwrite.Texts(e.buf.AvailableBuffer(), texts))
}

func (e *encoder) table(members []Variable) {
	e.buf.WriteByte('{')
	for i, m := range members {
		if i > 0 {
			e.buf.WriteByte(',')
		}
		e.string(m.Name)
		e.buf.WriteByte(':')
		e.string(m.Value)
	}
	e.buf.WriteByte('}')
}

// dateText returns a TOML date or time as text. The decoder marks local dates and times by the name
// of their location.
func dateText(t time.Time) string {
	switch t.Location().String() {
	case "datetime-local":
		return t.Format("2006-01-02T15:04:05.999999999")
	case "date-local":
		return t.Format("2006-01-02")
	case "time-local":
		return t.Format("15:04:05.999999999")
	}
	return t.Format(time.RFC3339Nano)
}

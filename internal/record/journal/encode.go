package journal

import (
	"encoding/json"
	"strconv"

	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
)

// encode appends the JSON of a record in the form of encoding/json without escapes for HTML.
func (r *Record) encode(b []byte) ([]byte, error) {
	if r.isRare() {
		return jsonwrite.Append(b, r)
	}
	m := members{append(b, `{"s":`...)}
	m.b = strconv.AppendUint(m.b, r.Seq, 10)
	m.b = strconv.AppendInt(append(m.b, `,"t":`...), r.Time, 10)
	m.b = jsonwrite.Text(append(m.b, `,"k":`...), r.RecordKind)
	if r.Synced {
		m.b = append(m.b, `,"y":true`...)
	}
	m.number("e", r.Effect)
	m.number("p", r.Task)
	m.text("place", r.Place)
	m.text("q", r.Kind)
	m.text("c", r.Class)
	m.number("of", r.Of)
	m.raw("r", r.Request)
	m.text("d", r.Digest)
	m.text("key", r.Key)
	m.number("due", r.Due)
	if r.Mark != nil {
		m.b = strconv.AppendInt(append(m.b, `,"mark":`...), *r.Mark, 10)
	}
	m.number("try", int64(r.Try))
	m.number("until", r.Until)
	m.text("policy", r.Policy)
	m.text("rule", r.Rule)
	m.text("type", r.Type)
	m.raw("schema", r.Schema)
	m.text("x", r.Outcome)
	m.raw("v", r.Result)
	m.text("blob", r.Blob)
	m.raw("err", r.Err)
	m.number("l", r.FirstLine)
	m.texts("m", r.Lines)
	m.texts("lines", r.ProtocolLines)
	m.numbers("decided", r.Decided)
	m.numbers("sizes", r.Sizes)
	m.text("talk", r.Talk)
	m.number("process", r.Process)
	if r.Moment != nil {
		m.b = strconv.AppendInt(append(m.b, `,"w":[`...), r.Moment[0], 10)
		m.b = append(strconv.AppendInt(append(m.b, ','), r.Moment[1], 10), ']')
	}
	m.number("n", r.N)
	m.text("by", r.By)
	m.text("machine", r.Machine)
	m.text("boot", r.Boot)
	m.text("pid_ns", r.PIDNS)
	m.text("name", r.Name)
	m.text("check", r.Check)
	m.text("ledger", r.Ledger)
	m.text("h", r.Hash)
	return append(m.b, '}'), nil
}

// isRare reports whether the record has members that only a few records of a run have.
// encoding/json encodes such records.
func (r *Record) isRare() bool {
	return r.Start != nil || len(r.Waits) > 0 || r.Code != nil || r.Resolved != nil
}

// members appends the members of an object. It omits those with the value zero.
type members struct{ b []byte }

func (m *members) name(name string) {
	m.b = append(append(append(m.b, ',', '"'), name...), '"', ':')
}

func (m *members) text(name, s string) {
	if s != "" {
		m.name(name)
		m.b = jsonwrite.Text(m.b, s)
	}
}

func (m *members) texts(name string, list []string) {
	if len(list) > 0 {
		m.name(name)
		m.b = jsonwrite.Texts(m.b, list)
	}
}

func (m *members) number(name string, n int64) {
	if n != 0 {
		m.name(name)
		m.b = strconv.AppendInt(m.b, n, 10)
	}
}

func (m *members) numbers(name string, list []int) {
	if len(list) == 0 {
		return
	}
	m.name(name)
	for i, n := range list {
		m.b = append(m.b, "[,"[min(i, 1)])
		m.b = strconv.AppendInt(m.b, int64(n), 10)
	}
	m.b = append(m.b, ']')
}

func (m *members) raw(name string, text json.RawMessage) {
	if len(text) > 0 {
		m.name(name)
		m.b = jsonwrite.Raw(m.b, text)
	}
}

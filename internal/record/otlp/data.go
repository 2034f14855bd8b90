package otlp

import (
	"encoding/json"
	"sort"
	"time"

	"github.com/concerto-lang/concerto/internal/text/utf8cut"
)

// TraceID and SpanID identify a trace and a span.
type (
	TraceID [16]byte
	SpanID  [8]byte
)

// Attribute is an attribute. Value is a string, an int64, a float64, a bool, a []string, or a
// json.RawMessage, which is exported as a structured value.
type Attribute struct {
	Key   string
	Value any
}

// Kinds of spans.
const (
	Internal = 1
	Client   = 3
)

// Span is a span that has ended.
type Span struct {
	Trace      TraceID
	ID, Parent SpanID // Parent is zero for a root
	State      string // tracestate
	Name       string
	Kind       int
	Begin, End time.Time
	Attributes []Attribute
	Events     []SpanEvent
	Dropped    int // number of events that were left out
	Failed     bool
	Message    string // of a failure
}

// SpanEvent is an event of a span.
type SpanEvent struct {
	Name       string
	At         time.Time
	Attributes []Attribute
}

// Log is a log record.
type Log struct {
	Trace      TraceID
	Span       SpanID
	At         time.Time
	Event      string // name of an event; "" for a line of a log
	Severity   string // DEBUG, INFO, WARN or ERROR
	Body       string
	Attributes []Attribute
}

// Resource describes what sends the data.
type Resource struct {
	Attributes []Attribute
	Scope      string // name of the instrumentation scope
	Version    string
	Schema     string // URL of the schema of the names
}

// maximum lengths: of an attribute's value in bytes, and of the nesting of a structured value
const maxDepth = 32

// nano returns a time in nanoseconds since 1970.
func nano(t time.Time) fixed64 { return fixed64(t.UnixNano()) }

func (r *Resource) scope() message {
	m := message{{1, "name", r.Scope}}
	if r.Version != "" {
		m = append(m, field{2, "version", r.Version})
	}
	return m
}

// request returns the message of an export: the resource, its scope, and the items in the field
// with a number and a name.
func (r *Resource) request(resources, scopes, name string, items []message) message {
	scope := message{{1, "scope", r.scope()}, {2, name, items}, {3, "schemaUrl", r.Schema}}
	all := message{{1, "resource", message{{1, "attributes", attributes(r.Attributes, 0)}}}, {2, scopes, []message{scope}}, {3, "schemaUrl", r.Schema}}
	return message{{1, resources, []message{all}}}
}

// attributes returns the messages of attributes. Strings are cut to limit bytes; 0 means no limit.
func attributes(list []Attribute, limit int) []message {
	out := make([]message, 0, len(list))
	for _, a := range list {
		out = append(out, message{{1, "key", a.Key}, {2, "value", value(a.Value, limit)}})
	}
	return out
}

func value(v any, limit int) message {
	switch v := v.(type) {
	case string:
		if limit > 0 && len(v) > limit {
			v = v[:utf8cut.Before(v, limit)]
		}
		return message{{1, "stringValue", v}}
	case bool:
		return message{{2, "boolValue", v}}
	case int64:
		return message{{3, "intValue", integer(v)}}
	case float64:
		return message{{4, "doubleValue", v}}
	case []string:
		list := make([]message, len(v))
		for i, s := range v {
			list[i] = value(s, limit)
		}
		return message{{5, "arrayValue", message{{1, "values", list}}}}
	case json.RawMessage:
		var x any
		if json.Unmarshal(v, &x) != nil {
			return value(string(v), limit)
		}
		return structured(x, limit, 0)
	}
	panic("otlp: an attribute has a value of another type")
}

// structured returns the message of a JSON value.
func structured(x any, limit, depth int) message {
	if depth == maxDepth {
		text, err := json.Marshal(x)
		if err != nil {
			panic(err) // it was decoded from JSON
		}
		return value(string(text), limit)
	}
	switch x := x.(type) {
	case string, bool:
		return value(x, limit)
	case float64:
		if i := int64(x); float64(i) == x {
			return value(i, limit)
		}
		return value(x, limit)
	case []any:
		list := make([]message, len(x))
		for i, e := range x {
			list[i] = structured(e, limit, depth+1)
		}
		return message{{5, "arrayValue", message{{1, "values", list}}}}
	case map[string]any:
		keys := make([]string, 0, len(x))
		for k := range x {
			keys = append(keys, k)
		}
		sort.Strings(keys)
		list := make([]message, len(keys))
		for i, k := range keys {
			list[i] = message{{1, "key", k}, {2, "value", structured(x[k], limit, depth+1)}}
		}
		return message{{6, "kvlistValue", message{{1, "values", list}}}}
	}
	return message{} // null
}

func (s *Span) message(limit int) message {
	const fields = 12 // at most
	m := append(make(message, 0, fields), field{1, "traceId", id(s.Trace[:])}, field{2, "spanId", id(s.ID[:])})
	if s.State != "" {
		m = append(m, field{3, "traceState", s.State})
	}
	if s.Parent != (SpanID{}) {
		m = append(m, field{4, "parentSpanId", id(s.Parent[:])})
	}
	m = append(m, field{5, "name", s.Name}, field{6, "kind", number(s.Kind)}, field{7, "startTimeUnixNano", nano(s.Begin)}, field{8, "endTimeUnixNano", nano(s.End)},
		field{9, "attributes", attributes(s.Attributes, limit)})
	if len(s.Events) > 0 {
		events := make([]message, len(s.Events))
		for i, e := range s.Events {
			events[i] = message{{1, "timeUnixNano", nano(e.At)}, {2, "name", e.Name}, {3, "attributes", attributes(e.Attributes, limit)}}
		}
		m = append(m, field{11, "events", events})
	}
	if s.Dropped > 0 {
		m = append(m, field{12, "droppedEventsCount", number(s.Dropped)})
	}
	if s.Failed {
		const failed = 2
		status := message{}
		if s.Message != "" {
			status = append(status, field{2, "message", s.Message})
		}
		m = append(m, field{15, "status", append(status, field{3, "code", number(failed)})})
	}
	const sampled = 1
	return append(m, field{16, "flags", fixed32(sampled)})
}

// severities are the severity numbers of OpenTelemetry.
var severities = map[string]number{"DEBUG": 5, "INFO": 9, "WARN": 13, "ERROR": 17}

func (l *Log) message(limit int) message {
	m := message{{1, "timeUnixNano", nano(l.At)}}
	if n := severities[l.Severity]; n != 0 {
		m = append(m, field{2, "severityNumber", n}, field{3, "severityText", l.Severity})
	}
	if l.Body != "" {
		m = append(m, field{5, "body", value(l.Body, limit)})
	}
	m = append(m, field{6, "attributes", attributes(l.Attributes, limit)}, field{9, "traceId", id(l.Trace[:])})
	if l.Span != (SpanID{}) {
		m = append(m, field{10, "spanId", id(l.Span[:])})
	}
	m = append(m, field{11, "observedTimeUnixNano", nano(l.At)})
	if l.Event != "" {
		m = append(m, field{12, "eventName", l.Event})
	}
	return m
}

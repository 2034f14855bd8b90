// Package otel exports runs to a collector, and decodes what it receives with OpenTelemetry's own
// types.
package otel

import (
	"compress/gzip"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	common "go.opentelemetry.io/proto/otlp/common/v1"
	logs "go.opentelemetry.io/proto/otlp/logs/v1"
	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"
	resource "go.opentelemetry.io/proto/otlp/resource/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/concerto-lang/concerto/internal/engine/telemetry"
)

// collector is a collector that stores what it receives.
type collector struct {
	*httptest.Server
	t *testing.T
	// reply, if not nil, replies to a request instead; it reports whether it has.
	reply func(w http.ResponseWriter, path string) bool

	mu        sync.Mutex
	requests  []*http.Request
	resources []*resource.Resource
	scopes    []string
	schemas   []string
	spans     []*trace.Span
	metrics   []*metrics.Metric
	logs      []*logs.LogRecord
}

func newCollector(t *testing.T) *collector {
	c := &collector{t: t}
	c.Server = httptest.NewServer(c)
	t.Cleanup(c.Close)
	return c
}

// ServeHTTP decodes an export, whose message equals the one for data in a file. JSON is decoded by
// the rules of OTLP: ids are hexadecimal.
func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body io.Reader = r.Body
	if r.Header.Get("Content-Encoding") == "gzip" {
		z, err := gzip.NewReader(body)
		if err != nil {
			c.t.Error(err)
			return
		}
		body = z
	}
	data, err := io.ReadAll(body)
	if err != nil {
		c.t.Error(err)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests = append(c.requests, r)
	if c.reply != nil && c.reply(w, r.URL.Path) {
		return
	}
	decode := proto.Unmarshal
	if r.Header.Get("Content-Type") == "application/json" {
		decode = func(b []byte, m proto.Message) error { return protojson.Unmarshal(withBase64(b), m) }
	}
	switch path := r.URL.Path; {
	case strings.HasSuffix(path, "/v1/traces"):
		var m trace.TracesData
		if err := decode(data, &m); err != nil {
			c.t.Errorf("%s: %v", path, err)
			return
		}
		for _, of := range m.ResourceSpans {
			for _, s := range of.ScopeSpans {
				c.about(of.Resource, s.Scope, s.SchemaUrl)
				c.spans = append(c.spans, s.Spans...)
			}
		}
	case strings.HasSuffix(path, "/v1/metrics"):
		var m metrics.MetricsData
		if err := decode(data, &m); err != nil {
			c.t.Errorf("%s: %v", path, err)
			return
		}
		for _, of := range m.ResourceMetrics {
			for _, s := range of.ScopeMetrics {
				c.about(of.Resource, s.Scope, s.SchemaUrl)
				c.metrics = s.Metrics // they are cumulative
			}
		}
	case strings.HasSuffix(path, "/v1/logs"):
		var m logs.LogsData
		if err := decode(data, &m); err != nil {
			c.t.Errorf("%s: %v", path, err)
			return
		}
		for _, of := range m.ResourceLogs {
			for _, s := range of.ScopeLogs {
				c.about(of.Resource, s.Scope, s.SchemaUrl)
				c.logs = append(c.logs, s.LogRecords...)
			}
		}
	default:
		c.t.Errorf("a request to %s", path)
	}
}

func (c *collector) about(r *resource.Resource, s *common.InstrumentationScope, schema string) {
	c.resources, c.scopes, c.schemas = append(c.resources, r), append(c.scopes, s.Name), append(c.schemas, schema)
}

// withBase64 replaces the hexadecimal ids of OTLP's JSON by the base64 that protojson requires.
func withBase64(text []byte) []byte {
	for _, name := range []string{"traceId", "spanId", "parentSpanId"} {
		parts := strings.Split(string(text), `"`+name+`":"`)
		for i := 1; i < len(parts); i++ {
			id, rest, _ := strings.Cut(parts[i], `"`)
			raw, err := hex.DecodeString(id)
			if err != nil {
				return nil
			}
			parts[i] = base64(raw) + `"` + rest
		}
		text = []byte(strings.Join(parts, `"`+name+`":"`))
	}
	return text
}

// attributes returns attributes by their keys.
func attributes(list []*common.KeyValue) map[string]*common.AnyValue {
	out := map[string]*common.AnyValue{}
	for _, a := range list {
		out[a.Key] = a.Value
	}
	return out
}

// typeOf returns the type of a value by its name in the registry.
func typeOf(v *common.AnyValue) string {
	switch v := v.Value.(type) {
	case *common.AnyValue_StringValue:
		return "string"
	case *common.AnyValue_IntValue:
		return "int"
	case *common.AnyValue_DoubleValue:
		return "double"
	case *common.AnyValue_BoolValue:
		return "boolean"
	case *common.AnyValue_ArrayValue:
		for _, x := range v.ArrayValue.Values {
			if typeOf(x) != "string" {
				return "any"
			}
		}
		return "string[]"
	}
	return "any"
}

// violations returns everything that the registry does not contain.
func (c *collector) violations() (out []string) {
	r := telemetry.Names()
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	check := func(what string, list []*common.KeyValue) map[string]*common.AnyValue {
		all := attributes(list)
		if len(all) != len(list) {
			add("%s has an attribute twice", what)
		}
		for key, v := range all {
			row, known := r.Attributes[key]
			switch {
			case !known:
				add("%s: the registry has no attribute %s", what, key)
			case row.Type != "any" && row.Type != typeOf(v):
				add("%s: %s is %s, not %s", what, key, typeOf(v), row.Type)
			case row.Closed && !slices.Contains(row.Values, v.GetStringValue()):
				add("%s: %s is %q", what, key, v.GetStringValue())
			}
		}
		return all
	}
	for _, s := range c.spans {
		has := check("span "+s.Name, s.Attributes)
		kind := kindOf(has)
		row, known := r.Spans[kind]
		if !known {
			add("span %s is of no kind", s.Name)
			continue
		}
		for _, key := range row.Required {
			if has[key] == nil {
				add("span %s lacks %s", s.Name, key)
			}
		}
		if !slices.Contains(row.Kinds, int(s.Kind)) {
			add("span %s has the kind %v", s.Name, s.Kind)
		}
		for _, e := range s.Events {
			check("event "+e.Name, e.Attributes)
			if !slices.Contains(r.Events, e.Name) {
				add("the registry has no event %s", e.Name)
			}
		}
	}
	for _, m := range c.metrics {
		row, known := r.Metrics[m.Name]
		if !known || row.Unit != m.Unit {
			add("the registry has no metric %s in %s", m.Name, m.Unit)
			continue
		}
		for _, list := range pointsOf(m, row.Instrument, add) {
			has := check("metric "+m.Name, list)
			for key := range has {
				if !slices.Contains(row.Attributes, key) {
					add("metric %s has the attribute %s", m.Name, key)
				}
			}
			for _, key := range row.Required {
				if has[key] == nil {
					add("metric %s lacks %s", m.Name, key)
				}
			}
		}
	}
	for _, l := range c.logs {
		check("a log record", l.Attributes)
		if l.EventName != "" && !slices.Contains(r.Logs, l.EventName) {
			add("the registry has no log record %s", l.EventName)
		}
	}
	for i := range c.schemas {
		if c.schemas[i] != r.SchemaURL || c.scopes[i] != "concerto" {
			add("scope %s with schema %s", c.scopes[i], c.schemas[i])
		}
	}
	return out
}

// kindOf returns the row of the registry for the attributes of a span.
func kindOf(has map[string]*common.AnyValue) string {
	switch {
	case has["mcp.method.name"] != nil:
		return "mcp"
	case has["concerto.approval.kind"] != nil:
		return "await"
	case has["gen_ai.operation.name"] != nil:
		return has["gen_ai.operation.name"].GetStringValue()
	case has["http.request.method"] != nil:
		return "http"
	case has["process.executable.name"] != nil:
		return "command"
	case has["concerto.stage.name"] != nil:
		return "stage"
	case has["concerto.task"] != nil:
		return "task"
	}
	return ""
}

// pointsOf returns the attributes of the points of a metric, and checks its instrument.
func pointsOf(m *metrics.Metric, instrument string, add func(string, ...any)) (out [][]*common.KeyValue) {
	switch data := m.Data.(type) {
	case *metrics.Metric_Histogram:
		if instrument != "histogram" {
			add("metric %s is a histogram", m.Name)
		}
		for _, p := range data.Histogram.DataPoints {
			out = append(out, p.Attributes)
			var sum uint64
			for _, n := range p.BucketCounts {
				sum += n
			}
			if len(p.BucketCounts) != len(p.ExplicitBounds)+1 || sum != p.Count {
				add("metric %s has %d of %d measurements in %d buckets with %d bounds", m.Name, sum, p.Count, len(p.BucketCounts), len(p.ExplicitBounds))
			}
		}
	case *metrics.Metric_Sum:
		if want := map[string]bool{"counter": true, "updowncounter": false}; data.Sum.IsMonotonic != want[instrument] || instrument == "histogram" {
			add("metric %s is a sum, monotonic %v", m.Name, data.Sum.IsMonotonic)
		}
		for _, p := range data.Sum.DataPoints {
			out = append(out, p.Attributes)
		}
	}
	return out
}

// orphans returns the spans whose parents are missing, apart from one root for each trace.
func (c *collector) orphans() (out []string) {
	known, roots := map[string]bool{}, map[string]int{}
	for _, s := range c.spans {
		if known[string(s.SpanId)] {
			out = append(out, s.Name+" was exported twice")
		}
		known[string(s.SpanId)] = true
	}
	for _, s := range c.spans {
		switch {
		case len(s.ParentSpanId) == 0:
			if roots[string(s.TraceId)]++; roots[string(s.TraceId)] > 1 {
				out = append(out, s.Name+" is another root")
			}
		case !known[string(s.ParentSpanId)]:
			out = append(out, s.Name)
		}
		if s.EndTimeUnixNano < s.StartTimeUnixNano {
			out = append(out, s.Name+" ends before it begins")
		}
	}
	return out
}

package otlp

import (
	"strings"
	"testing"
)

// TestParseContext checks which headers are positions in a trace.
func TestParseContext(t *testing.T) {
	const trace, span = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	for header, want := range map[string]string{
		"00-" + trace + "-" + span + "-01":                    "00-" + trace + "-" + span + "-01",
		"00-" + trace + "-" + span + "-00":                    "00-" + trace + "-" + span + "-00",
		"00-" + trace + "-" + span + "-03":                    "00-" + trace + "-" + span + "-01",
		"cc-" + trace + "-" + span + "-01-more":               "00-" + trace + "-" + span + "-01",
		"00-" + trace + "-" + span + "-01-more":               "",
		"ff-" + trace + "-" + span + "-01":                    "",
		"00-" + strings.Repeat("0", 32) + "-" + span + "-01":  "",
		"00-" + trace + "-" + strings.Repeat("0", 16) + "-01": "",
		"00-" + strings.ToUpper(trace) + "-" + span + "-01":   "",
		"00-" + trace[:31] + "-" + span + "-01":               "",
		"00-" + trace + "-" + span:                            "",
		"":                                                    "",
		"00-" + trace[:31] + "x-" + span + "-01":              "",
		strings.Repeat("00-"+trace+"-", 3):                    "",
		"  00-" + trace + "-" + span + "-01  ":                "00-" + trace + "-" + span + "-01",
		"00-" + trace + "-" + span + "-zz":                    "",
		"0-" + trace + "-" + span + "-01":                     "",
	} {
		c, ok := ParseContext(header, "s=1")
		if got := c.String(); ok != (want != "") || ok && (got != want || c.State != "s=1") {
			t.Errorf("%q: %v, %s; want %q", header, ok, got, want)
		}
	}
}

// FuzzParseContext checks that what is read is written in the same form.
func FuzzParseContext(f *testing.F) {
	f.Add("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	f.Fuzz(func(t *testing.T, header string) {
		c, ok := ParseContext(header, "")
		if !ok {
			return
		}
		if again, ok := ParseContext(c.String(), ""); !ok || again != c {
			t.Errorf("%q is read as %v, and %s as %v", header, c, c, again)
		}
	})
}

// TestEndpoints checks which signals are on, and where they are sent.
func TestEndpoints(t *testing.T) {
	for variables, want := range map[string]string{
		"": "", "OTEL_TRACES_EXPORTER=otlp": "http://localhost:4318/v1/traces - -",
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://a":                                                                       "http://a/v1/traces http://a/v1/metrics http://a/v1/logs",
		"OTEL_EXPORTER_OTLP_ENDPOINT=https://a:1/x/":                                                                 "https://a:1/x/v1/traces https://a:1/x/v1/metrics https://a:1/x/v1/logs",
		"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://a/own":                                                            "http://a/own - -",
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://a OTEL_METRICS_EXPORTER=none OTEL_EXPORTER_OTLP_LOGS_ENDPOINT=http://b/": "http://a/v1/traces - http://b/",
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://a OTEL_SDK_DISABLED=true":                                                "",
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://a OTEL_LOGS_EXPORTER=prometheus":                                         "http://a/v1/traces http://a/v1/metrics -",
	} {
		c, _ := ParseConfig(strings.Fields(variables))
		var got []string
		if c != nil {
			for _, e := range c.Endpoints {
				if e == nil {
					got = append(got, "-")
				} else {
					got = append(got, e.URL.String())
				}
			}
		}
		if got := strings.Join(got, " "); got != want {
			t.Errorf("%s: %q, want %q", variables, got, want)
		}
	}
	c, problems := ParseConfig([]string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://a", "OTEL_EXPORTER_OTLP_TRACES_HEADERS=x=%41%2C,y=2", "OTEL_EXPORTER_OTLP_HEADERS=z=3",
		"OTEL_RESOURCE_ATTRIBUTES=service.name=s,deployment=a%20b", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE=5000", "OTEL_EXPORTER_OTLP_CERTIFICATE=/nonexistent"})
	if c.Endpoints[Traces].Headers[0] != [2]string{"x", "A,"} || len(c.Endpoints[Traces].Headers) != 2 || c.Endpoints[Logs].Headers[0] != [2]string{"z", "3"} ||
		c.Service != "s" || c.Resource[0] != (Attribute{"deployment", "a b"}) || c.BatchSize != 2048 {
		t.Errorf("configuration %+v", c)
	}
	if len(problems) != 1 || !strings.HasPrefix(problems[0], "OTEL_EXPORTER_OTLP_CERTIFICATE: open /nonexistent: ") {
		t.Errorf("problems %q", problems)
	}
}

// TestOverflow checks that the number of series is limited, and that nothing is lost.
func TestOverflow(t *testing.T) {
	m, i := NewMeter(), &Instrument{Name: "c", Whole: true}
	for n := range int64(2 * mostSeries) {
		m.Add(i, 1, Attribute{"n", n})
	}
	var sum float64
	for _, s := range m.series {
		sum += s.sum
	}
	if len(m.series) != mostSeries+1 || sum != 2*mostSeries {
		t.Errorf("%d series with the sum %g", len(m.series), sum)
	}
}

// BenchmarkSpan measures the encoding of a span with the attributes of an attempt at a model.
func BenchmarkSpan(b *testing.B) {
	s := &Span{Name: "chat m", Kind: Client}
	for range 14 {
		s.Attributes = append(s.Attributes, Attribute{"gen_ai.response.model", "some-model"}, Attribute{"gen_ai.usage.input_tokens", int64(1234)})
	}
	b.ReportAllocs()
	for b.Loop() {
		_ = s.message(0).appendProto(nil)
	}
}

// FuzzPartial checks that no reply of a collector makes the exporter panic.
func FuzzPartial(f *testing.F) {
	f.Add(true, []byte(`{"partialSuccess":{"rejectedSpans":"3","errorMessage":"no"}}`))
	f.Add(false, []byte("\x0a\x07\x08\x01\x12\x03bad"))
	f.Fuzz(func(t *testing.T, isJSON bool, text []byte) {
		if r := partial(isJSON, text); r != nil && r.Error() == "" {
			t.Error("a rejection has no text")
		}
	})
}

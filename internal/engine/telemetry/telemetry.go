// Package telemetry exports runs to a collector of OpenTelemetry: a trace of their items, metrics,
// and log records (spec/40-telemetry.md). Names are those of the semantic conventions for
// generative AI; our own begin with "concerto.".
package telemetry

import (
	_ "embed"
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"github.com/concerto-lang/concerto/internal/record/otlp"
)

// registryJSON is the table of all names: attributes with their types, the spans with their
// required attributes and kinds, and metrics with their units, attributes and bounds. The file
// contains the versions of OpenTelemetry's conventions whose names it has.
//
//go:embed registry.json
var registryJSON []byte

// Registry is the table of names.
type Registry struct {
	Version   string `json:"version"` // of the conventions for generative AI
	Core      string `json:"core"`    // version of the core conventions
	SchemaURL string `json:"schema_url"`
	// Attributes contains the types and, if there are only some, the values of attributes.
	Attributes map[string]struct {
		Type   string   `json:"type"`
		Values []string `json:"values"`
		Closed bool     `json:"closed"`
	} `json:"attributes"`
	Spans map[string]struct {
		Required []string `json:"required"`
		Kinds    []int    `json:"kinds"`
	} `json:"spans"`
	Metrics map[string]struct {
		Instrument string    `json:"instrument"`
		Unit       string    `json:"unit"`
		Required   []string  `json:"required"`
		Attributes []string  `json:"attributes"`
		Bounds     []float64 `json:"bounds"`
		Value      string    `json:"value"` // double for a counter of fractions
	} `json:"metrics"`
	Events []string `json:"events"` // of spans
	Logs   []string `json:"logs"`   // names of log records
}

// Names returns the table of names.
var Names = sync.OnceValue(func() *Registry {
	r := &Registry{}
	if err := json.Unmarshal(registryJSON, r); err != nil {
		panic(err) // the file is a part of the program
	}
	return r
})

// defaultBounds are those of OpenTelemetry for a histogram whose convention names none.
var defaultBounds = []float64{0, 5, 10, 25, 50, 75, 100, 250, 500, 750, 1000, 2500, 5000, 7500, 10000}

// Telemetry exports the runs of a process. It is safe for concurrent use.
type Telemetry struct {
	config      *otlp.Config
	exporter    *otlp.Exporter
	meter       *otlp.Meter
	instruments map[string]*otlp.Instrument

	proxy proxy

	mu   sync.Mutex
	sent map[otlp.SpanID]*Sent // spans of runs whose exports are recorded
}

// Options configures a Telemetry.
type Options struct {
	Service string // name of the service, unless a variable sets it
	Version string // of Concerto
	// Failing is called when a collector fails repeatedly, and with nil when it works again; nil
	// for none.
	Failing func(endpoint string, reason error)
}

// Open starts the export that the variables in environ ask for. It returns nil if they ask for
// none. problems are warnings about invalid variables.
func Open(environ []string, o Options) (t *Telemetry, problems []string) {
	config, problems := otlp.ParseConfig(environ)
	if config == nil {
		return nil, problems
	}
	t = &Telemetry{config: config, meter: otlp.NewMeter(), instruments: map[string]*otlp.Instrument{}, sent: map[otlp.SpanID]*Sent{}}
	registry := Names()
	for name, m := range registry.Metrics {
		i := &otlp.Instrument{Name: name, Unit: m.Unit, UpDown: m.Instrument == "updowncounter", Whole: m.Value != "double"}
		if m.Instrument == "histogram" {
			if i.Bounds = m.Bounds; i.Bounds == nil {
				i.Bounds = defaultBounds
			}
		}
		t.instruments[name] = i
	}
	service := config.Service
	if service == "" {
		service = o.Service
	}
	r := otlp.Resource{Attributes: append([]otlp.Attribute{{Key: "service.name", Value: service}}, config.Resource...), Scope: "concerto", Version: o.Version, Schema: registry.SchemaURL}
	t.exporter = otlp.NewExporter(config, r, t.meter, otlp.Hooks{Sending: t.sending, Failing: o.Failing, Dropped: func(n int) { t.add("concerto.telemetry.dropped", float64(n)) }})
	return t, problems
}

// Close exports what is left, for at most ten seconds. It returns what could not be exported.
func (t *Telemetry) Close() []otlp.Problem {
	t.proxy.close()
	problems := t.exporter.Close()
	if t.proxy.failed != nil {
		problems = append(problems, otlp.Problem{Reason: t.proxy.failed})
	}
	return problems
}

// Headers returns the values of the headers for collectors and their words, which are secrets.
func (t *Telemetry) Headers() (values []string) {
	for _, e := range t.config.Endpoints {
		if e != nil {
			for _, h := range e.Headers {
				values = append(append(values, h[1]), strings.Fields(h[1])...)
			}
		}
	}
	slices.Sort(values)
	return slices.Compact(values)
}

// add adds a measurement to an instrument of the registry. Attributes without a value are left out.
func (t *Telemetry) add(name string, v float64, list ...otlp.Attribute) {
	if t.config.Endpoints[otlp.Metrics] == nil {
		return
	}
	t.meter.Add(t.instruments[name], v, slices.DeleteFunc(list, isUnset)...)
}

// isUnset reports whether an attribute has no value.
func isUnset(a otlp.Attribute) bool { return a.Value == "" || a.Value == nil }

package otlp

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Signal is a kind of telemetry.
type Signal int

// The signals.
const (
	Traces Signal = iota
	Metrics
	Logs
	signals
)

// names contains for each signal the middle of its variables' names, and the path of its requests.
var names = [signals]struct{ variable, path string }{{"TRACES", "/v1/traces"}, {"METRICS", "/v1/metrics"}, {"LOGS", "/v1/logs"}}

// Config is what the variables of the environment say
// (https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables).
type Config struct {
	Endpoints [signals]*Endpoint // nil: the signal is off
	Service   string             // name of the service; "" if not set
	Resource  []Attribute        // other attributes of the resource
	Sampler   Sampler

	Delay, MetricInterval, ExportTimeout time.Duration
	QueueSize, BatchSize                 int
	AttributeLimit                       int // bytes of an attribute's value; 0 means no limit

	// Parent is the position in the trace that the environment names; its Trace is zero without
	// one.
	Parent             Context
	Baggage            string
	PassTrace          bool // propagate the trace
	PassBaggage        bool
	SpanText, LogsText bool // export the texts of models and tools: on spans, in log records
}

// Endpoint is where the data of a signal is sent.
type Endpoint struct {
	URL     *url.URL
	Headers [][2]string
	JSON    bool
	Timeout time.Duration
	Gzip    bool
	TLS     *tls.Config // nil for the default
}

// String returns the name of a signal in variables: TRACES, METRICS or LOGS.
func (s Signal) String() string { return names[s].variable }

// Path returns the path that is appended to the address of a collector.
func (s Signal) Path() string { return names[s].path }

// EndpointAt returns the endpoint of the signal with a path, or nil.
func (c *Config) EndpointAt(path string) *Endpoint {
	for s, e := range c.Endpoints {
		if names[s].path == path {
			return e
		}
	}
	return nil
}

// Client returns a client for requests to the endpoint. It follows no redirects.
func (e *Endpoint) Client() *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = e.TLS
	return &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// Sampler decides which traces are exported: a part of all traces, or with Follow those whose
// parent is, and the part of those without a parent.
type Sampler struct {
	Follow bool
	Part   float64 // from 0 to 1
}

// Sampled reports whether a trace is exported. parent is the zero Context without one. The decision
// depends on the last eight bytes of the trace's id, as TraceIdRatioBased defines.
func (s Sampler) Sampled(trace TraceID, parent Context) bool {
	if s.Follow && parent.Trace != (TraceID{}) {
		return parent.Sampled
	}
	if s.Part >= 1 {
		return true
	}
	return binary.BigEndian.Uint64(trace[8:])>>1 < uint64(s.Part*(1<<63))
}

// reader reads variables, and collects what is wrong with them.
type reader struct {
	vars     map[string]string
	problems []string
}

// ParseConfig reads the variables in environ ("NAME=value"). It returns nil if no signal is on.
// problems are warnings about invalid values, each of which names its variable.
func ParseConfig(environ []string) (c *Config, problems []string) {
	r := &reader{}
	for _, v := range environ {
		if name, value, _ := strings.Cut(v, "="); strings.HasPrefix(name, "OTEL_") || isContext(name) {
			if r.vars == nil {
				r.vars = map[string]string{}
			}
			r.vars[name] = strings.TrimSpace(value)
		}
	}
	if r.vars == nil || strings.EqualFold(r.vars["OTEL_SDK_DISABLED"], "true") {
		return nil, nil
	}
	c = &Config{}
	on := false
	for s := range signals {
		c.Endpoints[s] = r.endpoint(s)
		on = on || c.Endpoints[s] != nil
	}
	if !on {
		return nil, r.problems
	}
	r.resource(c)
	r.sampler(c)
	c.Delay = r.milliseconds("OTEL_BSP_SCHEDULE_DELAY", 5*time.Second)
	c.ExportTimeout = r.milliseconds("OTEL_BSP_EXPORT_TIMEOUT", 30*time.Second)
	c.MetricInterval = r.milliseconds("OTEL_METRIC_EXPORT_INTERVAL", time.Minute)
	c.QueueSize = int(r.number("OTEL_BSP_MAX_QUEUE_SIZE", 2048, 1))
	c.BatchSize = min(int(r.number("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", 512, 1)), c.QueueSize)
	c.AttributeLimit = int(r.number("OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT", 0, 0))
	r.context(c)
	switch strings.ToUpper(r.vars["OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"]) {
	case "TRUE", "SPAN_ONLY":
		c.SpanText = true
	case "EVENT_ONLY":
		c.LogsText = true
	case "SPAN_AND_EVENT":
		c.SpanText, c.LogsText = true, true
	}
	return c, r.problems
}

func isContext(name string) bool {
	return name == "TRACEPARENT" || name == "TRACESTATE" || name == "BAGGAGE"
}

func (r *reader) warn(format string, args ...any) {
	problem := fmt.Sprintf(format, args...)
	if !slices.Contains(r.problems, problem) { // a variable may apply to several signals
		r.problems = append(r.problems, problem)
	}
}

// of returns a signal's own variable, or else the one of all signals, and its name.
func (r *reader) of(s Signal, name string) (value, variable string) {
	own := "OTEL_EXPORTER_OTLP_" + names[s].variable + "_" + name
	if v := r.vars[own]; v != "" {
		return v, own
	}
	return r.vars["OTEL_EXPORTER_OTLP_"+name], "OTEL_EXPORTER_OTLP_" + name
}

// endpoint returns where a signal is sent, or nil if it is off.
func (r *reader) endpoint(s Signal) *Endpoint {
	exporter := "OTEL_" + names[s].variable + "_EXPORTER"
	address, variable := r.of(s, "ENDPOINT")
	switch v := r.vars[exporter]; v {
	case "otlp":
	case "none":
		return nil
	case "":
		if address == "" {
			return nil
		}
	default:
		r.warn("%s: %q is not supported (use otlp or none); this signal is off", exporter, v)
		return nil
	}
	if address == "" {
		address = "http://localhost:4318"
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		r.warn("%s: %q is not a URL such as http://localhost:4318; telemetry is off", variable, address)
		return nil
	}
	if variable == "OTEL_EXPORTER_OTLP_ENDPOINT" {
		u = u.JoinPath(names[s].path)
	}
	e := &Endpoint{URL: u}
	switch v, variable := r.of(s, "PROTOCOL"); v {
	case "", "http/protobuf":
	case "http/json":
		e.JSON = true
	case "grpc":
		r.warn("%s: grpc is not supported (use http/protobuf or http/json); this signal is off", variable)
		return nil
	default:
		r.warn("%s: invalid value %q; using http/protobuf", variable, v)
	}
	switch v, variable := r.of(s, "COMPRESSION"); v {
	case "", "none":
	case "gzip":
		e.Gzip = true
	default:
		r.warn("%s: invalid value %q; using none", variable, v)
	}
	_, variable = r.of(s, "TIMEOUT")
	e.Timeout = r.milliseconds(variable, 10*time.Second)
	headers, variable := r.of(s, "HEADERS")
	for _, pair := range r.pairs(variable, headers) {
		e.Headers = append(e.Headers, [2]string{pair[0], pair[1]})
	}
	e.TLS = r.tls(s)
	return e
}

// tls returns the configuration of certificates, or nil for the default.
func (r *reader) tls(s Signal) *tls.Config {
	var c tls.Config
	isSet := false
	if file, variable := r.of(s, "CERTIFICATE"); file != "" {
		text, err := os.ReadFile(file)
		roots := x509.NewCertPool()
		switch {
		case err != nil:
			r.warn("%s: %v; using the system's certificates", variable, err)
		case !roots.AppendCertsFromPEM(text):
			r.warn("%s: %s contains no certificate; using the system's certificates", variable, file)
		default:
			c.RootCAs, isSet = roots, true
		}
	}
	certificate, variable := r.of(s, "CLIENT_CERTIFICATE")
	key, _ := r.of(s, "CLIENT_KEY")
	if certificate != "" || key != "" {
		if pair, err := tls.LoadX509KeyPair(certificate, key); err != nil {
			r.warn("%s: %v; using no client certificate", variable, err)
		} else {
			c.Certificates, isSet = []tls.Certificate{pair}, true
		}
	}
	if !isSet {
		return nil
	}
	return &c
}

// pairs reads a list of KEY=VALUE, separated by commas, whose values are percent-encoded.
func (r *reader) pairs(variable, text string) (out [][2]string) {
	for part := range strings.SplitSeq(text, ",") {
		if strings.TrimSpace(part) == "" {
			continue
		}
		key, value, found := strings.Cut(part, "=")
		decoded, err := url.PathUnescape(strings.TrimSpace(value))
		if key = strings.TrimSpace(key); !found || key == "" || err != nil {
			r.warn("%s: an entry is not KEY=VALUE with a percent-encoded value; it is ignored", variable)
			continue
		}
		out = append(out, [2]string{key, decoded})
	}
	return out
}

func (r *reader) resource(c *Config) {
	for _, pair := range r.pairs("OTEL_RESOURCE_ATTRIBUTES", r.vars["OTEL_RESOURCE_ATTRIBUTES"]) {
		if pair[0] == "service.name" {
			c.Service = pair[1]
			continue
		}
		c.Resource = append(c.Resource, Attribute{pair[0], pair[1]})
	}
	if name := r.vars["OTEL_SERVICE_NAME"]; name != "" {
		c.Service = name
	}
}

func (r *reader) sampler(c *Config) {
	c.Sampler = Sampler{Follow: true, Part: 1}
	v := r.vars["OTEL_TRACES_SAMPLER"]
	kind, follow := strings.CutPrefix(v, "parentbased_")
	part := 1.0
	switch kind {
	case "":
		if !follow {
			return
		}
		fallthrough
	default:
		r.warn("OTEL_TRACES_SAMPLER: invalid value %q; using parentbased_always_on", v)
		return
	case "always_on":
	case "always_off":
		part = 0
	case "traceidratio":
		if arg := r.vars["OTEL_TRACES_SAMPLER_ARG"]; arg != "" {
			f, err := strconv.ParseFloat(arg, 64)
			if err != nil || !(f >= 0 && f <= 1) {
				r.warn("OTEL_TRACES_SAMPLER_ARG: invalid value %q (use a number from 0 to 1); using 1", arg)
				f = 1
			}
			part = f
		}
	}
	c.Sampler = Sampler{Follow: follow, Part: part}
}

// number returns the value of a variable that is an integer of at least least.
func (r *reader) number(variable string, otherwise, least int64) int64 {
	v := r.vars[variable]
	if v == "" {
		return otherwise
	}
	n, err := strconv.ParseInt(v, 10, 32)
	if err != nil || n < least {
		r.warn("%s: invalid value %q; using %d", variable, v, otherwise)
		return otherwise
	}
	return n
}

func (r *reader) milliseconds(variable string, otherwise time.Duration) time.Duration {
	return time.Duration(r.number(variable, otherwise.Milliseconds(), 1)) * time.Millisecond
}

// context reads the propagators and the incoming context.
func (r *reader) context(c *Config) {
	c.PassTrace, c.PassBaggage = true, true
	if v := r.vars["OTEL_PROPAGATORS"]; v != "" {
		c.PassTrace, c.PassBaggage = false, false
		all := strings.Split(v, ",")
		for _, name := range all {
			switch strings.TrimSpace(name) {
			case "tracecontext":
				c.PassTrace = true
			case "baggage":
				c.PassBaggage = true
			case "none", "":
			default:
				r.warn("OTEL_PROPAGATORS: %q is not supported (use tracecontext, baggage or none); it is ignored", strings.TrimSpace(name))
			}
		}
		if slices.Contains(all, "none") {
			c.PassTrace, c.PassBaggage = false, false
		}
	}
	c.Baggage = r.vars["BAGGAGE"]
	if v := r.vars["TRACEPARENT"]; v != "" && c.PassTrace {
		parent, ok := ParseContext(v, r.vars["TRACESTATE"])
		if !ok {
			r.warn("TRACEPARENT: invalid value; the run begins a new trace")
		}
		c.Parent = parent
	}
}

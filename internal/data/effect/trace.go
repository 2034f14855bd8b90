package effect

import (
	"context"
	"strings"
)

// Tracer assigns positions in a trace to effects, which performers pass on to what they call
// (https://www.w3.org/TR/trace-context-2).
type Tracer interface {
	// Trace returns a function for the headers that name the present span of a request: traceparent
	// and, if they are not empty, tracestate and baggage. It returns nil if nothing is passed on.
	Trace(q Request) func() []Header
}

type (
	tracerOf struct{}
	traceOf  struct{}
)

// WithTracer returns a context whose effects belong to a trace.
func WithTracer(ctx context.Context, t Tracer) context.Context {
	return context.WithValue(ctx, tracerOf{}, t)
}

// Traced returns the context of a request, in which TraceHeaders returns the headers of its span.
func Traced(ctx context.Context, q Request) context.Context {
	switch q.(type) {
	case *AgentCall, *StreamOpen, *HTTP, *Command, *ExchangeOpen, *MCPOpen, *AppCall:
	default:
		return ctx // calls nothing outside of the process
	}
	t, ok := ctx.Value(tracerOf{}).(Tracer)
	if !ok {
		return ctx
	}
	if headers := t.Trace(q); headers != nil {
		return context.WithValue(ctx, traceOf{}, headers)
	}
	return ctx
}

// WithTraceOf returns a context for what continues after the request with the context from.
func WithTraceOf(ctx, from context.Context) context.Context {
	if f := from.Value(traceOf{}); f != nil {
		return context.WithValue(ctx, traceOf{}, f)
	}
	return ctx
}

// TraceHeaders returns the headers of the present span, or nil if the run is not traced.
func TraceHeaders(ctx context.Context) []Header {
	if f, ok := ctx.Value(traceOf{}).(func() []Header); ok {
		return f()
	}
	return nil
}

// SetTraceHeaders adds the headers of the present span to those of a request. The program's own
// headers have precedence.
func SetTraceHeaders(ctx context.Context, to interface {
	Get(name string) string
	Set(name, value string)
}) {
	for _, h := range TraceHeaders(ctx) {
		if to.Get(h.Name) == "" {
			to.Set(h.Name, h.Value)
		}
	}
}

// TraceEnviron returns an environment with the headers of a span as variables: TRACEPARENT,
// TRACESTATE and BAGGAGE. It does not change environ.
func TraceEnviron(environ []string, all []Header) []string {
	if all == nil {
		return environ
	}
	out := make([]string, 0, len(environ)+len(all))
	for _, v := range environ {
		name, _, _ := strings.Cut(v, "=")
		if name != "TRACEPARENT" && name != "TRACESTATE" && name != "BAGGAGE" {
			out = append(out, v)
		}
	}
	for _, h := range all {
		out = append(out, strings.ToUpper(h.Name)+"="+h.Value)
	}
	return out
}

// TraceMembers returns the headers of a span as the members traceparent and tracestate of a JSON
// object, or nil.
func TraceMembers(all []Header) map[string]string {
	var out map[string]string
	for _, h := range all {
		if h.Name == "baggage" {
			continue
		}
		if out == nil {
			out = map[string]string{}
		}
		out[h.Name] = h.Value
	}
	return out
}

package receiver

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/receiver/receivertest"
)

// command builds the command concerto.
func command(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "concerto")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", path, "./cmd/concerto")
	build.Dir, build.Env = "../../..", append(os.Environ(), "GOWORK=")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the command: %v\n%s", err, out)
	}
	return path
}

// sinks store what the receiver has accepted.
type sinks struct {
	consumertest.TracesSink
	consumertest.MetricsSink
	consumertest.LogsSink
}

// receive starts the collector's OTLP receiver, and returns its URL.
func receive(t *testing.T, to *sinks) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	f := otlpreceiver.NewFactory()
	c := f.CreateDefaultConfig().(*otlpreceiver.Config)
	c.Protocols.HTTP.GetOrInsertDefault().ServerConfig.NetAddr.Endpoint = address
	settings, ctx := receivertest.NewNopSettings(f.Type()), context.WithoutCancel(t.Context())
	traces, err := f.CreateTraces(ctx, settings, c, &to.TracesSink)
	if err != nil {
		t.Fatal(err)
	}
	metrics, err := f.CreateMetrics(ctx, settings, c, &to.MetricsSink)
	if err != nil {
		t.Fatal(err)
	}
	logs, err := f.CreateLogs(ctx, settings, c, &to.LogsSink)
	if err != nil {
		t.Fatal(err)
	}
	host := componenttest.NewNopHost()
	for _, start := range []func() error{
		func() error { return traces.Start(ctx, host) }, func() error { return metrics.Start(ctx, host) }, func() error { return logs.Start(ctx, host) },
	} {
		if err := start(); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		for _, stop := range []func(context.Context) error{traces.Shutdown, metrics.Shutdown, logs.Shutdown} {
			if err := stop(ctx); err != nil {
				t.Error(err)
			}
		}
	})
	return "http://" + address
}

// TestCollector exports a run to the collector's receiver, in each encoding. It must accept
// everything, and the spans must be one trace with one root.
func TestCollector(t *testing.T) {
	concerto := command(t)
	for _, protocol := range []string{"http/protobuf", "http/json"} {
		for _, compression := range []string{"none", "gzip"} {
			t.Run(protocol+", "+compression, func(t *testing.T) {
				var got sinks
				run := exec.CommandContext(t.Context(), concerto, "run", "../../../examples/supervise")
				run.Env = append(os.Environ(), "OTEL_EXPORTER_OTLP_ENDPOINT="+receive(t, &got), "OTEL_EXPORTER_OTLP_PROTOCOL="+protocol,
					"OTEL_EXPORTER_OTLP_COMPRESSION="+compression, "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_AND_EVENT")
				if out, err := run.CombinedOutput(); err != nil {
					t.Fatalf("the run: %v\n%s", err, out)
				}
				known, trace := map[pcommon.SpanID]bool{}, map[pcommon.TraceID]bool{}
				each := func(f func(ptrace.Span)) {
					for _, batch := range got.AllTraces() {
						for _, r := range batch.ResourceSpans().All() {
							if name, _ := r.Resource().Attributes().Get("service.name"); name.AsString() != "supervise" {
								t.Errorf("service %q", name.AsString())
							}
							for _, s := range r.ScopeSpans().All() {
								for _, x := range s.Spans().All() {
									f(x)
								}
							}
						}
					}
				}
				names := map[string]int{}
				each(func(s ptrace.Span) {
					known[s.SpanID()], trace[s.TraceID()] = true, true
					names[s.Name()]++
					if s.EndTimestamp() < s.StartTimestamp() {
						t.Errorf("%s ends before it begins", s.Name())
					}
				})
				roots := 0
				each(func(s ptrace.Span) {
					switch {
					case s.ParentSpanID().IsEmpty():
						roots++
					case !known[s.ParentSpanID()]:
						t.Errorf("%s has no parent", s.Name())
					}
				})
				if roots != 1 || len(trace) != 1 || names["invoke_workflow supervise"] != 1 || names["invoke_agent Migrator"] == 0 {
					t.Errorf("%d roots, %d traces, spans %v", roots, len(trace), names)
				}
				if got.DataPointCount() == 0 || got.LogRecordCount() == 0 {
					t.Errorf("%d data points, %d log records", got.DataPointCount(), got.LogRecordCount())
				}
			})
		}
	}
}

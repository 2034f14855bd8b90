package cli

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/cli/console"
)

// TestGuardExport checks which spans a collector receives about a guarded session, that a second
// export has the same, and that no argument is in them.
func TestGuardExport(t *testing.T) {
	dir := t.TempDir()
	var bodies [][]byte
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if text, err := io.ReadAll(r.Body); err == nil && r.URL.Path == "/v1/traces" {
			bodies = append(bodies, text)
		}
		_, _ = io.WriteString(w, "{}")
	}))
	defer collector.Close()
	command := func(stdin string, args ...string) (int, string) {
		var out bytes.Buffer
		code := run(args, &console.Console{Stdin: strings.NewReader(stdin), Stdout: &out, Stderr: &out, Dir: dir,
			Environ: []string{"HOME=" + dir, "OTEL_EXPORTER_OTLP_ENDPOINT=" + collector.URL, "OTEL_EXPORTER_OTLP_PROTOCOL=http/json", "OTEL_METRICS_EXPORTER=none"}})
		return code, out.String()
	}
	writeFiles(t, dir, map[string]string{"Concerto.toml": "[guard]\n[guard.permissions.commands]\ndeny = [\"rm *\"]\n"})
	input := func(event, call, text string) string {
		return `{"session_id":"s1","cwd":"` + dir + `","hook_event_name":"` + event + `","tool_name":"Bash","tool_input":{"command":"` + text + `"},"tool_use_id":"` + call + `"}`
	}
	command(input("PreToolUse", "c1", "rm swordfish"), "guard", "hook", "codex")
	command(input("PermissionRequest", "c2", "ls swordfish"), "guard", "hook", "codex")
	command(input("PostToolUse", "c2", "ls swordfish"), "guard", "hook", "codex")
	for range 2 {
		if code, out := command("", "guard", "export"); code != 0 || out != "exported 2 calls in 1 session\n" {
			t.Fatalf("exit code %d: %s", code, out)
		}
	}
	if len(bodies) != 2 || !bytes.Equal(bodies[0], bodies[1]) || bytes.Contains(bodies[0], []byte("swordfish")) {
		t.Fatalf("%d requests: %s", len(bodies), bodies)
	}
	var sent struct {
		ResourceSpans []struct {
			ScopeSpans []struct {
				Spans []struct {
					TraceID, SpanID, ParentSpanID, Name string
					Attributes                          []struct {
						Key   string
						Value map[string]any
					}
				}
			}
		}
	}
	if err := json.Unmarshal(bodies[0], &sent); err != nil {
		t.Fatal(err)
	}
	spans := sent.ResourceSpans[0].ScopeSpans[0].Spans
	var got []string
	for _, s := range spans {
		line := s.Name
		for _, a := range s.Attributes {
			if slices.Contains([]string{"concerto.approval.decision", "concerto.guard.executed", "concerto.approval.actor.name"}, a.Key) {
				for _, v := range a.Value {
					text, _ := json.Marshal(v)
					line += " " + string(text)
				}
			}
		}
		got = append(got, line)
		if s.TraceID != spans[0].TraceID || (s.ParentSpanID != spans[0].SpanID) != (s.SpanID == spans[0].SpanID) {
			t.Errorf("%s is not in the trace of the session", s.Name)
		}
	}
	want := []string{"concerto.guard.session codex", `concerto.guard.call Bash "deny" "commands.deny rm *" false`, `concerto.guard.call Bash "ask" "default" true`}
	if !slices.Equal(got, want) {
		t.Errorf("spans %q, want %q", got, want)
	}
}

package engine_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto/internal/engine"
	"github.com/concerto-lang/concerto/runtime/tool"
	"github.com/concerto-lang/concerto/runtime/world/permit"
)

// runTools runs a program with tools that are not Go functions. It returns the emits and the log.
func runTools(t *testing.T, program, manifest string, o engine.Options, tools ...tool.Definition) (emits []string, log string) {
	t.Helper()
	p := compileTests(t, map[string]string{"main.conc": program, "Concerto.toml": manifest})
	o.Tools = &tool.Registry{}
	if err := o.Tools.Register(tools...); err != nil {
		t.Fatal(err)
	}
	defer o.Tools.Close()
	var out bytes.Buffer
	o.Log, o.Environ = &out, append(os.Environ(), "AUTH=Bearer k-123456")
	o.OnEmit = func(channel string, payload json.RawMessage) { emits = append(emits, channel+" "+string(payload)) }
	if err := p.Run(t.Context(), o); err != nil {
		t.Fatalf("Run: %v\nlog:\n%s", err, &out)
	}
	return emits, out.String()
}

const callsBoth = `
fn try_tool(name: String) {
    try { emit("ok", dispatch_tool(name, { "a": 1 })); } catch ToolError(e) { emit("err", e.message); }
}
fn main() { try_tool("c"); try_tool("h"); }`

// TestCommandAndHTTPTools checks that tools implemented by a command or an HTTP address use the
// log, the secrets, the environment and the permissions of the run.
func TestCommandAndHTTPTools(t *testing.T) {
	var auth string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		auth = r.Header.Get("Authorization")
		http.Error(w, "no such key: "+auth, http.StatusUnauthorized)
	}))
	defer server.Close()
	command, err := tool.Command{Run: []string{"sh", "-c", `read line; echo "$line" | cut -c1-16; echo "on the side" >&2`}, Answer: "text"}.Definition(tool.Spec{Name: "c", Description: "c"}, "")
	if err != nil {
		t.Fatal(err)
	}
	address, err := tool.HTTP{URL: server.URL, HeadersEnv: map[string]string{"Authorization": "AUTH"}}.Definition(tool.Spec{Name: "h", Description: "h"}, "")
	if err != nil {
		t.Fatal(err)
	}
	refused := "err " + `"calling 127.0.0.1 is not permitted: `
	for _, c := range []struct {
		manifest string
		o        engine.Options
		want     string // result of the HTTP tool
	}{
		{"", engine.Options{}, `err "answered with status 401 Unauthorized: no such key: ***AUTH***"`},
		{"[permissions]\nnet = [\"127.0.0.1\"]\ntools = [\"c\", \"h\"]", engine.Options{}, `err "answered with status 401 Unauthorized: no such key: ***AUTH***"`},
		{"[permissions]\nnet = []\ntools = [\"c\", \"h\"]", engine.Options{}, refused + "add it to `net` in [permissions]\""},
		{"", engine.Options{Allow: permit.Grants{Allow: map[permit.Kind]permit.List{permit.Net: {}}}}, refused + `allow it with --allow-net=127.0.0.1"`},
		// The application has chosen the command, so --allow-run does not apply to it.
		{"", engine.Options{Allow: permit.Grants{Sandbox: true}}, refused + `allow it with --allow-net=127.0.0.1"`},
	} {
		auth = ""
		emits, log := runTools(t, callsBoth, c.manifest, c.o, command, address)
		if d := cmp.Diff([]string{`ok "{\"input\":{\"a\":1}\n"`, c.want}, emits); d != "" {
			t.Errorf("emits with the manifest %q and Allow %+v differ (-want +got):\n%s", c.manifest, c.o.Allow, d)
		}
		if log != "c: on the side\n" {
			t.Errorf("log = %q, want only the command's line", log)
		}
		if called := !strings.Contains(c.want, "not permitted"); called != (auth == "Bearer k-123456") {
			t.Errorf("server was called: want %v, received header %q", called, auth)
		}
	}
}

// TestGlobalToolProcess checks that the process of a global tool continues between runs, until the
// registry is closed.
func TestGlobalToolProcess(t *testing.T) {
	script := `n=0; while read line; do n=$((n+1)); echo "{\"jsonrpc\":\"2.0\",\"id\":$n,\"result\":{\"success\":true,\"output\":[$n,$$]}}"; done`
	stays, err := tool.Command{Run: []string{"sh", "-c", script}, Answer: "lines"}.Definition(tool.Spec{Name: "c", Description: "c"}, "")
	if err != nil {
		t.Fatal(err)
	}
	var tools tool.Registry
	if err := tools.Register(stays); err != nil {
		t.Fatal(err)
	}
	defer tools.Close()
	p := compileTests(t, map[string]string{"main.conc": `fn main() { for i in 0..2 { emit("n", dispatch_tool("c", { "i": i })); } }`, "Concerto.toml": ""})
	seen, pid := []int{}, 0
	for range 2 {
		o := engine.Options{Tools: &tools, Environ: os.Environ(), OnEmit: func(_ string, payload json.RawMessage) {
			var n [2]int
			if err := json.Unmarshal(payload, &n); err != nil {
				t.Error(err)
			}
			if seen = append(seen, n[0]); pid != 0 && pid != n[1] {
				t.Error("the process id of the tool changed")
			}
			pid = n[1]
		}}
		if err := p.Run(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	if fmt.Sprint(seen) != "[1 2 3 4]" {
		t.Errorf("counters = %v, want [1 2 3 4]", seen)
	}
}

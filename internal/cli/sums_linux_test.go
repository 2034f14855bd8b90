package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/concerto-lang/concerto/internal/term/progress"
	"github.com/concerto-lang/concerto/runtime/budget"
)

// sum contains figures of a run by their names in sumNames, as exact decimal numbers. A figure that
// a surface does not show is missing.
type sum map[string]string

// sumNames are the figures of a run: attempts at models, exchanges that have begun, those of both
// that have failed, tokens, and the cost in US dollars.
var sumNames = []string{"calls", "failed calls", "exchanges", "failed exchanges", "tokens in", "tokens out", "cost"}

// surfaces are all that show figures of a run, with the reason why each lacks some of sumNames.
var surfaces = []struct {
	name  string
	shows []string
	lacks string
	read  func(*measured) (sum, error)
}{
	{"run --progress", []string{"exchanges", "failed exchanges", "tokens", "cost"}, "the line is short: it has one figure of tokens, and rounds", readLastLine},
	{"run --stats", sumNames, "", func(m *measured) (sum, error) { return readStats(m.stderr) }},
	{"run --report", sumNames, "", func(m *measured) (sum, error) { return readReport(m.ts.ReadFile("live.json")) }},
	{"report", sumNames, "", func(m *measured) (sum, error) { return readReport(m.command("report", "job", "--format", "json")) }},
	{"runs show", sumNames, "", func(m *measured) (sum, error) {
		return readShown([]byte(m.command("runs", "show", "job", "--format", "json")))
	}},
	{"runs list", sumNames, "", readList},
	{"budget", []string{"tokens", "cost"}, "the file of a day has the amounts that limits compare", readBudget},
	{"top", []string{"calls", "exchanges", "tokens in", "tokens out", "cost"}, "a table of what runs are doing, not of what failed", readTop},
	{"relay", []string{"tokens in", "tokens out", "cost"}, "the protocol's usage has these figures", readRelay},
	{"run::usage", []string{"tokens in", "tokens out", "cost"}, "std::run declares these figures", readUsage},
	{"telemetry", sumNames, "", readTelemetry},
}

// measured is a command that was measured.
type measured struct {
	ts             *testscript.TestScript
	stdout, stderr string
	spans          *spanServer
}

// command returns the output of another command.
func (m *measured) command(args ...string) string {
	m.ts.Check(m.ts.Exec("concerto", args...))
	return m.ts.ReadFile("stdout")
}

// TestOneSum runs programs and compares the figures of all surfaces, and these with those that the
// script states. Each archive in testdata/sums is a program with a script that uses the commands of
// TestScripts, and:
//
//	measure CODE ARGS…   run the command with all recordings, and require the exit code
//	sums                 compare the figures of that run with the file want
//
// The file want has a line `NAME VALUE` for each of sumNames, and the file lacks a line
// `SURFACE: REASON` for each surface that has no figures of the program. The program runs top.sh at
// its end, which writes the output of `concerto top` to a file.
func TestOneSum(t *testing.T) {
	var all sync.Map // *measured by *testscript.TestScript
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/sums",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			top := "until concerto top --format json > top.json && grep -q '\"run\"' top.json; do sleep 0.05; done\n"
			if err := os.WriteFile(env.WorkDir+"/top.sh", []byte(top), 0o666); err != nil {
				return err
			}
			env.Setenv("CONCERTO_RUNTIME_DIR", env.WorkDir+"/rt")
			return setup(env)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"llm":   startLLM,
			"subst": subst,
			"hostd": hostdCmd,
			"measure": func(ts *testscript.TestScript, _ bool, args []string) {
				m := &measured{ts: ts}
				m.run(args)
				all.Store(ts, m)
			},
			"sums": func(ts *testscript.TestScript, _ bool, _ []string) {
				m, _ := all.Load(ts)
				m.(*measured).compare()
			},
		},
	})
}

// run runs a command of runs with all recordings.
func (m *measured) run(args []string) {
	m.spans = startSpans()
	m.ts.Defer(m.spans.Close)
	m.ts.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", m.spans.URL)
	m.ts.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json")
	shared := []string{"--stats", "--format", "json", "--progress", "plain"}
	if !slices.Contains(args, "--park") { // a run does not park while the relay may answer
		hostdCmd(m.ts, false, []string{"start", "sock"})
		shared = append(shared, "--share="+m.ts.Getenv("SOCK"))
	}
	command := []string{"concerto", "run"}
	if args[1] == "run" {
		shared = append(shared, "--journal", "job", "--report", "live.json")
	} else {
		command = []string{"concerto", "runs", "resume"}
	}
	m.ts.Check(m.ts.Exec("exits", slices.Concat(strings.Fields(args[0]), command, shared, args[2:])...))
	m.stdout, m.stderr = m.ts.ReadFile("stdout"), m.ts.ReadFile("stderr")
	m.ts.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "")
}

// compare compares the figures of the surfaces with the file want.
func (m *measured) compare() {
	want := sum{}
	for line := range strings.Lines(m.ts.ReadFile("want")) {
		at := strings.LastIndexByte(line, ' ')
		want[line[:at]] = normal(strings.TrimSpace(line[at+1:]))
	}
	in, _ := strconv.ParseInt(want["tokens in"], 10, 64)
	out, _ := strconv.ParseInt(want["tokens out"], 10, 64)
	want["tokens"] = strconv.FormatInt(in+out, 10)
	lacks := map[string]bool{}
	if _, err := os.Stat(m.ts.MkAbs("lacks")); err == nil {
		for line := range strings.Lines(m.ts.ReadFile("lacks")) {
			name, reason, _ := strings.Cut(line, ": ")
			if lacks[name] = true; strings.TrimSpace(reason) == "" {
				m.ts.Fatalf("lacks: no reason for %s", name)
			}
		}
	}
	wrong := ""
	for _, s := range surfaces {
		if lacks[s.name] {
			delete(lacks, s.name)
			continue
		}
		got, err := s.read(m)
		if err != nil {
			wrong += fmt.Sprintf("  %-15s %v\n", s.name, err)
			continue
		}
		for _, name := range s.shows {
			g, w := normal(got[name]), want[name]
			if s.name == "run --progress" {
				g, w = got[name], shortForm(name, w)
			}
			if g != w {
				wrong += fmt.Sprintf("  %-15s %-16s %q, want %q\n", s.name, name, g, w)
			}
		}
	}
	for name := range maps.Keys(lacks) {
		wrong += "  lacks names no surface: " + name + "\n"
	}
	if wrong != "" {
		m.ts.Fatalf("figures differ:\n%s", wrong)
	}
}

// shortForm returns a figure as the last line of a run shows it; "" if it does not show it.
func shortForm(name, v string) string {
	usd, _ := strconv.ParseFloat(v, 64)
	switch {
	case usd == 0:
		return ""
	case name == "tokens":
		return progress.Tokens(int64(usd))
	case name == "cost":
		return progress.Cost(usd)
	}
	return v
}

// normal returns a number without zeros at its end.
func normal(v string) string {
	if strings.ContainsAny(v, "eE") {
		if usd, err := strconv.ParseFloat(v, 64); err == nil {
			v = budget.Dollars(usd).String()
		}
	}
	if strings.Contains(v, ".") {
		v = strings.TrimRight(strings.TrimRight(v, "0"), ".")
	}
	return v
}

func readLastLine(m *measured) (sum, error) {
	lines := regexp.MustCompile(`(?m)^(done in|failed after|suspended after|interrupted after) .*$`).FindAllString(m.stderr, -1)
	if len(lines) != 1 {
		return nil, fmt.Errorf("%d last lines", len(lines))
	}
	got := sum{}
	for i, part := range strings.Split(lines[0], " · ") {
		f := strings.Fields(part)
		switch {
		case i == 1:
			got["exchanges"] = f[0]
			if len(f) > 2 {
				got["failed exchanges"] = strings.TrimLeft(f[2], "(")
			}
		case strings.HasSuffix(part, " tokens"):
			got["tokens"] = f[0]
		case strings.HasPrefix(part, "$"):
			got["cost"] = part
		}
	}
	return got, nil
}

// adding adds numbers to a figure.
func (s sum) adding(name string, all ...json.Number) {
	for _, n := range all {
		if n == "" {
			continue
		}
		was, _ := budget.ParseDollars(s[name])
		more, _ := budget.ParseDollars(string(n))
		s[name] = normal((was + more).String())
	}
}

// figures are the members of figures in all forms.
type figures struct {
	Calls     json.Number `json:"calls"`
	Failed    json.Number `json:"failed"`
	Exchanges json.Number `json:"exchanges"`
	In        json.Number `json:"tokens_in"`
	Out       json.Number `json:"tokens_out"`
	Cost      json.Number `json:"cost_usd"`
}

func (s sum) addUsed(f *figures) {
	s.adding("tokens in", f.In)
	s.adding("tokens out", f.Out)
	s.adding("cost", f.Cost)
}

// zero returns a sum of nothing.
func zero() sum {
	s := sum{}
	for _, name := range sumNames {
		s[name] = "0"
	}
	return s
}

func readStats(text string) (sum, error) {
	var stats struct {
		Stats struct {
			All   figures   `json:"all"`
			Hosts []figures `json:"hosts"`
		} `json:"stats"`
	}
	at := strings.Index(text, `{"stats":`)
	if at < 0 {
		return nil, fmt.Errorf("no stats")
	}
	if err := json.NewDecoder(strings.NewReader(text[at:])).Decode(&stats); err != nil {
		return nil, err
	}
	s := zero()
	s.adding("calls", stats.Stats.All.Calls)
	s.adding("failed calls", stats.Stats.All.Failed)
	s.addUsed(&stats.Stats.All)
	for _, h := range stats.Stats.Hosts {
		s.adding("exchanges", h.Exchanges)
		s.adding("failed exchanges", h.Failed)
		s.addUsed(&h)
	}
	return s, nil
}

func readReport(text string) (sum, error) {
	var r struct {
		Totals struct {
			All   figures   `json:"all"`
			Hosts []figures `json:"hosts"`
		} `json:"totals"`
	}
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return nil, err
	}
	s := zero()
	s.adding("calls", r.Totals.All.Calls)
	s.adding("failed calls", r.Totals.All.Failed)
	s.addUsed(&r.Totals.All)
	for _, h := range r.Totals.Hosts {
		s.adding("exchanges", h.Calls)
		s.adding("failed exchanges", h.Failed)
		s.addUsed(&h)
	}
	return s, nil
}

func readShown(text []byte) (sum, error) {
	var shown struct {
		Usage struct {
			figures
			FailedCalls     json.Number `json:"failed_calls"`
			FailedExchanges json.Number `json:"failed_exchanges"`
		} `json:"usage"`
	}
	if err := json.Unmarshal(text, &shown); err != nil {
		return nil, err
	}
	u := &shown.Usage
	s := zero()
	s.adding("calls", u.Calls)
	s.adding("failed calls", u.FailedCalls)
	s.adding("exchanges", u.Exchanges)
	s.adding("failed exchanges", u.FailedExchanges)
	s.addUsed(&u.figures)
	return s, nil
}

func readList(m *measured) (sum, error) {
	var all []json.RawMessage
	err := json.Unmarshal([]byte(m.command("runs", "list", ".", "--format", "json")), &all)
	if err != nil || len(all) != 1 {
		return nil, fmt.Errorf("%d runs: %v", len(all), err)
	}
	return readShown(all[0])
}

func readBudget(m *measured) (sum, error) {
	var day struct {
		Cost   json.Number `json:"cost_usd"`
		Tokens json.Number `json:"tokens"`
	}
	err := json.Unmarshal([]byte(m.command("budget", "--format", "json")), &day)
	return sum{"tokens": string(day.Tokens), "cost": string(day.Cost)}, err
}

func readTop(m *measured) (sum, error) {
	var all []json.RawMessage
	if err := json.Unmarshal([]byte(m.ts.ReadFile("top.json")), &all); err != nil || len(all) != 1 {
		return nil, fmt.Errorf("%d runs: %v", len(all), err)
	}
	return readShown(all[0])
}

func readRelay(m *measured) (sum, error) {
	hostdCmd(m.ts, false, []string{"events", "events"})
	s := zero() // a run that has used nothing sends nothing
	for line := range strings.Lines(m.ts.ReadFile("events")) {
		var e struct {
			Data struct {
				Usage *figures `json:"usage"`
			} `json:"data"`
		}
		if json.Unmarshal([]byte(line), &e) == nil && e.Data.Usage != nil {
			s = zero()
			s.addUsed(e.Data.Usage)
		}
	}
	return s, nil
}

func readUsage(m *measured) (sum, error) {
	found := regexp.MustCompile(`(?m)^\[used\] (.*)$`).FindStringSubmatch(m.stdout)
	if found == nil {
		return nil, fmt.Errorf("no [used] in %s", m.stdout)
	}
	var f figures
	err := json.Unmarshal([]byte(found[1]), &f)
	s := zero()
	s.addUsed(&f)
	return s, err
}

// spanServer is a collector of OpenTelemetry.
type spanServer struct {
	*httptest.Server
	mu  sync.Mutex
	all []json.RawMessage // the bodies of exports of spans
}

func startSpans() *spanServer {
	s := &spanServer{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if strings.HasSuffix(r.URL.Path, "/traces") {
			s.mu.Lock()
			s.all = append(s.all, body)
			s.mu.Unlock()
		}
		fmt.Fprint(w, "{}")
	}))
	return s
}

func readTelemetry(m *measured) (sum, error) {
	m.spans.mu.Lock()
	defer m.spans.mu.Unlock()
	s := zero()
	for _, body := range m.spans.all {
		var x struct {
			ResourceSpans []struct {
				ScopeSpans []struct {
					Spans []struct {
						Name       string `json:"name"`
						Attributes []struct {
							Key   string                     `json:"key"`
							Value map[string]json.RawMessage `json:"value"`
						} `json:"attributes"`
						Status struct {
							Code json.RawMessage `json:"code"`
						} `json:"status"`
					} `json:"spans"`
				} `json:"scopeSpans"`
			} `json:"resourceSpans"`
		}
		if err := json.Unmarshal(body, &x); err != nil {
			return nil, err
		}
		for _, r := range x.ResourceSpans {
			for _, scope := range r.ScopeSpans {
				for _, span := range scope.Spans {
					attributes := map[string]string{}
					for _, a := range span.Attributes {
						for v := range maps.Values(a.Value) {
							attributes[a.Key] = string(bytes.Trim(v, `"`))
						}
					}
					kind := "calls"
					failed := string(span.Status.Code) == "2"
					if attributes["concerto.host.transport"] != "" {
						if failed && attributes["concerto.host.process"] == "" {
							continue // the host has not started
						}
						kind = "exchanges"
					} else if !strings.HasPrefix(span.Name, "chat ") {
						continue
					}
					s.adding(kind, "1")
					if failed {
						s.adding("failed "+kind, "1")
					}
					s.addUsed(&figures{In: json.Number(attributes["gen_ai.usage.input_tokens"]), Out: json.Number(attributes["gen_ai.usage.output_tokens"]), Cost: json.Number(attributes["concerto.cost_usd"])})
				}
			}
		}
	}
	return s, nil
}

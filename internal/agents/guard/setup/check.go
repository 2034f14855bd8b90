package setup

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/concerto-lang/concerto/internal/agents/guard"
	"github.com/concerto-lang/concerto/internal/agents/modelserver"
	"github.com/concerto-lang/concerto/internal/process/procgroup"
)

// probing describes how an agent is started for one prompt, and how its model makes calls.
type probing struct {
	// env returns the variables that select the model. environ are those of guard run.
	env  func(t *trial, p *Place, environ []string) ([]string, error)
	args func(url string) []string
	// settings are variables that the agent also receives as settings, because those of a user may
	// set them; nil for none.
	settings func(url string) map[string]string
	main     string // text that only requests of the main conversation contain
	command  func(command string) modelserver.Call
	write    func(path string) modelserver.Call
}

// checkTimeout limits a check of one agent. OpenCode waits more than a minute for its plugin's
// package if that is not installed yet and there is no network.
const checkTimeout = 5 * time.Minute

func claudeProbe() probing {
	return probing{
		env: func(t *trial, _ *Place, _ []string) ([]string, error) {
			return []string{"ANTHROPIC_BASE_URL=" + t.model.URL, "ANTHROPIC_API_KEY=k", "ANTHROPIC_AUTH_TOKEN=", "CLAUDE_CODE_USE_BEDROCK=", "CLAUDE_CODE_USE_VERTEX=", "DISABLE_AUTOUPDATER=1", "DISABLE_TELEMETRY=1"}, nil
		},
		args: func(string) []string { return []string{"-p", "check the guard"} },
		settings: func(url string) map[string]string {
			return map[string]string{"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "k"}
		},
		main: `"name":"Bash"`,
		command: func(command string) modelserver.Call {
			return call("Bash", map[string]string{"command": command, "description": "check the guard"})
		},
		write: func(path string) modelserver.Call {
			return call("Write", map[string]string{"file_path": path, "content": "written\n"})
		},
	}
}

func codexProbe() probing {
	return probing{
		env: func(*trial, *Place, []string) ([]string, error) { return []string{"CONCERTO_GUARD_KEY=k"}, nil },
		args: func(url string) []string {
			return []string{"exec", "--skip-git-repo-check", "-c", `model="gpt-5.2"`, "-c", `model_provider="concerto-guard"`,
				"-c", `model_providers.concerto-guard={name="guard check",base_url="` + url + `/v1",wire_api="responses",env_key="CONCERTO_GUARD_KEY"}`, "check the guard"}
		},
		main: `"exec_command"`,
		command: func(command string) modelserver.Call {
			return call("exec_command", map[string]string{"cmd": command})
		},
		write: func(path string) modelserver.Call {
			return call("exec_command", map[string]string{"cmd": "mkdir -p " + quote(filepath.Dir(path)) + " && touch " + quote(path)})
		},
	}
}

func call(name string, args map[string]string) modelserver.Call {
	text, _ := json.Marshal(args) // texts have a JSON form
	return modelserver.Call{Name: name, Args: text}
}

// Row is the result of one probe.
type Row struct {
	Probe guard.Probe `json:"probe"`
	Text  string      `json:"text"` // what must happen
	OK    bool        `json:"ok"`
	Got   string      `json:"got,omitempty"` // what has happened instead
}

// Check is the result of a check.
type Check struct {
	Agent    string    `json:"agent"`
	Version  string    `json:"version"`
	Path     string    `json:"path"`
	Program  string    `json:"program"` // see guard.AgentProgram
	Dir      string    `json:"dir"`
	Run      bool      `json:"run"` // started as by guard run
	Time     time.Time `json:"time"`
	Enforced bool      `json:"enforced"`
	Rows     []Row     `json:"rows"`
	Open     []string  `json:"open"` // calls that are not judged, and what removes the hooks
}

// probes are the probes of a check, in their order.
var probes = []struct {
	probe guard.Probe
	text  string
}{
	{guard.ProbeDeny, "a command that must be refused is refused"},
	{guard.ProbeAllow, "a command that is allowed runs"},
	{guard.ProbeFile, "a file that must not be written is not written"},
	{guard.ProbeCrash, "if the hook crashes, the call is refused"},
	{guard.ProbeHang, "if the hook does not decide, the call is refused"},
	{guard.ProbeCut, "if the answer is cut off, the call is refused"},
}

// NotFoundError means that an agent is not installed.
type NotFoundError struct{ Agent *Agent }

func (e *NotFoundError) Error() string {
	return fmt.Sprintf("%s is not installed: PATH contains no %s", e.Agent.Title, e.Agent.Program)
}

// UncheckedError means that an agent cannot be checked, because its model cannot be replaced.
type UncheckedError struct{ Agent *Agent }

func (e *UncheckedError) Error() string {
	return fmt.Sprintf("%s cannot be checked, because its model cannot be replaced: let it run this command, which must be refused: %s", e.Agent.Title, guard.ProbeDeny.Command(strings.Repeat("0", 32)))
}

// CanCheck reports whether the agent can be checked.
func (a *Agent) CanCheck() bool { return a.probe != nil }

// Locate returns the agent's program and its version.
func (a *Agent) Locate(ctx context.Context, p *Place) (path, version string, err error) {
	if path, err = a.locate(p); err != nil {
		return "", "", err
	}
	out, err := output(ctx, procgroup.Command{Path: path, Args: []string{"--version"}, Dir: p.Dir, Env: p.Environ})
	if err != nil {
		return path, "", fmt.Errorf("%s --version: %w: %s", path, err, lastLine(out))
	}
	// Programs may print warnings, too.
	for word := range strings.FieldsSeq(out) {
		word = strings.TrimRight(word, ".,)")
		if parts := strings.Split(strings.TrimPrefix(word, "v"), "."); len(parts) > 2 && strings.Trim(parts[0]+parts[1], "0123456789") == "" {
			version = strings.TrimPrefix(word, "v")
		}
	}
	if version == "" {
		return path, "", fmt.Errorf("%s --version has printed no version: %s", path, lastLine(out))
	}
	return path, version, nil
}

// Check starts the agent in the directory with its settings, or as `guard run` does, and with a
// scripted model whose calls are probes. report, if not nil, receives each result.
func (a *Agent) Check(ctx context.Context, p *Place, run bool, report func(Row)) (*Check, error) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	if a.probe == nil {
		return nil, &UncheckedError{a}
	}
	c := &Check{Agent: a.Name, Dir: p.Dir, Run: run, Time: time.Now().UTC().Truncate(time.Second)}
	var err error
	if c.Path, c.Version, err = a.Locate(ctx, p); err != nil {
		return nil, err
	}
	if c.Open, err = a.escapes(p, run); err != nil {
		return nil, err
	}
	t, err := newTrial(a)
	if err != nil {
		return nil, err
	}
	defer t.close()
	var extra, environ []string
	switch env := t.variables(); {
	case run && a.launch == nil:
		_, _, err = a.Launch(p, nil)
	case run:
		extra, environ, err = a.launch(a, p, env)
	case env != nil:
		var settings []byte
		settings, err = json.Marshal(map[string]any{"env": env})
		extra = []string{"--settings", string(settings)}
	}
	if err != nil {
		return nil, err
	}
	printed, err := t.run(ctx, p, c.Path, extra, environ)
	if len(t.model.Requests()) == 0 {
		return nil, fmt.Errorf("%s %s has not called the scripted model: %w: %s", a.Title, c.Version, cmp.Or(err, errors.New("it has ended")), lastLine(printed))
	}
	decisions, err := t.decisions(p)
	if err != nil {
		return nil, err
	}
	if _, rest, ok := strings.Cut(decisions, `"program":`); ok {
		_ = json.NewDecoder(strings.NewReader(rest)).Decode(&c.Program) // without it, the program counts as unchecked
	}
	c.Enforced = true
	for i, x := range probes {
		row := Row{Probe: x.probe, Text: x.text}
		row.OK, row.Got = t.judge(x.probe, t.result(i), decisions)
		c.Enforced = c.Enforced && row.OK
		c.Rows = append(c.Rows, row)
		if report != nil {
			report(row)
		}
	}
	return c, p.saveCheck(c)
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

// trial is one run of an agent with probes.
type trial struct {
	probing
	nonce string
	tmp   string
	model *modelserver.Server
}

func newTrial(a *Agent) (*trial, error) {
	nonce := make([]byte, 16)
	_, _ = rand.Read(nonce) // it never fails
	t := &trial{probing: a.probe(), nonce: hex.EncodeToString(nonce)}
	var err error
	if t.tmp, err = os.MkdirTemp("", "concerto-guard-"); err != nil {
		return nil, err
	}
	var replies []modelserver.Reply
	for i, x := range probes {
		next := t.command(x.probe.Command(t.nonce))
		if x.probe == guard.ProbeFile {
			next = t.write(guard.ProbedFile(t.tmp, t.nonce))
		}
		next.ID = t.id(i)
		replies = append(replies, modelserver.Reply{When: t.main, ToolCalls: []modelserver.Call{next}})
	}
	replies = append(replies, modelserver.Reply{Text: "done", Repeat: true})
	if t.model, err = modelserver.Start(nil, replies...); err != nil {
		return nil, errors.Join(err, os.RemoveAll(t.tmp))
	}
	return t, nil
}

func (t *trial) close() {
	t.model.Close()
	_ = os.RemoveAll(t.tmp) // a directory of temporary files
}

// variables returns what the agent receives as settings, or nil.
func (t *trial) variables() map[string]string {
	if t.settings == nil {
		return nil
	}
	return t.settings(t.model.URL)
}

func (t *trial) id(i int) string { return fmt.Sprintf("probe_%s_%d", t.nonce[:8], i) }

// run runs the agent to its end. Requests to other machines fail, because the proxy does not exist.
func (t *trial) run(ctx context.Context, p *Place, path string, extra, environ []string) (string, error) {
	own, err := t.env(t, p, environ)
	if err != nil {
		return "", err
	}
	env := slices.Concat(p.Environ, []string{"HTTPS_PROXY=http://127.0.0.1:9", "https_proxy=http://127.0.0.1:9", "NO_PROXY=127.0.0.1,localhost", "no_proxy=127.0.0.1,localhost"}, environ, own)
	return output(ctx, procgroup.Command{Path: path, Args: slices.Concat(extra, t.args(t.model.URL)), Dir: p.Dir, Env: env})
}

// result returns the result of a call that the model has received, or "".
func (t *trial) result(i int) string {
	for _, r := range t.model.Requests() {
		if text := resultIn(r.Body, t.id(i)); text != "" {
			return text
		}
		if all := responsesIn(r.Body); len(all) > i {
			return all[i]
		}
	}
	return ""
}

// responsesIn returns the texts of the results in a request in Gemini's form, which has no ids.
func responsesIn(v any) (all []string) {
	switch v := v.(type) {
	case map[string]any:
		if answer, ok := v["functionResponse"].(map[string]any); ok {
			var texts []string
			collect(answer["response"], &texts)
			return []string{strings.Join(texts, "\n")}
		}
		return responsesIn(v["contents"])
	case []any:
		for _, inner := range v {
			if m, ok := inner.(map[string]any); ok && m["parts"] != nil {
				inner = m["parts"]
			}
			all = append(all, responsesIn(inner)...)
		}
	}
	return all
}

// resultIn returns the text of the result of a call in a request to a model, or "".
func resultIn(v any, id string) string {
	switch v := v.(type) {
	case map[string]any:
		kind, _ := v["type"].(string)
		if (v["tool_use_id"] == id || v["call_id"] == id || v["tool_call_id"] == id) && kind != "tool_use" && kind != "function_call" {
			var texts []string
			collect(v["content"], &texts)
			collect(v["output"], &texts)
			return strings.Join(texts, "\n")
		}
		for _, inner := range v {
			if text := resultIn(inner, id); text != "" {
				return text
			}
		}
	case []any:
		for _, inner := range v {
			if text := resultIn(inner, id); text != "" {
				return text
			}
		}
	}
	return ""
}

// collect appends the texts of a JSON value.
func collect(v any, to *[]string) {
	switch v := v.(type) {
	case string:
		*to = append(*to, v)
	case []any:
		for _, inner := range v {
			collect(inner, to)
		}
	case map[string]any:
		for _, inner := range v {
			collect(inner, to)
		}
	}
}

// decisions returns the recorded decisions about the probes, by the text that names the probe.
func (t *trial) decisions(p *Place) (string, error) {
	files, err := filepath.Glob(filepath.Join(p.State, "guard", "*.ndjson"))
	if err != nil {
		return "", err
	}
	var found strings.Builder
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			return "", err
		}
		for line := range bytes.Lines(text) {
			if bytes.Contains(line, []byte(t.nonce)) {
				found.Write(line)
			}
		}
	}
	return found.String(), nil
}

// judge returns whether a probe ended as it must, and otherwise what has happened.
func (t *trial) judge(probe guard.Probe, result, decisions string) (bool, string) {
	ran := strings.Contains(result, probe.Output(t.nonce))
	if probe == guard.ProbeFile {
		_, err := os.Lstat(guard.ProbedFile(t.tmp, t.nonce))
		ran = !errors.Is(err, fs.ErrNotExist)
	}
	recorded := strings.Contains(decisions, "concerto-guard-probe-"+t.nonce+"-"+string(probe)) || probe == guard.ProbeFile && strings.Contains(decisions, "concerto-guard-probe-"+t.nonce+"/")
	switch {
	case result == "":
		return false, "the agent has not made the call"
	case probe == guard.ProbeAllow && !ran:
		return false, "it did not run: " + strings.TrimSpace(lastLine(result))
	case probe == guard.ProbeAllow && !recorded:
		return false, "it ran without a decision"
	case probe == guard.ProbeAllow:
		return true, ""
	case ran && !recorded:
		return false, "it ran without a decision"
	case ran:
		return false, "it ran although it was denied"
	case !recorded:
		return false, "the guard has no record: something else has refused it: " + strings.TrimSpace(lastLine(result))
	}
	return true, ""
}

package agents

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/concerto-lang/concerto/internal/agents/modelserver"
	"github.com/concerto-lang/concerto/internal/process/git"
	"github.com/concerto-lang/concerto/internal/process/procgroup"
)

// Options select an agent.
type Options struct {
	Agent    Agent
	Path     string            // of the agent's program
	Args     []string          // of an agent that the table does not contain
	Timeouts string            // keys of the manifest; "" for the default
	Concerto string            // path of the command concerto
	Environ  []string          // only the search path is used
	Recorded func(r Recording) // receives the recording of each scenario; may be nil
	Verbose  func(line string) // receives what programs print; may be nil

	Version  string    // that the agent reported; set by the scenario start
	coverage *Coverage // set by the scenario coverage
}

// Recording is the messages of a scenario's last run, as `run --wire` writes them, and the names of
// this machine that they contain.
type Recording struct{ Scenario, Wire, Temp, Home, Dir, URL string }

// The results of scenarios.
const (
	Yes        = "yes"
	No         = "no"
	NotOffered = "not offered"
	Fail       = "FAIL"
)

// Result is the result of a scenario. Expected and Got are those of a failed scenario; Got is also
// a detail of another result.
type Result struct {
	Name     string `json:"name"`
	Result   string `json:"result"`
	Expected string `json:"expected,omitempty"`
	Got      string `json:"got,omitempty"`
	MS       int64  `json:"ms"`
}

// Text returns the result as a line.
func (r *Result) Text() string {
	switch {
	case r.Result == Fail:
		return fmt.Sprintf("%s FAIL expected %s, got %s", r.Name, r.Expected, r.Got)
	case r.Got != "":
		return fmt.Sprintf("%s %s (%s)", r.Name, r.Result, r.Got)
	}
	return r.Name + " " + r.Result
}

// Try plays a scenario and compares its result with what is known of the agent. The error is that
// of this machine, or the cause of a cancelled ctx.
func (o *Options) Try(ctx context.Context, s *Scenario) (Result, error) {
	begun := time.Now()
	got, err := o.play(ctx, s)
	r := Result{Name: s.Name, MS: time.Since(begun).Milliseconds()}
	r.Result, r.Got, _ = strings.Cut(got, ": ")
	if want := o.expects(s); want != "" && got != want {
		r.Result, r.Expected, r.Got = Fail, want, got
	}
	return r, err
}

// expects returns the result that is known of the agent, or "".
func (o *Options) expects(s *Scenario) string {
	if o.Agent.unknown {
		return ""
	}
	return cmp.Or(o.Agent.expect[s.Name], Yes)
}

// play is a running scenario: a home, a repository, a model, and what was observed.
type play struct {
	agent     Agent
	options   *Options
	dir       string // the repository
	at        place
	model     *modelserver.Server
	pages     atomic.Int64 // how often the page was read
	elicited  atomic.Value // the answer that the MCP server received, as a string
	out, wire string       // of the last run
	stderr    string       // last line of the agent in that run
}

// play returns the result of a scenario, with its detail after a colon.
func (o *Options) play(ctx context.Context, s *Scenario) (string, error) {
	p := &play{agent: o.Agent, options: o}
	var replies []modelserver.Reply
	if s.Replies != nil {
		if replies = s.Replies(&p.agent); replies == nil {
			return notTried, nil
		}
	}
	tmp, err := os.MkdirTemp("", "concerto-conform-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(tmp)
	if tmp, err = filepath.EvalSymlinks(tmp); err != nil {
		return "", err
	}
	if err := p.prepare(ctx, tmp, s, replies); err != nil {
		return "", err
	}
	defer p.model.Close()
	if s.Measure != nil {
		return s.Measure(ctx, p)
	}
	more := ""
	if s.Config != nil {
		more = s.Config(p)
	}
	if o.Recorded != nil { // also a run that fails
		defer func() {
			o.Recorded(Recording{Scenario: s.Name, Wire: p.wire, Temp: tmp, Home: p.at.home, Dir: p.dir, URL: p.at.url})
		}()
	}
	wire := filepath.Join(tmp, "talk.wire")
	for _, program := range s.Programs {
		text := program(p)
		if text == "" {
			break
		}
		if err := p.write(text, more); err != nil {
			return "", err
		}
		p.model.Restart(replies...)
		failed := p.run(ctx, "run", "--progress", "none", "--wire", wire, "--ledger", filepath.Join(tmp, "ledger"))
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		if text, err := os.ReadFile(wire); err == nil { // a run that cannot start has none
			p.wire = string(text)
		}
		if failed != nil {
			return "no: " + failed.Error(), nil
		}
		if left := p.processes(); left != "" {
			return "no: the run left a process: " + left, nil
		}
	}
	return s.judge(p), nil
}

// judge returns the first verdict whose checks hold, or what differs from the first one.
func (s *Scenario) judge(p *play) string {
	first := ""
	for i, v := range s.Verdicts {
		problem := ""
		for _, c := range v.checks {
			if problem = c(p); problem != "" {
				break
			}
		}
		if problem == "" {
			return v.result
		}
		if i == 0 {
			first = "no: " + problem
		}
	}
	if reason := p.valueOf("failed "); reason != "" {
		return "no: " + reason
	}
	return first
}

// prepare creates the agent's home, the repository and the model server.
func (p *play) prepare(ctx context.Context, tmp string, s *Scenario, replies []modelserver.Reply) error {
	p.dir, p.at.home = filepath.Join(tmp, "work"), filepath.Join(tmp, "home")
	for _, d := range []string{p.dir, p.at.home} {
		if err := os.Mkdir(d, 0o755); err != nil {
			return err
		}
	}
	repository, err := git.New(ctx, p.environ(), p.dir)
	if err == nil {
		_, err = repository.Run(ctx, git.Place{Dir: p.dir}, "init", "-q")
	}
	if err != nil {
		return err
	}
	if p.model, err = modelserver.Start(nil); err != nil {
		return err
	}
	p.at.url = p.model.URL
	for i := range replies {
		for j := range replies[i].ToolCalls {
			c := &replies[i].ToolCalls[j]
			c.Args = bytes.ReplaceAll(bytes.ReplaceAll(c.Args, []byte("DIR"), []byte(p.dir)), []byte("URL"), []byte(p.at.url+"/page"))
		}
	}
	p.model.Handle("/page", http.HandlerFunc(func(http.ResponseWriter, *http.Request) { p.pages.Add(1) }))
	p.model.Handle("/arrived", http.HandlerFunc(p.awaitRequest))
	if s.Asks {
		p.at.asks = p.at.url + "/mcp"
		p.model.Handle("/mcp", p.askingServer())
	}
	if p.agent.files == nil {
		return nil
	}
	for name, text := range p.agent.files(p.at) {
		path := filepath.Join(p.at.home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// awaitRequest responds when the model has received a request of the main conversation.
func (p *play) awaitRequest(_ http.ResponseWriter, r *http.Request) {
	for p.lastRequest() == "" {
		select {
		case <-p.model.Arrived:
		case <-r.Context().Done():
			return
		}
	}
}

// write writes the program and its manifest.
func (p *play) write(program, more string) error {
	var b strings.Builder
	line := func(key string, v any) { fmt.Fprintf(&b, "%s = %s\n", key, encode(v)) }
	b.WriteString("[hosts.coder]\n")
	line("transport", p.agent.Transport)
	line("command", p.options.Path)
	if args := append(p.arguments(), p.options.Args...); len(args) > 0 {
		line("args", args)
	}
	if p.agent.model != "" {
		line("model", p.agent.model)
	}
	if p.options.Timeouts == "" {
		line("timeout", 120)
	}
	b.WriteString(p.options.Timeouts + more)
	if p.agent.env != nil {
		b.WriteString("[hosts.coder.env]\n")
		for name, value := range p.agent.env(p.at) {
			line(name, value)
		}
	}
	err := os.WriteFile(filepath.Join(p.dir, "main.conc"), []byte(program), 0o644)
	return errors.Join(err, os.WriteFile(filepath.Join(p.dir, "Concerto.toml"), []byte(b.String()), 0o644))
}

func (p *play) arguments() []string {
	if p.agent.args == nil {
		return nil
	}
	return p.agent.args(p.at)
}

// environ returns the environment of the agent and of the command. The proxy does not exist, so
// that an agent that respects proxies reaches nothing but this machine.
func (p *play) environ() []string {
	env := []string{"PATH=" + filepath.Dir(p.options.Concerto) + string(os.PathListSeparator) + procgroup.Getenv(p.options.Environ, "PATH"), "HOME=" + p.at.home, "USERPROFILE=" + p.at.home,
		"TMPDIR=" + filepath.Dir(p.dir), "TEMP=" + filepath.Dir(p.dir), "LANG=C.UTF-8", "SHELL=/bin/sh", "TERM=dumb", "NO_COLOR=1", "HTTPS_PROXY=http://127.0.0.1:9", "NO_PROXY=127.0.0.1,localhost"}
	for _, name := range []string{"SystemRoot", "PATHEXT", "COMSPEC"} { // programs need them on Windows
		if value := procgroup.Getenv(p.options.Environ, name); value != "" {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// run runs the command in the repository and stores its output. The command ends the agent when it
// is interrupted.
func (p *play) run(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, p.options.Concerto, args...)
	cmd.Dir, cmd.Env = p.dir, p.environ()
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 20 * time.Second
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	p.out, p.stderr = stdout.String(), ""
	for line := range strings.Lines(stderr.String()) {
		if _, text, ok := strings.Cut(line, "Coder: "); ok {
			p.stderr = strings.TrimSpace(text)
		}
	}
	if p.options.Verbose != nil {
		for line := range strings.Lines(stdout.String() + stderr.String()) {
			p.options.Verbose(strings.TrimRight(line, "\n"))
		}
	}
	if err != nil {
		lines := strings.Split(strings.TrimSpace(stderr.String()), "\n")
		at := max(slices.IndexFunc(lines, func(l string) bool { return strings.Contains(l, "error") }), 0)
		return fmt.Errorf("concerto %s: %w: %s", args[0], err, lines[at])
	}
	return nil
}

// processes returns a process that the run has left, or "". Only Linux shows other processes'
// environments.
func (p *play) processes() string {
	if runtime.GOOS != "linux" {
		return ""
	}
	all, _ := filepath.Glob("/proc/[0-9]*/environ") // the pattern is valid
	for _, file := range all {
		if text, err := os.ReadFile(file); err == nil && strings.Contains(string(text), "HOME="+p.at.home+"\x00") {
			line, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "cmdline")) // the process may have exited
			return strings.TrimSpace(strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return ""
}

// lines returns the printed lines that begin with begin and contain held, without begin.
func (p *play) lines(begin, held string) (all []string) {
	for l := range strings.Lines(p.out) {
		if rest, ok := strings.CutPrefix(l, begin); ok && strings.Contains(rest, held) {
			all = append(all, strings.TrimSpace(rest))
		}
	}
	return all
}

// valueOf returns the rest of the first line that begins with begin, or "".
func (p *play) valueOf(begin string) string {
	if all := p.lines(begin, ""); len(all) > 0 {
		return all[0]
	}
	return ""
}

func (p *play) exists(name string) bool {
	_, err := os.Stat(filepath.Join(p.dir, name))
	return err == nil
}

// lastRequest returns the last request to the model in the main conversation, or "".
func (p *play) lastRequest() string {
	for _, q := range slices.Backward(p.model.Requests()) {
		if strings.Contains(q.Text, p.agent.main) {
			return q.Text
		}
	}
	return ""
}

func (p *play) answer() string {
	text, _ := p.elicited.Load().(string)
	return text
}

// measureStart starts and stops the agent, and stores its version.
func measureStart(ctx context.Context, p *play) (string, error) {
	if err := p.write("host Coder { connector: coder }\nfn main() {}\n", ""); err != nil {
		return "", err
	}
	failed := p.run(ctx, "--verbose", "host", "list", "--format", "json")
	var listed []struct{ Version, Error string }
	switch err := json.Unmarshal([]byte(p.out), &listed); {
	case failed != nil && (err != nil || len(listed) != 1):
		return "no: " + failed.Error(), nil
	case err != nil:
		return "", err
	case listed[0].Error != "":
		if p.stderr != "" {
			listed[0].Error += ", after " + strconv.Quote(p.stderr) + " on its standard error"
		}
		return "no: " + listed[0].Error, nil
	}
	if p.options.Version = listed[0].Version; p.options.Version == "" {
		return "yes: it reports no version", nil
	}
	return Yes, nil
}

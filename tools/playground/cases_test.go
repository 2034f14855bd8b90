package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/testkit/testproc"
	"github.com/concerto-lang/concerto/tools/playground/cases"
)

// outcome is the result of a case.
type outcome struct {
	Code    int             `json:"code"`
	Stdout  string          `json:"stdout"`
	Stderr  string          `json:"stderr"`
	Notices []string        `json:"notices"`
	Check   json.RawMessage `json:"check"`
	Died    string          `json:"died"`
}

// job is a case for node.mjs.
type job struct {
	Files   map[string]string `json:"files"`
	Request map[string]any    `json:"request"`
	Check   bool              `json:"check"`
}

// jobOf returns the job of a case.
func jobOf(c *cases.Case) job {
	env := map[string]string{}
	for _, v := range c.Env {
		name, value, _ := strings.Cut(v, "=")
		env[name] = value
	}
	answers := []map[string]string{}
	for _, a := range c.Answers {
		channel, value, _ := strings.Cut(a, "=")
		answers = append(answers, map[string]string{"channel": channel, "value": value})
	}
	agents := "provider"
	if c.Mock {
		agents = "mock"
	}
	return job{Files: c.Files, Check: true, Request: map[string]any{"path": c.Path, "args": c.Args, "environ": env, "agents": agents, "emit": c.Emit,
		"alone": true, "stdin": c.Stdin, "answers": answers}}
}

// node is a process of Node that plays cases.
type node struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// startNode starts Node with the playground in dir.
func startNode(dir string) (*node, error) {
	n := &node{cmd: exec.Command("node", "cases/node.mjs", dir)}
	n.cmd.Stderr = os.Stderr
	var err error
	if n.in, err = n.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := n.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	n.out = bufio.NewReader(out)
	return n, n.cmd.Start()
}

// end ends the process.
func (n *node) end() {
	_ = n.in.Close()
	_ = n.cmd.Process.Kill() // it may compute
	_ = n.cmd.Wait()         // the error is that it was killed
}

// patience is the maximum duration of a case.
const patience = 30 * time.Second

// play plays a case. It returns an error if the process has to be replaced.
func (n *node) play(c *cases.Case) (o outcome, err error) {
	text, err := json.Marshal(jobOf(c))
	if err != nil {
		return o, err
	}
	timer := time.AfterFunc(patience, func() { _ = n.cmd.Process.Kill() })
	defer timer.Stop()
	if _, err := n.in.Write(append(text, '\n')); err != nil {
		return o, err
	}
	line, err := n.out.ReadBytes('\n')
	if err != nil {
		return o, fmt.Errorf("no result within %v: %w", patience, err)
	}
	if err := json.Unmarshal(line, &o); err != nil {
		return o, err
	}
	if o.Died != "" {
		return o, fmt.Errorf("the worker ended: %s", o.Died)
	}
	return o, nil
}

// command runs a case with the command in an empty directory.
func command(t *testing.T, tool string, c *cases.Case) (o outcome) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range c.Files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	args := []string{"run"}
	if c.Emit != "" {
		args = append(args, "--emit", c.Emit)
	}
	if c.Mock {
		args = append(args, "--mock")
	}
	for _, a := range c.Answers {
		args = append(args, "--answer", a)
	}
	if c.Path != "" {
		args = append(args, c.Path)
	}
	if len(c.Args) > 0 {
		args = append(append(args, "--"), c.Args...)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	run := func(stdout, stderr *bytes.Buffer, args ...string) int {
		x := exec.CommandContext(ctx, tool, args...)
		x.Dir, x.Env = dir, append([]string{"HOME=" + dir, "PATH="}, c.Env...)
		x.Stdin, x.Stdout, x.Stderr = strings.NewReader(c.Stdin), stdout, stderr
		_ = x.Run() // the exit code shows the error
		return x.ProcessState.ExitCode()
	}
	var out, errs, check, ignored bytes.Buffer
	run(&check, &ignored, append([]string{"check", "--format", "json"}, pathOf(c)...)...)
	o.Code = run(&out, &errs, args...)
	o.Stdout, o.Stderr, o.Check = out.String(), errs.String(), check.Bytes()
	return o
}

func pathOf(c *cases.Case) []string {
	if c.Path == "" {
		return nil
	}
	return []string{c.Path}
}

// needsProcess reports whether a case needs what a page does not have: a process or the network.
func needsProcess(c *cases.Case, o *outcome) bool {
	if len(o.Notices) > 0 {
		return true
	}
	manifest := c.Files["Concerto.toml"]
	return strings.Contains(manifest, "[hosts.") || strings.Contains(manifest, "base_url") || strings.Contains(manifest, "[mcp.")
}

// isPlayed reports whether scripts play all hosts of a case.
func isPlayed(c *cases.Case) bool {
	manifest := c.Files["Concerto.toml"]
	for _, m := range section.FindAllStringSubmatch(manifest, -1) {
		if _, ok := c.Files[m[1]+".host"]; !ok {
			return false
		}
	}
	return !strings.Contains(manifest, "base_url") && !strings.Contains(manifest, "[mcp.")
}

var vendor = regexp.MustCompile(`transport = "(claude-code|codex|acp)"`)

var section = regexp.MustCompile(`(?m)^\[hosts\.(\w+)[].]`)

// shownForm replaces what the manual shows as "…".
func shownForm(text string) string {
	text = varying.ReplaceAllString(text, `"duration_ms":…`)
	return text
}

var varying = regexp.MustCompile(`"duration_ms":(\d+|…)`)

// differences returns how the outcome of a case in the page differs from that of the command.
func differences(c *cases.Case, page, want *outcome) (all []string) {
	differ := func(what, got, wanted string) {
		if got != wanted {
			all = append(all, fmt.Sprintf("%s in the page:\n%.1500s\nof the command:\n%.1500s", what, got, wanted))
		}
	}
	if c.Path == "main.conc" {
		differ("check", compact(page.Check), compact(want.Check))
	}
	differ("exit code", fmt.Sprint(page.Code), fmt.Sprint(want.Code))
	differ("stdout", untimed(page.Stdout), untimed(want.Stdout))
	differ("stderr", untimed(page.Stderr), untimed(want.Stderr))
	return all
}

// untimed replaces measured times.
func untimed(text string) string { return measured.ReplaceAllString(text, `"duration_ms":0`) }

var measured = regexp.MustCompile(`"duration_ms":\d+`)

func compact(text []byte) string {
	var b bytes.Buffer
	if json.Compact(&b, text) != nil {
		return string(text)
	}
	return b.String()
}

// exceptions returns the cases that differ, with the reasons.
func exceptions(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("cases/exceptions.txt")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		id, reason, ok := strings.Cut(line, " ")
		if !ok {
			t.Errorf("cases/exceptions.txt: %s has no reason", id)
		}
		out[id] = strings.TrimSpace(reason)
	}
	return out
}

// TestCases compares the output of programs in the page with that of the command.
// CONCERTO_PLAYGROUND_CHECK=1 selects all cases; otherwise every tenth is compared.
func TestCases(t *testing.T) {
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("this test needs node")
	}
	tool, err := testproc.Command()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := built()
	if err != nil {
		t.Fatal(err)
	}
	all, err := cases.Read("../..")
	if err != nil {
		t.Fatal(err)
	}
	full := os.Getenv("CONCERTO_PLAYGROUND_CHECK") != ""
	known := exceptions(t)
	n, err := startNode(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { n.end() }()
	var compared, skipped int
	var listed []string
	for i := range all {
		c := &all[i]
		if !full && i%10 != 0 {
			continue
		}
		if vendor.MatchString(c.Files["Concerto.toml"]) {
			skipped++ // in the page, a script plays each host with Concerto's protocol
			continue
		}
		page, err := n.play(c)
		if err != nil {
			n.end()
			if n, err = startNode(dir); err != nil {
				t.Fatal(err)
			}
			if known[c.ID] == "" {
				t.Errorf("%s: %v", c.ID, page.Died)
			}
			listed = append(listed, c.ID)
			continue
		}
		if needsProcess(c, &page) {
			if c.Output != nil && isPlayed(c) && len(page.Notices) == 0 {
				if got, want := shownForm(page.Stdout), shownForm(*c.Output); got != want {
					t.Errorf("%s: stdout in the page:\n%s\nin the manual:\n%s", c.ID, got, want)
				}
				compared++
			} else {
				skipped++
			}
			continue
		}
		want := command(t, tool, c)
		found := differences(c, &page, &want)
		if len(found) > 0 && known[c.ID] == "" {
			if again := command(t, tool, c); again.Stdout != want.Stdout || again.Stderr != want.Stderr {
				skipped++ // the output depends on the clock or on random numbers
				continue
			}
			t.Errorf("%s: %s", c.ID, strings.Join(found, "\n"))
		}
		if len(found) == 0 && known[c.ID] != "" {
			t.Errorf("%s is the same in the page and from the command: remove it from cases/exceptions.txt", c.ID)
		}
		listed = append(listed, c.ID)
		compared++
	}
	if full {
		for id := range known {
			if !slices.Contains(listed, id) {
				t.Errorf("%s in cases/exceptions.txt is no case that is compared", id)
			}
		}
	}
	t.Logf("%d cases compared, %d need a process or are not deterministic", compared, skipped)
}

// TestCasesInBrowser runs a tenth of the cases in Chromium; without CONCERTO_PLAYGROUND_CHECK, a
// hundredth.
func TestCasesInBrowser(t *testing.T) {
	b, _ := visit(t, map[string]string{"main.conc": "fn main() {}\n"})
	tool, err := testproc.Command()
	if err != nil {
		t.Fatal(err)
	}
	all, err := cases.Read("../..")
	if err != nil {
		t.Fatal(err)
	}
	every, known := 100, exceptions(t)
	if os.Getenv("CONCERTO_PLAYGROUND_CHECK") != "" {
		every = 10
	}
	compared := 0
	for i := range all {
		c := &all[i]
		if i%every != 3 || known[c.ID] != "" || c.Path != "main.conc" || c.Mock || len(c.Env)+len(c.Args)+len(c.Answers) > 0 || needsProcess(c, &outcome{}) || strings.Contains(c.Files["main.conc"], "await emit") ||
			strings.Contains(c.Files["main.conc"], "@approve") || // the page does not ask before calls
			strings.Contains(strings.ReplaceAll(c.Files["Concerto.toml"], `provider = "scripted"`, ""), "provider = ") { // the page asks its user to reply
			continue
		}
		want := command(t, tool, c)
		files, err := json.Marshal(c.Files)
		if err != nil {
			t.Fatal(err)
		}
		b.Eval("playground.put(JSON.parse(" + quote(string(files)) + "))")
		r := evaluate[result](t, b, "playground.run()")
		if b.Text("@notice") != "" {
			continue // it needs what a page does not have
		}
		page := outcome{Code: r.Code, Stdout: r.Stdout, Stderr: r.Stderr, Check: want.Check}
		if c.Emit == "" {
			if found := differences(c, &page, &want); len(found) > 0 {
				t.Errorf("%s: %s", c.ID, strings.Join(found, "\n"))
			}
		} else if page.Code != want.Code || page.Stderr != want.Stderr {
			t.Errorf("%s: exit code %d, stderr %q, want %d, %q", c.ID, page.Code, page.Stderr, want.Code, want.Stderr)
		}
		compared++
	}
	t.Logf("%d cases compared", compared)
}

// Command agentwire records conversations with vendors' coding agents. It installs each agent from
// npm in the version that its table names, runs it against a scripted model server on the loopback
// interface, and writes the messages to the testdata of package host, whose tests replay them
// without the agents. It requires npm and Node, and no network after the installation.
//
//	agentwire [-bin DIR] [-out DIR] [-v] [AGENT…]
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/internal/agents/modelserver"
	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/process/procgroup"
	"github.com/concerto-lang/concerto/internal/record/hosttrace"
	"github.com/concerto-lang/concerto/runtime/host"
)

func main() {
	bin := flag.String("bin", "bin/npm", "directory of the installed agents")
	out := flag.String("out", "runtime/host/adapter/testdata/wire", "directory for recordings")
	verbose := flag.Bool("v", false, "print the agent's diagnostics")
	flag.Parse()
	if err := run(*bin, *out, *verbose, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "agentwire:", err)
		os.Exit(1)
	}
}

func run(bin, out string, verbose bool, only []string) error {
	bin, err := filepath.Abs(bin)
	if err != nil {
		return err
	}
	if err := install(bin); err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	if _, err := command(bin); err != nil {
		return err
	}
	for i := range agents {
		a := &agents[i]
		if len(only) > 0 && !slices.Contains(only, a.name) {
			continue
		}
		for _, t := range a.conversations() {
			if err := a.record(bin, filepath.Join(out, t.name+".wire"), t, verbose); err != nil {
				return fmt.Errorf("%s: %w", t.name, err)
			}
		}
	}
	return nil
}

// record runs one conversation and writes its recording.
func (a *agent) record(bin, file string, t conversation, verbose bool) error {
	rec := &recording{}
	talkErr := a.converse(bin, t, rec, verbose)
	if err := os.WriteFile(file, rec.text(a), 0o644); err != nil {
		return err
	}
	fmt.Printf("%s: %d lines\n", file, len(rec.lines))
	return talkErr
}

// command builds the concerto command, through which some agents call tools.
func command(bin string) (string, error) {
	file := filepath.Join(bin, "concerto")
	build := exec.Command("go", "build", "-o", file, "github.com/concerto-lang/concerto/cmd/concerto")
	build.Stdout, build.Stderr = os.Stdout, os.Stderr
	if err := build.Run(); err != nil {
		return "", fmt.Errorf("build concerto: %w", err)
	}
	return file, nil
}

// install installs the agents that are missing in the version of the table. It also adds them to
// package.json, because npm removes packages that package.json does not list.
func install(bin string) error {
	args := []string{"install", "--no-audit", "--no-fund", "--prefix", bin}
	missing := false
	for _, a := range agents {
		args = append(args, a.pkg+"@"+a.version)
		missing = missing || !a.isInstalled(filepath.Join(bin, "node_modules"))
	}
	if !missing {
		return nil
	}
	npm := exec.Command("npm", args...)
	npm.Stdout, npm.Stderr = os.Stdout, os.Stderr
	if err := npm.Run(); err != nil {
		return fmt.Errorf("npm install: %w", err)
	}
	for _, a := range agents {
		if a.setup == "" {
			continue
		}
		node := exec.Command("node", filepath.Join(bin, "node_modules", a.pkg, a.setup))
		node.Stdout, node.Stderr = os.Stdout, os.Stderr
		if err := node.Run(); err != nil {
			return fmt.Errorf("%s: %s: %w", a.pkg, a.setup, err)
		}
	}
	return nil
}

// isInstalled reports whether the agent is installed in its version.
func (a *agent) isInstalled(modules string) bool {
	var p struct{ Version string }
	text, err := os.ReadFile(filepath.Join(modules, a.pkg, "package.json"))
	return err == nil && json.Unmarshal(text, &p) == nil && p.Version == a.version
}

// recording holds the messages of a conversation.
type recording struct {
	mu    sync.Mutex
	lines []hosttrace.Line
	hide  []hidden
}

// hidden is a text of this machine and its replacement in recordings.
type hidden struct{ text, shown string }

func (r *recording) add(l hosttrace.Line) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, l)
}

// converse runs a conversation with the agent: it sends a prompt, approves the agent's calls,
// selects the first option of its questions, and sends a second prompt.
func (a *agent) converse(bin string, t conversation, rec *recording, verbose bool) error {
	tmp, err := os.MkdirTemp("", "agentwire")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	home, dir := filepath.Join(tmp, "home"), filepath.Join(tmp, "work")
	for _, d := range []string{home, dir} {
		if err := os.Mkdir(d, 0o755); err != nil {
			return err
		}
	}
	server, err := modelserver.Start(nil, t.replies...)
	if err != nil {
		return err
	}
	defer server.Close()
	at := place{home: home, url: server.URL}
	flat := strings.ReplaceAll(dir, "/", "-") // the name that Claude Code derives from the directory's path
	rec.hide = []hidden{{flat, "-work"}, {dir, "/work"}, {home, "/home/user"}, {tmp, "/tmp"}, {server.URL, "http://127.0.0.1:1"}, {bin, "/npm"}}
	if err := a.writeFiles(at); err != nil {
		return err
	}
	logEvent := func(string, string) {}
	if verbose {
		logEvent = func(who, line string) { fmt.Fprintln(os.Stderr, who+": "+line) }
	}
	hosts := host.New(host.Options{
		Configs: []host.Config{a.config(filepath.Join(bin, "node_modules", ".bin"), dir, at)}, Run: &procgroup.Run{ID: procgroup.NewID(), Executable: filepath.Join(bin, "concerto")},
		Trace: rec.add, Stderr: logEvent, Log: host.NewLogger(logEvent),
		Environ: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + tmp, "LANG=C.UTF-8", "SHELL=/bin/sh", "TERM=dumb", "NO_COLOR=1"},
	})
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	err = exchange(ctx, hosts, t, verbose)
	if verbose {
		for _, q := range server.Requests() {
			fmt.Fprintf(os.Stderr, "model: %s %.200000s\n", q.Path, q.Text)
		}
	}
	if end := hosts.Close(ctx); err == nil {
		err = end
	}
	return err
}

func exchange(ctx context.Context, hosts *host.Hosts, t conversation, verbose bool) error {
	opened, err := hosts.Perform(ctx, &effect.ExchangeOpen{Host: "Coder", Prompt: "please work", Tools: t.tools})
	if err != nil {
		return err
	}
	id := opened.(*effect.ExchangeOpened).ID
	steerAt := t.steerAt
	for {
		got, err := hosts.Perform(ctx, &effect.ExchangeNext{ID: id})
		if err != nil {
			return err
		}
		for _, m := range got.(*effect.ExchangeMessages).Messages {
			if verbose {
				fmt.Fprintf(os.Stderr, "message: %s\n", m.Text)
			}
			if m.Type == steerAt {
				steerAt = ""
				steered, err := hosts.Perform(ctx, &effect.ExchangeSteer{ID: id, Text: steering})
				if err != nil {
					return err
				}
				if verbose {
					fmt.Fprintf(os.Stderr, "steer: %s\n", steered.(*effect.ExchangeSteered).Outcome)
				}
			}
			var value string
			switch m.Type {
			case "result", "error":
				_, err := hosts.Perform(ctx, &effect.ExchangeClose{ID: id})
				return err
			case "approval":
				value = `"yes"`
			case "question":
				value = `"tabs"`
			case "tool_call":
				value = "3"
			default:
				continue
			}
			if _, err := hosts.Perform(ctx, &effect.ExchangeReply{ID: id, InReplyTo: m.Type, AnswerTo: m.ID, Value: json.RawMessage(value)}); err != nil {
				return err
			}
		}
	}
}

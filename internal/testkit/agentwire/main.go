// Command agentwire installs the vendors' coding agents from npm in the versions that the table of
// package agents names, and records conversations with them. Only the model is scripted. The tests
// of the adapters replay the recordings without the agents. It requires npm and Node, and no
// network after the installation.
//
//	agentwire [-bin DIR] [-out DIR] [-v] [AGENT…]
//
// With -conform it instead plays every scenario with the installed agents and prints how the
// results differ from the stored ones. With -latest it first installs the newest version of each
// agent. -accept stores the results, from which the manual's table is generated.
//
//	agentwire -conform [-latest] [-accept] [-bin DIR] [-results DIR] [AGENT…]
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/internal/agents"
)

func main() {
	bin := flag.String("bin", "bin/npm", "directory of the installed agents")
	out := flag.String("out", "runtime/host/adapter/testdata/wire", "directory for recordings")
	verbose := flag.Bool("v", false, "print what the programs print")
	var c comparison
	conform := flag.Bool("conform", false, "compare the results of all scenarios with the stored ones")
	flag.BoolVar(&c.latest, "latest", false, "with -conform: install the newest versions")
	flag.BoolVar(&c.accept, "accept", false, "with -conform: store the results")
	flag.StringVar(&c.results, "results", "internal/agents/results", "with -conform: directory of the results")
	flag.Parse()
	dir, err := filepath.Abs(*bin)
	switch {
	case err != nil:
	case *conform:
		err = c.run(dir, flag.Args())
	default:
		err = run(dir, *out, *verbose, flag.Args())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "agentwire:", err)
		os.Exit(1)
	}
}

func run(bin, out string, verbose bool, only []string) error {
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	return eachAgent(bin, false, only, func(o *agents.Options) error {
		if verbose {
			o.Verbose = func(line string) { fmt.Fprintln(os.Stderr, line) }
		}
		for _, s := range agents.Recorded(&o.Agent) {
			if err := record(o, &s, bin, filepath.Join(out, s.Name+".wire")); err != nil {
				return fmt.Errorf("%s: %w", s.Name, err)
			}
		}
		return nil
	})
}

// options returns the options that play scenarios with an agent below bin.
func options(a *agents.Agent, bin, concerto string) *agents.Options {
	return &agents.Options{Agent: *a, Path: filepath.Join(bin, "node_modules", ".bin", a.Program), Concerto: concerto, Environ: os.Environ()}
}

// eachAgent installs the agents below bin, which is absolute, and calls play for each one, or for
// those in only. latest is described at install.
func eachAgent(bin string, latest bool, only []string, play func(o *agents.Options) error) error {
	all := agents.Table()
	for _, name := range only {
		if !slices.ContainsFunc(all, func(a agents.Agent) bool { return a.Name == name }) {
			return fmt.Errorf("unknown agent %s", name)
		}
	}
	if err := install(bin, latest); err != nil {
		return err
	}
	concerto, err := command(bin)
	if err != nil {
		return err
	}
	for _, a := range all {
		if len(only) > 0 && !slices.Contains(only, a.Name) {
			continue
		}
		if err := play(options(&a, bin, concerto)); err != nil {
			return err
		}
	}
	return nil
}

// record plays a scenario and writes its recording.
func record(o *agents.Options, s *agents.Scenario, bin, file string) error {
	var failed error
	o.Recorded = func(r agents.Recording) {
		if !strings.Contains(r.Wire, "exit 0") {
			failed = errors.New("the agent did not end by itself")
		}
		text, err := newRecording(&r, bin)
		if err == nil {
			err = os.WriteFile(file, text.text(&o.Agent), 0o644)
			fmt.Printf("%s: %d lines\n", file, len(text.lines))
		}
		failed = errors.Join(failed, err)
	}
	r, err := o.Try(context.Background(), s)
	if r.Got != "" {
		err = errors.Join(err, errors.New(r.Got))
	}
	return errors.Join(err, failed)
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
//
// If latest is true, it installs the newest versions, and the newest declarations of Claude Code's
// messages.
func install(bin string, latest bool) error {
	args := []string{"install", "--no-audit", "--no-fund", "--prefix", bin}
	missing := latest
	if latest {
		args = append(args, "@anthropic-ai/claude-agent-sdk@latest")
	}
	for _, a := range agents.Table() {
		version := a.Version
		if latest {
			version = "latest"
		}
		args = append(args, a.Package+"@"+version)
		missing = missing || !isInstalled(&a, filepath.Join(bin, "node_modules"))
	}
	if !missing {
		return nil
	}
	npm := exec.Command("npm", args...)
	npm.Stdout, npm.Stderr = os.Stderr, os.Stderr
	if err := npm.Run(); err != nil {
		return fmt.Errorf("npm install: %w", err)
	}
	for _, a := range agents.Table() {
		if a.Setup == "" {
			continue
		}
		node := exec.Command("node", filepath.Join(bin, "node_modules", a.Package, a.Setup))
		node.Stdout, node.Stderr = os.Stdout, os.Stderr
		if err := node.Run(); err != nil {
			return fmt.Errorf("%s: %s: %w", a.Package, a.Setup, err)
		}
	}
	return nil
}

// isInstalled reports whether the agent is installed in its version.
func isInstalled(a *agents.Agent, modules string) bool {
	var p struct{ Version string }
	text, err := os.ReadFile(filepath.Join(modules, a.Package, "package.json"))
	return err == nil && json.Unmarshal(text, &p) == nil && p.Version == a.Version
}

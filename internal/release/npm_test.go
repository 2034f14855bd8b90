package release

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// TestNPMPackages checks the manifests of the packages.
func TestNPMPackages(t *testing.T) {
	r, dir := smallRelease(t, working)
	manifests := map[string]manifest{}
	for _, target := range append([]Target{{}}, Targets...) {
		headers, contents := entryList(t, filepath.Join(dir, filepath.FromSlash(r.npmFileName(target))))
		var executables, names []string
		for _, h := range headers {
			names = append(names, h.Name)
			if h.Mode == executableMode {
				executables = append(executables, h.Name)
			}
			if h.ModTime.Unix() != r.modified.Unix() || h.Uid != 0 || h.Gid != 0 {
				t.Errorf("%s has the time %v and the owner %d:%d", h.Name, h.ModTime, h.Uid, h.Gid)
			}
		}
		var keys map[string]any
		var m manifest
		if err := errors.Join(json.Unmarshal(contents["package/package.json"], &keys), json.Unmarshal(contents["package/package.json"], &m)); err != nil {
			t.Fatal(err)
		}
		if keys["scripts"] != nil || m.Version != "1.2.3" || m.License != "Apache-2.0" {
			t.Errorf("the manifest is %v", keys)
		}
		manifests[m.Name] = m
		want := []string{"package/bin/" + target.exe("concerto"), "package/bin/" + target.exe("concerto-relay")}
		if target == (Target{}) {
			want = []string{"package/bin/concerto-relay.js", "package/bin/concerto.js"}
		} else {
			if !slices.Equal(m.OS, []string{target.NodeOS}) || !slices.Equal(m.CPU, []string{target.NodeArch}) {
				t.Errorf("%s is for %q %q", m.Name, m.OS, m.CPU)
			}
			for _, name := range []string{"package/LICENSE", "package/README.md", "package/licenses/golang/std/LICENSE", "package/share/concerto/playground/index.html"} {
				if !slices.Contains(names, name) {
					t.Errorf("%s has no %s", m.Name, name)
				}
			}
		}
		slices.Sort(want)
		if !slices.IsSorted(names) || !slices.Equal(executables, want) {
			t.Errorf("executables = %q, want %q; all: %q", executables, want, names)
		}
	}
	wrapper := manifests["concerto-lang"]
	want := map[string]string{}
	for _, system := range []string{"linux", "darwin", "win32"} {
		for _, cpu := range []string{"x64", "arm64"} {
			want["@concerto-lang/cli-"+system+"-"+cpu] = "1.2.3"
		}
	}
	if !maps.Equal(wrapper.Optional, want) || len(manifests) != len(want)+1 {
		t.Errorf("optional dependencies = %v, packages %v", wrapper.Optional, slices.Sorted(maps.Keys(manifests)))
	}
	if !maps.Equal(wrapper.Bin, map[string]string{"concerto": "bin/concerto.js", "concerto-relay": "bin/concerto-relay.js"}) {
		t.Errorf("bin = %v", wrapper.Bin)
	}
}

// wrapperWith unpacks the wrapper and the package of this machine, with a script as its program,
// into node_modules, and returns a command that runs the wrapper. It skips the test without Node.
func wrapperWith(t *testing.T, program string) func(args ...string) *exec.Cmd {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not in PATH")
	}
	if runtime.GOOS == "windows" {
		t.Skip("the program of this test is a script for sh")
	}
	r, from := smallRelease(t, program)
	modules := filepath.Join(t.TempDir(), "node_modules")
	for _, target := range append([]Target{{}}, Targets...) {
		if target != (Target{}) && (program == "" || target.OS != runtime.GOOS || target.Arch != runtime.GOARCH) {
			continue
		}
		dir := t.TempDir()
		if err := unpack(filepath.Join(from, filepath.FromSlash(r.npmFileName(target))), dir); err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(modules, filepath.FromSlash(npmName(target)))
		if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(filepath.Join(dir, "package"), to); err != nil {
			t.Fatal(err)
		}
	}
	return func(args ...string) *exec.Cmd {
		return exec.Command(node, append([]string{filepath.Join(modules, "concerto-lang", "bin", "concerto.js")}, args...)...)
	}
}

// TestNPMWithoutPlatform checks the message if npm has not installed the package of the platform.
func TestNPMWithoutPlatform(t *testing.T) {
	c := wrapperWith(t, "")("version")
	out, err := c.CombinedOutput()
	var name string
	for _, target := range Targets {
		if target.OS == runtime.GOOS && target.Arch == runtime.GOARCH {
			name = npmName(target)
		}
	}
	want := name + " is not installed: npm omitted the optional dependencies\n  hint: npm install " + name + "@1.2.3\n"
	if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 1 || string(out) != want {
		t.Errorf("error = %v, output %q, want %q", err, out, want)
	}
}

// TestNPMUnknownPlatform checks the message on a platform without a package.
func TestNPMUnknownPlatform(t *testing.T) {
	c := wrapperWith(t, working)()
	c.Args = append([]string{c.Args[0], "--eval", `Object.defineProperty(process, "platform", {value: "plan9"}); require(process.argv[1])`}, c.Args[1:]...)
	out, err := c.CombinedOutput()
	if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 1 || !strings.HasPrefix(string(out), "concerto has no package for plan9-") {
		t.Errorf("error = %v, output %q", err, out)
	}
}

// TestNPMPasses checks that the wrapper passes arguments, standard streams and the exit code.
func TestNPMPasses(t *testing.T) {
	command := wrapperWith(t, "#!/bin/sh\nfor a; do echo \"<$a>\"; done\ncat\necho error >&2\nexit 75\n")
	c := command("run", "a b", "", "--x=*")
	c.Stdin = strings.NewReader("input\n")
	var stdout, stderr strings.Builder
	c.Stdout, c.Stderr = &stdout, &stderr
	err := c.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 75 {
		t.Errorf("error = %v", err)
	}
	if stdout.String() != "<run>\n<a b>\n<>\n<--x=*>\ninput\n" || stderr.String() != "error\n" {
		t.Errorf("stdout %q, stderr %q", stdout.String(), stderr.String())
	}
}

// TestNPMSignals checks that the wrapper passes signals, and ends by the signal that ends the
// program.
func TestNPMSignals(t *testing.T) {
	handled := wrapperWith(t, "#!/bin/sh\ntrap 'echo caught; exit 7' \"$1\"\necho ready\nwhile :; do read -r line || :; done\n")
	ended := wrapperWith(t, "#!/bin/sh\necho ready\nexec cat\n")
	for name, signal := range map[string]syscall.Signal{"INT": syscall.SIGINT, "TERM": syscall.SIGTERM, "HUP": syscall.SIGHUP} {
		t.Run(name, func(t *testing.T) {
			if rest, state := interrupt(t, handled(name), signal); rest != "caught\n" || state.ExitCode() != 7 {
				t.Errorf("output %q, %v", rest, state)
			}
			if rest, state := interrupt(t, ended(), signal); rest != "" || state.Sys().(syscall.WaitStatus).Signal() != signal {
				t.Errorf("output %q, %v", rest, state)
			}
		})
	}
}

// interrupt starts a command, sends it a signal when it has printed a line, and returns the rest of
// its output.
func interrupt(t *testing.T, c *exec.Cmd, signal syscall.Signal) (rest string, state *os.ProcessState) {
	t.Helper()
	stdin, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	stdout, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	var line string
	if _, err := fmt.Fscanln(stdout, &line); err != nil || line != "ready" {
		t.Fatalf("first line %q, error %v", line, err)
	}
	if err := c.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(stdout)
	if err != nil {
		t.Fatal(err)
	}
	_ = c.Wait() // the state has the result
	return string(text), c.ProcessState
}

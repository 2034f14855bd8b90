package cli

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	goruntime "runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/concerto-lang/concerto/internal/agents/modelserver"
	"github.com/concerto-lang/concerto/internal/engine/driver"
	"github.com/concerto-lang/concerto/internal/process/confine"
	"github.com/concerto-lang/concerto/internal/process/procgroup"
	"github.com/concerto-lang/concerto/internal/process/sandbox"
	"github.com/concerto-lang/concerto/internal/record/journal/rundir"
	"github.com/concerto-lang/concerto/internal/testkit/evalresult"
	"github.com/concerto-lang/concerto/internal/testkit/pgtest"
	"github.com/concerto-lang/concerto/internal/testkit/randtest"
	"github.com/concerto-lang/concerto/internal/testkit/testagent"
	"github.com/concerto-lang/concerto/internal/testkit/testhost"
	"github.com/concerto-lang/concerto/internal/testkit/testllm"
	"github.com/concerto-lang/concerto/internal/testkit/testmcp"
	"github.com/concerto-lang/concerto/runtime/host/hosttest"
)

// segmentBytes is the environment variable that sets the maximum size of a journal's files. Tests
// set a small size so that the beginning of a journal is dropped.
const segmentBytes = "CONCERTO_TEST_SEGMENT_BYTES"

// TestMain makes this test binary available to scripts under several names: concerto itself;
// testhost, testllm and testmcp, which play scripts; follow and browser, which are a person who
// logs in; exits, which checks exit codes and sends signals; unprivileged, which runs a command
// that respects the modes of files even for root; peak, which limits the memory of a command;
// spans, which prints traces; soakhost and stormhost, which are hosts of long tests; and converse,
// which plays a conversation with a server.
func TestMain(m *testing.M) {
	driver.Strict = true // also for the processes that scripts start
	// Tests mostly wait for processes and timers, so more of them can run in parallel than there
	// are processors.
	if err := flag.Set("test.parallel", strconv.Itoa(4*goruntime.NumCPU())); err != nil {
		panic(err)
	}
	if n, err := strconv.ParseInt(os.Getenv(segmentBytes), 10, 64); err == nil {
		rundir.SegmentBytes = n
	}
	testscript.Main(m, map[string]func(){
		"concerto":     func() { os.Exit(Main(Build{Release: "0.1.0-dev"})) },
		"testhost":     func() { os.Exit(testhost.Main(os.Args[1:])) },
		"testagent":    func() { os.Exit(testagent.Main(os.Args[1:])) },
		"testllm":      func() { os.Exit(testllm.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) },
		"testmcp":      func() { os.Exit(testmcp.Main()) },
		"follow":       func() { os.Exit(follow(os.Args[1:])) },
		"browser":      func() { os.Exit(browse(os.Args[1])) },
		"exits":        func() { os.Exit(exits(os.Args[1:])) },
		"unprivileged": func() { os.Exit(unprivileged(os.Args[1:])) },
		"peak":         func() { os.Exit(peak(os.Args[1:])) },
		"spans":        func() { os.Exit(spans(os.Args[1:])) },
		"soakhost":     func() { soak() },
		"stormhost":    func() { os.Exit(stormHost(os.Args[1:])) },
		"converse":     func() { os.Exit(converse(os.Args[1:])) },
	})
}

// TestScripts runs the scripts in testdata/script, which call the command as users do. With
// CONCERTO_UPDATE=1 it rewrites the files that `cmp` compares.
//
// In a script's archive, files that end in .host are scripts for testhost. If the archive has no
// Concerto.toml, the test writes one with a section for each such file. The scripts can use these
// commands: `llm FILE` starts a model server with the replies in FILE and sets LLM_URL to its
// address; `mcp` starts an MCP server and sets LLM_URL in the same way; `oauth` starts one that
// requires a login, changes its behaviour and counts its requests (see oauth); `recorded NAME`
// copies NAME.wire, a recorded conversation with a vendor's agent; `database` creates a PostgreSQL
// database and sets CONCERTO_ENGINE to its URL, and `sql STATEMENT` executes a statement there;
// `subst FILE` replaces $LLM_URL and $WORK in a file; `requests` checks the requests to the model
// server, and `bill` sets BILL to what it charges; `recompute FILE` computes the JSON report of
// `eval` in FILE again from the results that it names, with code of its own; `hostd` controls a
// hostd (see fakeHostd).
func TestScripts(t *testing.T) {
	all, err := filepath.Glob(filepath.Join("testdata", "script", "*.txtar"))
	if err != nil || len(all) == 0 {
		t.Fatal(all, err)
	}
	var files []string
	for i, file := range all {
		if randtest.Sampled(i) {
			files = append(files, file)
		}
	}
	// All scripts share a server, and each of them has its own database.
	server := sync.OnceValue(func() func(string) string { return pgtest.Start(t) })
	var databases atomic.Int64
	testscript.Run(t, testscript.Params{
		Files:               files,
		UpdateScripts:       os.Getenv("CONCERTO_UPDATE") != "",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup:               setup,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"llm":      startLLM,
			"recorded": recorded,
			"mcp":      startMCP,
			"oauth":    oauth,
			"subst":    subst,
			"requests": requests,
			"bill":     bill,
			"hostd":    hostdCmd,
			"recompute": func(ts *testscript.TestScript, neg bool, args []string) {
				if neg || len(args) != 1 {
					ts.Fatalf("usage: recompute REPORT")
				}
				ts.Check(evalresult.Check(ts.MkAbs("."), []byte(ts.ReadFile(args[0]))))
			},
			"database": func(ts *testscript.TestScript, neg bool, args []string) {
				if neg || len(args) != 0 {
					ts.Fatalf("usage: database")
				}
				ts.Setenv("CONCERTO_ENGINE", pgtest.Make(t, server(), fmt.Sprint("script", databases.Add(1))))
			},
			"sql": func(ts *testscript.TestScript, neg bool, args []string) {
				if neg || len(args) != 1 {
					ts.Fatalf("usage: sql STATEMENT")
				}
				_, err := io.WriteString(ts.Stdout(), pgtest.Do(t, ts.Getenv("CONCERTO_ENGINE"), args[0]))
				ts.Check(err)
			},
		},
		Condition: func(name string) (bool, error) {
			if name == "race" {
				return randtest.Raced, nil
			}
			if name == "postgres" {
				return pgtest.IsInstalled(), nil
			}
			if name == "sandbox" {
				return supportsSandboxes(), nil
			}
			return false, fmt.Errorf("there is no condition %q", name)
		},
	})
}

// supportsSandboxes reports whether this system can enforce all parts of a sandbox.
func supportsSandboxes() bool {
	lacks, _ := confine.Check(&procgroup.Run{ID: procgroup.NewID(), Executable: os.Args[0]}, sandbox.Confinement{Files: true, Hidden: true, Offline: true, Loopback: true})
	return len(lacks) == 0
}

func setup(env *testscript.Env) error {
	env.Setenv("HOME", env.WorkDir)
	env.Setenv("NO_COLOR", "1")
	env.Setenv("CONCERTO_PROGRESS", "none") // unless that is what a script is about
	env.Setenv("GORACE", os.Getenv("GORACE"))
	if err := writeManifest(env.WorkDir); err != nil {
		return err
	}
	env.Defer(func() {
		if err := leftovers(env.WorkDir); err != nil {
			env.T().(interface{ Error(...any) }).Error(err)
		}
	})
	return nil
}

// writeManifest writes a manifest with a section for each *.host file in dir. It does nothing if
// there are no such files, or if dir already contains a manifest.
func writeManifest(dir string) error {
	hosts, err := filepath.Glob(filepath.Join(dir, "*.host"))
	if err != nil || len(hosts) == 0 {
		return err
	}
	manifest := filepath.Join(dir, "Concerto.toml")
	if _, err := os.Stat(manifest); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	var b strings.Builder
	for _, h := range hosts {
		name := strings.TrimSuffix(filepath.Base(h), ".host")
		fmt.Fprintf(&b, "[hosts.%s]\ncommand = \"testhost\"\nargs = [%q]\n\n", name, filepath.Base(h))
	}
	return os.WriteFile(manifest, []byte(b.String()), 0o666)
}

// leftovers returns an error if a host of the script received an unexpected message, or is still
// running.
func leftovers(dir string) error {
	return filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		switch filepath.Ext(path) {
		case ".fail":
			text, _ := os.ReadFile(path)
			return fmt.Errorf("%s: %s", filepath.Base(path), text)
		case ".spawns":
			return stillRunning(path)
		}
		return nil
	})
}

// stillRunning returns an error if a process that a host has started is still running. The file at
// path lists the processes.
func stillRunning(path string) error {
	groups, err := spawnedGroups(path)
	for _, group := range groups {
		if hosttest.GroupAlive(group) {
			return fmt.Errorf("process group %d of %s still runs", group, filepath.Base(path))
		}
	}
	return err
}

// spawnedGroups returns the process groups in a file that lists processes, one "pid pgid" per line.
func spawnedGroups(path string) (groups []int, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) != 2 {
			return nil, fmt.Errorf("%s: line %q is not a process id and a group id", path, line)
		}
		group, err := strconv.Atoi(f[1])
		if err != nil {
			return nil, err
		}
		groups = append(groups, group)
	}
	return groups, nil
}

// servers contains the model servers of running scripts, by *testscript.TestScript.
var servers sync.Map

func startLLM(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: llm FILE")
	}
	replies, err := modelserver.Load([]byte(ts.ReadFile(args[0])))
	ts.Check(err)
	s := testllm.Start(replies...)
	ts.Defer(s.Close)
	ts.Setenv("LLM_URL", s.URL)
	servers.Store(ts, s)
}

// bill sets BILL to what the model server charges, without zeros at the end.
func bill(ts *testscript.TestScript, neg bool, args []string) {
	v, ok := servers.Load(ts)
	if !ok || len(args) != 0 || neg {
		ts.Fatalf("usage: bill, after llm")
	}
	text, err := testllm.Bill(v.(*modelserver.Server))
	ts.Check(err)
	ts.Setenv("BILL", strings.TrimRight(text, "0"))
}

// recorded copies a recording of a vendor's agent from package host.
func recorded(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: recorded NAME")
	}
	text, err := os.ReadFile(filepath.Join("..", "..", "runtime", "host", "adapter", "testdata", "wire", args[0]+".wire"))
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]+".wire"), text, 0o666))
}

// startMCP starts an MCP server and sets LLM_URL to its address.
func startMCP(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: mcp")
	}
	s := testmcp.Start()
	ts.Defer(func() {
		s.CloseClientConnections()
		s.Close()
	})
	ts.Setenv("LLM_URL", s.URL)
}

// requests checks the number of requests that the model server received and, if expressions are
// given, the text of the requests.
func requests(ts *testscript.TestScript, neg bool, args []string) {
	v, ok := servers.Load(ts)
	if !ok || len(args) == 0 || neg {
		ts.Fatalf("usage: requests N [REGEXP…], after llm")
	}
	got := v.(*modelserver.Server).Requests()
	if n, err := strconv.Atoi(args[0]); err != nil || n != len(got) {
		ts.Fatalf("the model server received %d requests, want %s", len(got), args[0])
	}
	var all strings.Builder
	for _, r := range got {
		fmt.Fprintf(&all, "%s %v\n%s\n", r.Path, r.Header, r.Text)
	}
	for _, re := range args[1:] {
		if !regexp.MustCompile(re).MatchString(all.String()) {
			ts.Fatalf("the requests do not match %s:\n%s", re, all.String())
		}
	}
}

func subst(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: subst FILE")
	}
	r := strings.NewReplacer("$LLM_URL", ts.Getenv("LLM_URL"), "$WORK", ts.Getenv("WORK"))
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(r.Replace(ts.ReadFile(args[0]))), 0o666))
}

// exits runs a command and succeeds if its exit code is the expected one:
//
//	exits CODE COMMAND…
//	exits -after TEXT -signal INT[,TERM] CODE COMMAND…
//
// With -after it sends the signals as soon as a line of the command's output contains TEXT. The
// system may merge two pending signals of the same kind, so the listed signals must differ.
func exits(args []string) int {
	opts := map[string]string{}
	for len(args) > 1 && strings.HasPrefix(args[0], "-") {
		opts[args[0]], args = args[1], args[2:]
	}
	want, err := strconv.Atoi(args[0])
	if err != nil || len(args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: exits [-after TEXT -signal S] CODE COMMAND…")
		return 2
	}
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP) // otherwise the command ignores it if nohup runs the tests
	c := exec.Command(args[1], args[2:]...)
	c.Stdin, c.Stderr = os.Stdin, os.Stderr
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "exits:", err)
		return 2
	}
	signals := map[string]syscall.Signal{"INT": syscall.SIGINT, "TERM": syscall.SIGTERM, "HUP": syscall.SIGHUP, "KILL": syscall.SIGKILL}
	sent := opts["-after"] == ""
	for lines := bufio.NewReader(out); err == nil; {
		var line string
		line, err = lines.ReadString('\n')
		fmt.Print(line)
		if !sent && strings.Contains(line, opts["-after"]) {
			sent = true
			for name := range strings.SplitSeq(opts["-signal"], ",") {
				_ = c.Process.Signal(signals[name])
			}
		}
	}
	_ = c.Wait()
	got := c.ProcessState.ExitCode()
	if ws, ok := c.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		got = 128 + int(ws.Signal())
	}
	if got != want {
		fmt.Fprintf(os.Stderr, "exits: %s, want exit code %d\n", c.ProcessState, want)
		return 1
	}
	return 0
}

// peak runs a command. It fails if the maximum resident memory of the command, or of a process that
// the command started and waited for, exceeds MIB mebibytes:
//
//	peak MIB COMMAND…
func peak(args []string) int {
	most, err := strconv.ParseInt(args[0], 10, 64)
	if err != nil || len(args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: peak MIB COMMAND…")
		return 2
	}
	c := exec.Command(args[1], args[2:]...)
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	err = c.Run()
	if c.ProcessState == nil {
		fmt.Fprintln(os.Stderr, "peak:", err)
		return 2
	}
	took, err := peakMemory()
	if err != nil {
		fmt.Fprintln(os.Stderr, "peak:", err)
		return 2
	}
	if took > most {
		fmt.Fprintf(os.Stderr, "peak: %d MiB, at most %d wanted\n", took, most)
		return 3
	}
	return c.ProcessState.ExitCode()
}

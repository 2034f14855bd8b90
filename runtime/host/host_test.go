package host_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/process/confine"
	// the keeper starts the test binary as its guard
	_ "github.com/concerto-lang/concerto/internal/process/guard"
	"github.com/concerto-lang/concerto/internal/record/hostreplay"
	"github.com/concerto-lang/concerto/internal/record/hosttrace"
	"github.com/concerto-lang/concerto/internal/testkit/testhost"
	"github.com/concerto-lang/concerto/runtime/host"
	"github.com/concerto-lang/concerto/runtime/host/adapter"
	"github.com/concerto-lang/concerto/runtime/host/hosttest"
	"github.com/concerto-lang/concerto/runtime/keeper"
)

// patience limits each wait. It is longer than any step takes.
const patience = 2 * time.Minute

// programs are further programs that the test binary may be, by the environment variable that
// selects them.
var programs = map[string]func(){}

// TestMain makes the test binary act as a host that plays a script, depending on
// environment variables.
func TestMain(m *testing.M) {
	if os.Getenv("TESTHOST") != "" {
		os.Exit(testhost.Main(os.Args[1:]))
	}
	if file := os.Getenv("REPLAY"); file != "" {
		replay(file)
		return
	}
	if os.Getenv("KEEPER") != "" {
		if err := keeper.Main(os.Stdin, os.Stdout, os.Stderr, confine.Start); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	for name, program := range programs {
		if os.Getenv(name) != "" {
			program()
			return
		}
	}
	if os.Getenv("ASKS") != "" {
		asks()
		return
	}
	os.Exit(m.Run())
}

// scripted returns the configuration of a host that plays the script.
func scripted(_ *testing.T, script string) host.Config {
	return host.Config{Command: os.Args[0], Args: []string{script}, Env: map[string]string{
		"TESTHOST": "1",
		"GORACE":   "atexit_sleep_ms=0", // a host under the race detector exits as fast as any other
	}}
}

// replay acts as the first process of a recording. For --version it prints the recorded version.
func replay(file string) {
	f, err := os.Open(file)
	if err != nil {
		panic(err)
	}
	r, err := hosttrace.Read(f)
	if err != nil {
		panic(err)
	}
	if slices.Contains(os.Args, "--version") {
		version, _ := r.ProgramVersion("Coder")
		fmt.Println(version)
		return
	}
	os.Exit(hostreplay.Play(hostreplay.Options{Recording: r, File: file, Host: "Coder", Proc: 1, In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
}

// TestPlaces tests every transport with every value of isolate and with several instances.
func TestPlaces(t *testing.T) {
	peers := map[string]hosttest.Peer{"stdio": scripted}
	for name, c := range map[string]host.Config{
		"claude":     {Transport: "claude-code"},
		"codex":      {Transport: "codex", Vendor: adapter.Vendor{Model: "gpt-5.2"}},
		"claude-acp": {Transport: "acp"},
		"gemini":     {Transport: "acp", Vendor: adapter.Vendor{Model: "gemini-2.5-pro"}},
		"opencode":   {Transport: "acp"},
	} {
		peers[name] = func(t *testing.T, _ string) host.Config {
			file, err := filepath.Abs(filepath.Join("adapter", "testdata", "wire", name+".wire"))
			if err != nil {
				t.Fatal(err)
			}
			c := c // a copy, because the function is called concurrently for several processes
			c.Command, c.Env = os.Args[0], map[string]string{"REPLAY": file, "GORACE": "atexit_sleep_ms=0"}
			return c
		}
	}
	hosttest.Places(t, peers)
}

func TestStdio(t *testing.T) { hosttest.Run(t, scripted) }

// TestHostsUnderKeeper runs the tests of TestPlaces with a keeper. Processes under a keeper must
// behave like processes without one.
func TestHostsUnderKeeper(t *testing.T) {
	hosttest.Run(t, scripted, func(t *testing.T, o *host.Options) { o.Keeper = newKeeperClient(t.TempDir(), 1) })
}

// newKeeperClient returns a client of the run's keeper. The test binary acts as the keeper.
func newKeeperClient(dir string, owner int64) *keeper.Client {
	return keeper.New(keeper.Options{Dir: dir, Run: hosttest.RunID, Owner: owner, Executable: os.Args[0], Env: []string{"KEEPER=1"}, Orphan: patience})
}

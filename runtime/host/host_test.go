package host_test

import (
	"fmt"
	"os"
	"testing"

	_ "github.com/concerto-lang/concerto/internal/guard" // the keeper starts this program as its guardian, too
	"github.com/concerto-lang/concerto/internal/testhost"
	"github.com/concerto-lang/concerto/runtime/host"
	"github.com/concerto-lang/concerto/runtime/host/hosttest"
	"github.com/concerto-lang/concerto/runtime/keeper"
)

// TestMain makes the test binary the host that plays scripts when it is started
// as one.
func TestMain(m *testing.M) {
	if os.Getenv("TESTHOST") != "" {
		os.Exit(testhost.Main(os.Args[1:]))
	}
	if os.Getenv("TALKER") != "" && os.Getenv("KEEPER") == "" {
		beTalker()
		return
	}
	if os.Getenv("KEEPER") != "" {
		if err := keeper.Main(os.Stdin, os.Stdout, os.Stderr); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if os.Getenv("AGENT") != "" {
		beAgent()
		return
	}
	if os.Getenv("ASKS") != "" {
		asks()
		return
	}
	os.Exit(m.Run())
}

// scripted is a host that plays a script.
func scripted(_ *testing.T, script string) host.Config {
	return host.Config{Command: os.Args[0], Args: []string{script}, Env: map[string]string{
		"TESTHOST": "1",
		"GORACE":   "atexit_sleep_ms=0", // a raced host leaves as fast as any other
	}}
}

func TestStdio(t *testing.T) { hosttest.Run(t, scripted) }

// TestKept: with the processes in the keeper, all is as it is without.
func TestKept(t *testing.T) {
	hosttest.Run(t, scripted, func(t *testing.T, o *host.Options) { o.Keeper = keep(t.TempDir(), 1) })
}

// keep is a run's end of its keeper, which is this program.
func keep(dir string, owner int64) *keeper.Client {
	return keeper.New(keeper.Options{Dir: dir, Run: "r_test", Owner: owner, Executable: os.Args[0], Env: []string{"KEEPER=1"}, Orphan: patience})
}

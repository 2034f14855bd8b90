package host_test

import (
	"os"
	"testing"

	"github.com/concerto-lang/concerto/internal/testhost"
	"github.com/concerto-lang/concerto/runtime/host"
	"github.com/concerto-lang/concerto/runtime/host/hosttest"
)

// TestMain makes the test binary the host that plays scripts when it is started
// as one.
func TestMain(m *testing.M) {
	if os.Getenv("TESTHOST") != "" {
		os.Exit(testhost.Main(os.Args[1:]))
	}
	if os.Getenv("ASKS") != "" {
		asks()
		return
	}
	os.Exit(m.Run())
}

func TestStdio(t *testing.T) {
	hosttest.Run(t, func(t *testing.T, script string) host.Config {
		return host.Config{Command: os.Args[0], Args: []string{script}, Env: map[string]string{
			"TESTHOST": "1",
			"GORACE":   "atexit_sleep_ms=0", // a raced host leaves as fast as any other
		}}
	})
}

package arch

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
	"testing"
)

// Limits of the work of every command before its main begins. A new dependency or table adds to it.
// A table that only some commands read can be created when it is read (sync.OnceValue).
const (
	maxInitBytes  = 425_000
	maxInitAllocs = 3_400
	// maxFaults limits the page faults of `--version`, as a multiple of those of a program that
	// links net/http.
	maxFaults = 3.2
)

const peer = `package main

import _ "net/http"

func main() {}
`

var initLine = regexp.MustCompile(`(?m)^init (\S+) @.* (\d+) bytes, (\d+) allocs$`)

// TestInitialisers limits the memory that the package initialisers of the command allocate, and the
// page faults of its start, compared with a program that does nothing, in the same run.
func TestInitialisers(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"main.go": peer, "go.mod": "module peer\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	build := func(in, out, what string) string {
		t.Helper()
		out = filepath.Join(dir, out)
		c := exec.Command("go", "build", "-o", out, what)
		c.Dir, c.Env = in, append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
		if text, err := c.CombinedOutput(); err != nil {
			t.Fatalf("build %s: %v\n%s", what, err, text)
		}
		return out
	}
	faults := func(path string) int64 {
		t.Helper()
		c := exec.Command(path, "--version")
		if err := c.Run(); err != nil {
			t.Fatal(err)
		}
		return c.ProcessState.SysUsage().(*syscall.Rusage).Minflt
	}
	concerto, empty := build(filepath.Join("..", ".."), "concerto", "./cmd/concerto"), build(dir, "empty", ".")

	c := exec.Command(concerto, "--version")
	var trace bytes.Buffer
	c.Env, c.Stderr = append(os.Environ(), "GODEBUG=inittrace=1"), &trace
	if err := c.Run(); err != nil {
		t.Fatal(err)
	}
	totalBytes, totalAllocs := 0, 0
	all := initLine.FindAllStringSubmatch(trace.String(), -1)
	for _, m := range all {
		n, _ := strconv.Atoi(m[2]) // the expression matches digits
		totalBytes += n
		n, _ = strconv.Atoi(m[3])
		totalAllocs += n
	}
	if len(all) < 50 {
		t.Fatalf("%d initialisers in:\n%s", len(all), &trace)
	}
	if totalBytes > maxInitBytes || totalAllocs > maxInitAllocs {
		t.Errorf("%d initialisers allocate %d bytes in %d pieces, at most %d in %d; each line is a package:\n%s", len(all), totalBytes, totalAllocs, maxInitBytes, maxInitAllocs, &trace)
	}
	// The first run reads the file, and another process may cause more: the smallest number counts.
	own, other := int64(1<<62), int64(1<<62)
	for range 5 {
		own, other = min(own, faults(concerto)), min(other, faults(empty))
	}
	if ratio := float64(own) / float64(other); ratio > maxFaults {
		t.Errorf("%d page faults at the start, an empty program %d: %.2f times as many, at most %.2f", own, other, ratio, maxFaults)
	}
	t.Logf("%d initialisers: %d bytes, %d pieces; %d page faults, an empty program %d", len(all), totalBytes, totalAllocs, own, other)
}

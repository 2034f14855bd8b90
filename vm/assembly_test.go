package vm

import (
	"bytes"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

// The measured properties of the dispatch loop's assembly (README.md). They are valid for this
// compiler; after a change of the compiler, inspect the assembly again.
const (
	measuredGo     = "go1.26"
	measuredArch   = "amd64"
	stackTraffic   = 6    // instructions of run that touch its stack frame: t, around calls
	frameSize      = "18" // of run, in bytes, hexadecimal
	indirectJumps  = 1    // the jump table's
	indirectJumpRE = `\tJMP\t\([A-Z0-9]+\)\([A-Z0-9]+\*8\)`
)

// TestLoopAssembly checks the assembly of the dispatch loop: it has no bounds
// check, spills nothing but t, and has one jump table.
func TestLoopAssembly(t *testing.T) {
	if !strings.HasPrefix(runtime.Version(), measuredGo) || runtime.GOARCH != measuredArch {
		t.Skipf("the numbers are of %s on %s, this is %s on %s: inspect the assembly as README.md describes, then set them", measuredGo, measuredArch, runtime.Version(), runtime.GOARCH)
	}
	if testing.CoverMode() != "" {
		t.Skip("covered code is another")
	}
	checks := compileWith(t, "-d=ssa/check_bce")
	for line := range strings.Lines(checks) {
		if strings.Contains(line, "run.go:") || strings.Contains(line, "ins.go:") {
			t.Errorf("the loop checks a bound: %s", strings.TrimSpace(line))
		}
	}
	code := functionText(t, compileWith(t, "-S"), "vm.(*task).run")
	head, _, _ := strings.Cut(code, "\n")
	if m := regexp.MustCompile(`locals=0x([0-9a-f]+)`).FindStringSubmatch(head); m == nil || m[1] != frameSize {
		t.Errorf("the frame of run is not of 0x%s bytes: %s", frameSize, head)
	}
	var traffic []string
	for line := range strings.Lines(code) {
		if strings.Contains(line, "(SP)") {
			traffic = append(traffic, strings.TrimSpace(line))
		}
	}
	if len(traffic) > stackTraffic {
		t.Errorf("run touches its stack frame in %d instructions, at most %d before: something is spilled\n%s", len(traffic), stackTraffic, strings.Join(traffic, "\n"))
	}
	if n := len(regexp.MustCompile(indirectJumpRE).FindAllString(code, -1)); n < indirectJumps {
		t.Errorf("run jumps through %d tables, not %d: the operations are searched for", n, indirectJumps)
	}
}

// compileWith returns the output of the compiler for this package with a flag.
func compileWith(t *testing.T, flag string) string {
	t.Helper()
	var out bytes.Buffer
	c := exec.Command("go", "build", "-gcflags="+flag, ".")
	c.Stdout, c.Stderr = &out, &out
	if err := c.Run(); err != nil {
		t.Fatalf("go build -gcflags=%s: %v\n%.2000s", flag, err, out.String())
	}
	return out.String()
}

// functionText cuts a function's part out of the compiler's listing.
func functionText(t *testing.T, listing, name string) string {
	t.Helper()
	start := regexp.MustCompile(`(?m)^\S*` + regexp.QuoteMeta(name) + ` STEXT`).FindStringIndex(listing)
	if start == nil {
		t.Fatalf("the listing has no %s", name)
	}
	rest := listing[start[0]:]
	head := strings.IndexByte(rest, '\n') + 1
	if end := regexp.MustCompile(`(?m)^\S+ S[A-Z]+`).FindStringIndex(rest[head:]); end != nil {
		return rest[:head+end[0]]
	}
	return rest
}

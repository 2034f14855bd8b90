package stats

import (
	"os"
	"os/exec"
	"regexp"
	"testing"

	"github.com/concerto-lang/concerto/internal/testkit/randtest"
)

// TestNothingIsFused compiles the package for a processor with fused operations, and checks that
// the compiler used none of them.
func TestNothingIsFused(t *testing.T) {
	randtest.InOneGoroutine(t)
	compile := exec.Command("go", "build", "-gcflags=-S", ".")
	compile.Env = append(os.Environ(), "GOOS=linux", "GOARCH=arm64", "CGO_ENABLED=0")
	assembly, err := compile.CombinedOutput()
	if err != nil || len(assembly) == 0 {
		t.Fatalf("%v: %s", err, assembly)
	}
	for _, line := range regexp.MustCompile(`(?m)^.*\bFN?M(ADD|SUB)[SD]\b.*$`).FindAll(assembly, -1) {
		t.Errorf("write a conversion around the product: %s", line)
	}
}

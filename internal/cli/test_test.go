package cli

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/testkit/randtest"
)

// writeThousandTests writes a program with 1,000 small tests into a new directory. Each test has a
// mock.
func writeThousandTests(tb testing.TB) (dir string) {
	tb.Helper()
	var b strings.Builder
	b.WriteString("fn double(n: Int) -> Int { n * 2 }\nagent A uses scripted { }\n")
	for i := range 1000 {
		fmt.Fprintf(&b, `@test("group %d :: case %d")
fn t%d() {
    assert_eq([1, 2, %[3]d].map(|x| double(x)), [2, 4, %d]);
    mock A { response: "r%[3]d" }
    assert_eq(A.execute("x")?.text, "r%[3]d");
    emit("x", test_emits().len());
}
`, i%10, i, i, 2*i)
	}
	dir = tb.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "main.conc"), []byte(b.String()), 0o666); err != nil {
		tb.Fatal(err)
	}
	return dir
}

// TestThousandTests checks that tests that run in parallel are reported in source order.
func TestThousandTests(t *testing.T) {
	randtest.RacedElsewhere(t)
	t.Parallel()
	dir := writeThousandTests(t)
	var out, errs bytes.Buffer
	if code := run([]string{"test", "--parallel", "4", "main.conc"}, &console.Console{Stdout: &out, Stderr: &errs, Dir: dir}); code != 0 || errs.Len() > 0 {
		t.Fatalf("exit code %d\n%s\n%s", code, errs.String(), out.String())
	}
	lines := strings.Split(out.String(), "\n")
	if len(lines) != 1003 || !strings.HasPrefix(lines[1001], "1000 passed in ") {
		t.Fatalf("the report has %d lines, and the second to last is %q", len(lines), lines[len(lines)-2])
	}
	for i := range 1000 {
		if want := fmt.Sprintf("ok    group %d :: case %d (t%d)", i%10, i, i); lines[i] != want {
			t.Fatalf("line %d = %q, want %q", i, lines[i], want)
		}
	}
}

// BenchmarkThousandTests measures compiling and running 1,000 small tests, without the time to
// start a process.
func BenchmarkThousandTests(b *testing.B) {
	dir := writeThousandTests(b)
	for b.Loop() {
		if code := run([]string{"test", "main.conc"}, &console.Console{Stdout: io.Discard, Stderr: io.Discard, Dir: dir}); code != 0 {
			b.Fatal(code)
		}
	}
}

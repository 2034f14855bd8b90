package hostreplay

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/concerto-lang/concerto/internal/record/hosttrace"
)

// lines returns a recording with one process of a host, which contains the given lines.
func lines(all ...hosttrace.Line) *hosttrace.Recording {
	r := &hosttrace.Recording{}
	for i, l := range all {
		l.Host, l.Proc = "A", 1
		r.Lines = append(r.Lines, hosttrace.Recorded{Line: l, Number: i + 2})
	}
	return r
}

func play(o Options, in string) (code int, out, errs string) {
	var stdout, stderr bytes.Buffer
	o.File, o.Host, o.Proc, o.In, o.Out, o.Err = "a.wire", "A", 1, strings.NewReader(in), &stdout, &stderr
	code = Play(o)
	return code, stdout.String(), stderr.String()
}

// TestExitAsRecorded checks when a replay exits. A process that exited by itself exits at once. A
// process that Concerto stopped exits at the end of its input.
func TestExitAsRecorded(t *testing.T) {
	for _, c := range []struct {
		name, outcome string
		after         float64
		in            string
		code          int
		message       string
	}{
		{"by itself", "exit 3", 9, "unread\n", 3, ""},
		{"by a signal of another's", "exit 143", 0.1, "unread\n", 143, ""},
		{"by a fault", "exit 139", 0, "unread\n", 139, ""},
		{"by Concerto", "exit 143", 0.2, "", 143, ""},
		{"not yet", "exit 143", 0.2, "more\n", Differs, "replay: a.wire:3: expected the end of its input, got more\n"},
		{"in a way that is not known", "vanished", 0, "", Differs, ""},
	} {
		code, _, errs := play(Options{Recording: lines(hosttrace.Line{Dir: hosttrace.From, Text: "x"}, hosttrace.Line{T: c.after, Dir: hosttrace.Lifecycle, Text: c.outcome})}, c.in)
		if code != c.code || errs != c.message {
			t.Errorf("%s: exit code = %d, message = %q, want %d, %q", c.name, code, errs, c.code, c.message)
		}
	}
}

// TestLinesKeepOrder checks that each line of output is written after all recorded input before it
// was received, and not earlier.
func TestLinesKeepOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, ours := io.Pipe()
		theirs, out := io.Pipe()
		r := lines(hosttrace.Line{Dir: hosttrace.To, Text: "a"}, hosttrace.Line{Dir: hosttrace.From, Text: "1"}, hosttrace.Line{Dir: hosttrace.To, Text: ""},
			hosttrace.Line{Dir: hosttrace.To, Text: "c"}, hosttrace.Line{Dir: hosttrace.From, Text: "\xff2"})
		ended := make(chan int)
		go func() {
			ended <- Play(Options{Recording: r, Host: "A", Proc: 1, In: in, Out: out, Err: io.Discard})
		}()
		output := make(chan string, 8)
		go func() {
			b := make([]byte, 64)
			for {
				n, err := theirs.Read(b)
				if err != nil {
					return
				}
				output <- string(b[:n])
			}
		}()
		step := func(line, want string) {
			t.Helper()
			if _, err := io.WriteString(ours, line); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			got := ""
			if len(output) > 0 {
				got = <-output
			}
			if got != want {
				t.Errorf("output after the input %q = %q, want %q", line, got, want)
			}
		}
		step("", "")
		step("a\n", "1\n")
		step("\n", "")
		step("c\n", "\xff2\n")
		ours.Close()
		if code := <-ended; code != 0 {
			t.Errorf("exit code = %d, want 0", code)
		}
		out.Close()
	})
}

// TestTiming checks that the recorded delays before output are repeated.
func TestTiming(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		r := lines(hosttrace.Line{T: 5, Dir: hosttrace.Lifecycle, Text: "start"}, hosttrace.Line{T: 6, Dir: hosttrace.To, Text: "a"}, hosttrace.Line{T: 6.5, Dir: hosttrace.From, Text: "1"},
			hosttrace.Line{T: 9, Dir: hosttrace.Stderr, Text: "hm"}, hosttrace.Line{T: 9.25, Dir: hosttrace.Lifecycle, Text: "exit 0"})
		if code, out, errs := play(Options{Recording: r, Timing: true}, "a\n"); code != 0 || out != "1\n" || errs != "hm\n" {
			t.Errorf("exit code = %d, output = %q, standard error = %q, want 0, the line 1 and the line hm", code, out, errs)
		}
		if took := time.Since(began); took != 3250*time.Millisecond {
			t.Errorf("the replay took %v, want 3.25 s", took)
		}
	})
}

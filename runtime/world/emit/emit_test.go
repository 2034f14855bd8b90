package emit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/testkit/testhost"
)

// TestMain makes the test binary act as a scripted handler if it is started as one.
func TestMain(m *testing.M) {
	if os.Getenv("TESTHOST") != "" {
		os.Exit(testhost.Main(os.Args[1:]))
	}
	os.Exit(m.Run())
}

var bg = context.Background()

func perform(t *testing.T, s *Sink, r effect.Request) effect.Result {
	t.Helper()
	res, err := s.Perform(bg, r)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func finish(t *testing.T, s *Sink) {
	t.Helper()
	ctx, cancel := context.WithTimeout(bg, 2*time.Minute)
	defer cancel()
	if err := s.Close(ctx); err != nil {
		t.Fatal(err)
	}
}

func TestFormats(t *testing.T) {
	requests := []effect.Request{
		&effect.Emit{Channel: "s", Payload: json.RawMessage(`"plain text, \"quoted\"\n<&>é"`)},
		&effect.Emit{Channel: "raw", Payload: json.RawMessage(`"as it is"`)},
		&effect.Emit{Channel: "empty", Payload: json.RawMessage(`""`)},
		&effect.Emit{Channel: "n", Payload: json.RawMessage(`42`)},
		&effect.Emit{Channel: "f", Payload: json.RawMessage(`2.0`)},
		&effect.Emit{Channel: "m", Payload: json.RawMessage(`{"a":1,"b":["x","y"]}`)},
		&effect.Emit{Channel: "pipeline:thing", Payload: json.RawMessage(`null`)},
		&effect.Emit{Channel: "alone"},
		&effect.Emit{Channel: `a "b"`, Payload: json.RawMessage(`true`)},
		&effect.Print{Text: "no end, "},
		&effect.Print{Text: `said "x"`, Newline: true},
	}
	want := map[Mode]string{
		Text: `[s] plain text, "quoted"
  <&>é
[raw] as it is
[empty] 
[n] 42
[f] 2.0
[m] {"a":1,"b":["x","y"]}
[pipeline:thing] null
[alone]
[a "b"] true
no end, said "x"
`,
		NDJSON: `{"channel":"s","payload":"plain text, \"quoted\"\n<&>é"}
{"channel":"raw","payload":"as it is"}
{"channel":"empty","payload":""}
{"channel":"n","payload":42}
{"channel":"f","payload":2.0}
{"channel":"m","payload":{"a":1,"b":["x","y"]}}
{"channel":"pipeline:thing","payload":null}
{"channel":"alone","payload":null}
{"channel":"a \"b\"","payload":true}
{"channel":"print","payload":"no end, "}
{"channel":"print","payload":"said \"x\""}
`,
		None: "",
	}
	for name, mode := range Modes {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			s := New(Options{Mode: mode, Out: &out})
			for _, r := range requests {
				perform(t, s, r)
			}
			finish(t, s)
			if out.String() != want[mode] {
				t.Errorf("output:\n%s\nwant:\n%s", out.String(), want[mode])
			}
		})
	}
}

// TestEmitReachesReaderAtOnce checks that a reader receives an emit although no further output
// follows.
func TestEmitReachesReaderAtOnce(t *testing.T) {
	r, w := io.Pipe()
	s := New(Options{Out: w})
	perform(t, s, &effect.Emit{Channel: "a"})
	b := make([]byte, 100)
	n, err := r.Read(b)
	if err != nil || string(b[:n]) != "[a]\n" {
		t.Errorf("read %q (error %v), want \"[a]\\n\"", b[:n], err)
	}
	finish(t, s)
}

// TestBurstIsCompleteAndOrdered checks that a slow reader receives all output, in order.
func TestBurstIsCompleteAndOrdered(t *testing.T) {
	r, w := io.Pipe()
	s := New(Options{Out: w})
	const n = 50000
	var got []byte
	var reading sync.WaitGroup
	reading.Go(func() { got, _ = io.ReadAll(r) })
	var want bytes.Buffer
	for i := range n {
		perform(t, s, &effect.Emit{Channel: "i", Payload: json.RawMessage(fmt.Sprint(i))})
		fmt.Fprintf(&want, "[i] %d\n", i)
	}
	finish(t, s)
	w.Close()
	reading.Wait()
	if !bytes.Equal(got, want.Bytes()) {
		t.Errorf("the reader received other output: %d bytes, want %d", len(got), want.Len())
	}
}

// TestSlowReaderHoldsUpProgram checks that the program waits while too much output is unwritten,
// and that the end of its context ends the wait.
func TestSlowReaderHoldsUpProgram(t *testing.T) {
	r, w := io.Pipe()
	s := New(Options{Out: w})
	ctx, cancel := context.WithCancelCause(bg)
	stopped := errors.New("stopped")
	big := json.RawMessage(`"` + strings.Repeat("x", outputLimit/4) + `"`)
	time.AfterFunc(20*time.Millisecond, func() { cancel(stopped) })
	n := 0
	for {
		if _, err := s.Perform(ctx, &effect.Emit{Channel: "c", Payload: big}); err != nil {
			if err != stopped {
				t.Errorf("Emit while too much is unwritten: error %v, want the context's cause", err)
			}
			break
		}
		if n++; n > 20 {
			t.Fatal("20 emits of a quarter of the limit were accepted without a reader")
		}
	}
	go io.Copy(io.Discard, r)
	finish(t, s)
}

func TestBrokenPipe(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	r.Close()
	s := New(Options{Out: w})
	perform(t, s, &effect.Emit{Channel: "a"})
	if err := s.Flush(bg); err != ErrNoReader {
		t.Errorf("Flush: error %v, want ErrNoReader", err)
	}
	if _, err := s.Perform(bg, &effect.Emit{Channel: "b"}); err != ErrNoReader {
		t.Errorf("Emit: error %v, want ErrNoReader", err)
	}
	if err := s.Close(bg); err != ErrNoReader {
		t.Errorf("Close: error %v, want ErrNoReader", err)
	}
}

// TestCloseDoesNotHangOnReader checks that Close discards unread output when its context ends.
func TestCloseDoesNotHangOnReader(t *testing.T) {
	r, w := io.Pipe()
	s := New(Options{Out: w})
	perform(t, s, &effect.Emit{Channel: "a"})
	ctx, cancel := context.WithCancel(bg)
	cancel()
	if err := s.Close(ctx); err != context.Canceled {
		t.Errorf("Close: error %v, want context.Canceled", err)
	}
	r.Close()
}

func wantEmitError(t *testing.T, err error, reason string, parts ...string) {
	t.Helper()
	var e *effect.Error
	if !errors.As(err, &e) || e.Kind != "EmitError" {
		t.Fatalf("error = %v, want an EmitError", err)
	}
	if e.Fields["reason"] != reason || e.Fields["channel"] == "" {
		t.Errorf("fields = %v, want reason %s", e.Fields, reason)
	}
	for _, p := range parts {
		if !strings.Contains(e.Message, p) {
			t.Errorf("message %q does not contain %q", e.Message, p)
		}
	}
}

func TestEmitWithoutHandlerFails(t *testing.T) {
	var out bytes.Buffer
	s := New(Options{Out: &out})
	_, err := s.Perform(bg, &effect.AwaitEmit{Channel: "ask", Payload: json.RawMessage(`1`)})
	wantEmitError(t, err, "no_listener", "channel 'ask'", "--answer ask=VALUE", "--emit-handler")
	finish(t, s)
	if out.String() != "[ask] 1\n" {
		t.Errorf("output = %q, want the emit", out.String())
	}
}

type scripted struct {
	asked   []string
	answers []string
}

func (p *scripted) Ask(_ context.Context, channel string) (string, error) {
	p.asked = append(p.asked, channel)
	if len(p.answers) == 0 {
		return "", io.EOF
	}
	a := p.answers[0]
	p.answers = p.answers[1:]
	return a, nil
}

func answered(t *testing.T, s *Sink, channel, want string) {
	t.Helper()
	a := perform(t, s, &effect.AwaitEmit{Channel: channel, Payload: json.RawMessage(`{"q":1}`)}).(*effect.Answer)
	if string(a.Value) != want {
		t.Errorf("answer on channel %s = %s, want %s", channel, a.Value, want)
	}
}

func TestAnswersGoFirst(t *testing.T) {
	p := &scripted{answers: []string{`typed "it"`}}
	s := New(Options{Out: io.Discard, Prompter: p, Answers: []Fixed{{Channel: "a", Value: "first"}, {Channel: "b", Value: "=x=y"}, {Channel: "a", Value: "last"}}})
	answered(t, s, "a", `"last"`)
	answered(t, s, "a", `"last"`)
	answered(t, s, "b", `"=x=y"`)
	answered(t, s, "c", `"typed \"it\""`)
	_, err := s.Perform(bg, &effect.AwaitEmit{Channel: "d"})
	wantEmitError(t, err, "no_listener", "'d'", "the input of the terminal was closed")
	finish(t, s)
	if strings.Join(p.asked, " ") != "c d" {
		t.Errorf("prompted channels = %q, want c and d", p.asked)
	}
}

// withHandler returns a Sink whose handler plays the script, and a function that reads a file of
// the handler.
func withHandler(t *testing.T, script string, o Options) (*Sink, func(string) string) {
	dir := t.TempDir()
	file := filepath.Join(dir, "answers.host")
	if err := os.WriteFile(file, []byte(script), 0o644); err != nil {
		t.Fatal(err)
	}
	o.Handler = "'" + os.Args[0] + "' '" + file + "'"
	o.Environ = append(os.Environ(), "TESTHOST=1")
	if o.Out == nil {
		o.Out = io.Discard
	}
	s := New(o)
	t.Cleanup(func() {
		finish(t, s)
		if b, err := os.ReadFile(file + ".fail"); err == nil {
			t.Errorf("the handler reported: %s", b)
		}
	})
	return s, func(name string) string {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return ""
		}
		return string(b)
	}
}

func TestHandler(t *testing.T) {
	var out bytes.Buffer
	s, file := withHandler(t, `
> {"channel":"a","payload":{"q":1}}
< {"value":{"id":4,"extra":[1]}}
> {"channel":"a","payload":{"q":1}}
< {"value":null}
> {"channel":"refused","payload":null}
< {"error":"not today"}
> {"channel":"odd","payload":null}
< [1]
> {"channel":"none","payload":null}
< {}
`, Options{Out: &out, Mode: NDJSON, Prompter: &scripted{}})
	if file("answers.host.spawns") != "" {
		t.Error("the handler was started before the first awaited emit")
	}
	answered(t, s, "a", `{"id":4,"extra":[1]}`)
	answered(t, s, "a", `null`)
	_, err := s.Perform(bg, &effect.AwaitEmit{Channel: "refused"})
	wantEmitError(t, err, "refused", "not today")
	_, err = s.Perform(bg, &effect.AwaitEmit{Channel: "odd"})
	wantEmitError(t, err, "refused", `{"value":…}`, "[1]")
	_, err = s.Perform(bg, &effect.AwaitEmit{Channel: "none"})
	wantEmitError(t, err, "refused", "{}")
	if n := strings.Count(file("answers.host.spawns"), "\n"); n != 1 {
		t.Errorf("the handler was started %d times, want once", n)
	}
	if n := strings.Count(out.String(), "\n"); n != 5 {
		t.Errorf("%d lines were printed, want one for each emit", n)
	}
}

func TestFixedAnswerSparesHandler(t *testing.T) {
	s, file := withHandler(t, "exit 1\n", Options{Answers: []Fixed{{Channel: "a", Value: "x"}}})
	answered(t, s, "a", `"x"`)
	if file("answers.host.spawns") != "" {
		t.Error("the handler was started although the answer is predefined")
	}
}

func TestHandlerDies(t *testing.T) {
	s, _ := withHandler(t, `
read
stderr first
stderr no key
exit 3
--- spawn
read
< {"value":"again"}
`, Options{})
	_, err := s.Perform(bg, &effect.AwaitEmit{Channel: "a"})
	wantEmitError(t, err, "no_listener", "exited without an answer", "exit code 3", "no key")
	answered(t, s, "a", `"again"`)
}

// TestExitedHandlerIsRestarted uses a handler that answers once and exits. It must be started again
// for each emit, also if the next emit arrives before the exit is noticed.
func TestExitedHandlerIsRestarted(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux reports what a process has not read")
	}
	s := New(Options{Out: io.Discard, Handler: `read -r line; echo '{"value":"once"}'`, Environ: os.Environ()})
	for range 20 {
		answered(t, s, "a", `"once"`)
	}
	finish(t, s)
}

func TestHandlerCannotBeFound(t *testing.T) {
	s := New(Options{Out: io.Discard, Handler: "no-such-program-here", Environ: os.Environ()})
	_, err := s.Perform(bg, &effect.AwaitEmit{Channel: "a"})
	wantEmitError(t, err, "no_listener", "no-such-program-here", "exit code 127", "not found")
	finish(t, s)
}

// TestAnswersArriveInOrder lets several tasks wait for answers and cancels one of them. The
// cancelled task's answer must not reach another task.
func TestAnswersArriveInOrder(t *testing.T) {
	up := make(chan string, 1)
	s, _ := withHandler(t, `
> {"channel":"slow","payload":null}
stderr up
await go
< {"value":"for slow"}
> {"channel":"next","payload":null}
< {"value":"for next"}
`, Options{Log: func(l string) { up <- l }})
	ctx, cancel := context.WithCancelCause(bg)
	gaveUp := errors.New("gave up")
	done := make(chan error)
	go func() {
		_, err := s.Perform(ctx, &effect.AwaitEmit{Channel: "slow"})
		done <- err
	}()
	if l := <-up; l != "up" {
		t.Fatalf("the handler reported %q, want up", l)
	}
	cancel(gaveUp)
	if err := <-done; err != gaveUp {
		t.Errorf("cancelled emit: error %v, want the context's cause", err)
	}
	go func() {
		a, err := s.Perform(bg, &effect.AwaitEmit{Channel: "next"})
		if err == nil && string(a.(*effect.Answer).Value) != `"for next"` {
			err = fmt.Errorf("answer %s", a.(*effect.Answer).Value)
		}
		done <- err
	}()
	dir := filepath.Dir(strings.Trim(strings.Fields(s.handler.command)[1], "'"))
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestStubbornHandlerIsEnded checks that a handler that ignores SIGTERM and the end of its input is
// killed when the context of Close ends.
func TestStubbornHandlerIsEnded(t *testing.T) {
	s, file := withHandler(t, "ignore-sigterm\nspawn-grandchild child ignore-sigterm\nread\n< {\"value\":1}\nhang\n", Options{})
	answered(t, s, "a", "1")
	ctx, cancel := context.WithCancel(bg)
	cancel()
	s.Close(ctx)
	pid := strings.TrimSpace(file("child"))
	if stat, err := os.ReadFile("/proc/" + pid + "/stat"); err == nil && !strings.Contains(string(stat), ") Z ") {
		t.Errorf("the handler's child process %s is still running", pid)
	}
}

func TestTerminal(t *testing.T) {
	in, typed := io.Pipe()
	var out bytes.Buffer
	term := NewTerminal(in, &out)
	go typed.Write([]byte("yes, please\r\nlate\n"))
	if a, err := term.Ask(bg, "human:approval"); a != "yes, please" || err != nil {
		t.Errorf("first answer = %q (error %v), want \"yes, please\"", a, err)
	}
	if a, err := term.Ask(bg, "second"); a != "late" || err != nil {
		t.Errorf("second answer = %q (error %v), want late", a, err)
	}
	ctx, cancel := context.WithCancelCause(bg)
	gaveUp := errors.New("gave up")
	cancel(gaveUp)
	if _, err := term.Ask(ctx, "third"); err != gaveUp {
		t.Errorf("cancelled question: error %v, want the context's cause", err)
	}
	typed.Close()
	if _, err := term.Ask(bg, "fourth"); err != io.EOF {
		t.Errorf("question after the end of the input: error %v, want io.EOF", err)
	}
	if !strings.HasPrefix(out.String(), "human:approval> second> ") {
		t.Errorf("prompts = %q, want the channel and \"second\"", out.String())
	}
}

func BenchmarkEmit(b *testing.B) {
	r, w, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	go io.Copy(io.Discard, r)
	s := New(Options{Out: w, Mode: NDJSON})
	e := &effect.Emit{Channel: "progress", Payload: json.RawMessage(`{"message":"working on it","i":12345}`)}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Perform(bg, e); err != nil {
			b.Fatal(err)
		}
	}
	s.Close(bg)
	w.Close()
}

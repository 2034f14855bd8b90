//go:build unix

package keeper_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	// the keeper starts the test binary as its guard
	_ "github.com/concerto-lang/concerto/internal/process/guard"
	"github.com/concerto-lang/concerto/internal/testkit/testproc"
	"github.com/concerto-lang/concerto/internal/text/ndjson"
	"github.com/concerto-lang/concerto/runtime/keeper"
)

// TestMain makes the test binary act as the keeper or as a host if it is started as one.
func TestMain(m *testing.M) {
	switch {
	case os.Getenv("KEEPER") != "":
		if file := os.Getenv("KILLED_ONCE"); file != "" {
			if f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL, 0o600); err == nil {
				f.Close()
				_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			}
		}
		if d, err := time.ParseDuration(os.Getenv("RELEASE_TIMEOUT")); err == nil {
			keeper.SetReleaseTimeout(d)
		}
		if err := keeper.Main(os.Stdin, os.Stdout, os.Stderr, nil); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	case os.Getenv("CLIENT") != "":
		beClient()
	case os.Getenv("HOST") != "":
		beHost()
	default:
		os.Exit(m.Run())
	}
}

// beHost is the main function of the host. It follows the instruction in each input line: `say
// TEXT`, `many N TEXT`, `long N SIZE`, `err TEXT`, `env NAME` or `exit N`.
func beHost() {
	out := bufio.NewWriter(os.Stdout)
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		word, rest, _ := strings.Cut(in.Text(), " ")
		var n int
		switch word {
		case "say":
			fmt.Fprintln(out, rest)
		case "many":
			var text string
			fmt.Sscan(rest, &n, &text)
			for i := range n {
				fmt.Fprintln(out, i, text)
			}
		case "long":
			var size int
			fmt.Sscan(rest, &n, &size)
			for i := range n {
				fmt.Fprintln(out, i, strings.Repeat("x", size))
			}
		case "err":
			fmt.Fprintln(os.Stderr, rest)
		case "env":
			fmt.Fprintln(out, os.Getenv(rest))
		case "exit":
			out.Flush()
			fmt.Sscan(rest, &n)
			os.Exit(n)
		}
		out.Flush()
	}
}

// beClient is the main function of a client in another process. It prints the lines of the process
// and then acknowledges them.
func beClient() {
	var owner int64
	fmt.Sscan(os.Getenv("CLIENT"), &owner)
	c := keeper.New(keeper.Options{Dir: os.Getenv("RUN_DIR"), Run: "r_test", Owner: owner, Executable: os.Args[0]})
	_, err := c.Attach()
	var a *keeper.Conn
	if err == nil {
		a, err = c.Connect(keeper.ID{Host: "worker", K: 1}, 0, 0, nil)
	}
	for err == nil {
		var l ndjson.Line
		if l, err = a.ReadLine(); err == nil {
			fmt.Printf("%s\n", l.Text)
			a.AckSoon(l.Number)
		}
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// patience limits each wait. It is longer than any step takes.
const patience = 2 * time.Minute

// client returns a client for the keeper of a run. The keeper is ended at the end of the test.
func client(t *testing.T, dir string, owner int64, change ...func(*keeper.Options)) *keeper.Client {
	t.Helper()
	o := keeper.Options{Dir: dir, Run: "r_test", Owner: owner, Executable: os.Args[0], Env: []string{"KEEPER=1"}, Orphan: patience}
	for _, f := range change {
		f(&o)
	}
	return keeper.New(o)
}

func start(t *testing.T, c *keeper.Client, k int64, env ...string) *keeper.Conn {
	t.Helper()
	conn, err := c.Start(keeper.Spec{ID: keeper.ID{Host: "worker", K: k}, Path: os.Args[0], Env: append([]string{"HOST=1"}, env...)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// sendLine sends a line to a process.
func sendLine(t *testing.T, c *keeper.Conn, kind keeper.Kind, line string) {
	t.Helper()
	line += "\n"
	if _, err := c.Write(append(c.Frame(kind, 0, []byte(line), nil, len(line)), line...)); err != nil {
		t.Fatal(err)
	}
}

func expectLines(t *testing.T, c *keeper.Conn, want ...string) {
	t.Helper()
	for _, w := range want {
		l, err := c.ReadLine()
		if err != nil || string(l.Text) != w {
			t.Fatalf("line = %q (error %v), want %q", l.Text, err, w)
		}
	}
}

// until polls until ok returns true. It is used for events in another process that are not
// reported.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("timed out waiting until %s", what)
		}
	}
}

// awaitExit waits for the exit of processes that are not children of the test.
func awaitExit(t *testing.T, pids ...int) {
	t.Helper()
	if left, err := testproc.AwaitExit(patience, pids...); err != nil || len(left) > 0 {
		t.Fatalf("processes %v are still running (error %v)", left, err)
	}
}

// TestNextOwnerContinuesOutput lets a second client take over a run. It must receive the output
// that the first client has not journaled, in order. No frame may reach the process twice, and the
// first client must be refused.
func TestNextOwnerContinuesOutput(t *testing.T) {
	dir := t.TempDir()
	first := client(t, dir, 1)
	a := start(t, first, 1)
	sendLine(t, a, keeper.KindBegin, "many 5 x")
	expectLines(t, a, "0 x", "1 x", "2 x")
	a.Ack(2)
	if n := a.BytesSent(); n < int64(len("0 x\n")*3) {
		t.Errorf("BytesSent = %d, want at least 12", n)
	}
	sendLine(t, a, keeper.KindSent, "say once")
	second := client(t, dir, 2)
	all, err := second.Attach()
	if err != nil || len(all) != 1 || all[0].Exit != nil || all[0].Accepted != 2 || second.Last("worker") != 1 {
		t.Fatalf("processes = %+v (error %v), want one running process with 2 accepted frames", all, err)
	}
	b, err := second.Connect(keeper.ID{Host: "worker", K: 1}, 0, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	if s := b.Opened().Script; len(s) != 2 || s[0].Kind != keeper.KindBegin || string(s[1].Note) != "say once\n" {
		t.Errorf("script = %+v, want the begin frame and the note", s)
	}
	expectLines(t, b, "2 x", "3 x", "4 x", "once")
	if l, err := a.ReadLine(); !errors.Is(err, keeper.ErrLost) && string(l.Text) != "3 x" {
		t.Errorf("the previous owner read %q (error %v), want ErrLost", l.Text, err)
	}
	if _, err := client(t, dir, 1).Attach(); !errors.Is(err, keeper.ErrFenced) {
		t.Errorf("Attach by the previous owner: error %v, want ErrFenced", err)
	}
	if b2 := start(t, second, 1); b2.Opened().PID != b.Opened().PID {
		t.Error("the process was started twice")
	}
	if err := second.End(); err != nil {
		t.Fatal(err)
	}
	awaitExit(t, all[0].PID)
	if _, err := client(t, dir, 3).Attach(); !errors.Is(err, keeper.ErrNone) {
		t.Errorf("Attach after End: error %v, want ErrNone", err)
	}
}

// TestKeeperExitsWithoutClient checks that a keeper without a client exits after its last host. The
// output and the exit of the host must remain available in files.
func TestKeeperExitsWithoutClient(t *testing.T) {
	dir := t.TempDir()
	const secret = "s3cr3t-value"
	with := func(o *keeper.Options) { o.Secrets = []keeper.Secret{{Name: "API_KEY", Value: secret}} }
	first := client(t, dir, 1, with)
	a := start(t, first, 1, "KEY="+secret)
	pid := a.Opened().PID
	sendLine(t, a, keeper.KindBegin, "env KEY")
	expectLines(t, a, secret)
	sendLine(t, a, keeper.KindSent, "say «secret:API_KEY»")
	expectLines(t, a, "«secret:API_KEY»")
	sendLine(t, a, keeper.KindSent, "err it was "+secret)
	sendLine(t, a, keeper.KindSent, "say last")
	expectLines(t, a, "last")
	sendLine(t, a, keeper.KindSent, "exit 7")
	first.Leave()
	if _, err := a.ReadLine(); !errors.Is(err, keeper.ErrLeft) && err != io.EOF {
		t.Errorf("ReadLine after Leave: error %v, want ErrLeft", err)
	}
	awaitExit(t, pid)
	until(t, "the keeper is gone", func() bool {
		_, err := os.Stat(filepath.Join(dir, "keeper.json"))
		return os.IsNotExist(err)
	})
	until(t, "the end is written", func() bool {
		all, err := keeper.Processes(dir)
		return err == nil && len(all) == 1
	})
	if err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if text, e := os.ReadFile(path); e == nil && strings.Contains(string(text), secret) {
			t.Errorf("file %s contains a secret", path)
		}
		if err == nil && info.Mode().IsRegular() && info.Mode().Perm() != 0o600 {
			t.Errorf("mode of file %s = %o, want 600", path, info.Mode().Perm())
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	second := client(t, dir, 2, with)
	all, err := second.Attach()
	if !errors.Is(err, keeper.ErrNone) || len(all) != 1 || all[0].Exit == nil {
		t.Fatalf("processes = %+v (error %v), want one that has exited and ErrNone", all, err)
	}
	b, err := second.Connect(all[0].ID, 1, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	expectLines(t, b, secret, "«secret:API_KEY»", "last")
	if _, err := b.ReadLine(); err != io.EOF {
		t.Errorf("ReadLine after the last line: error %v, want EOF", err)
	}
	if e := b.Exit(); e.Code != 7 || e.Stderr != "it was "+secret {
		t.Errorf("exit = %+v, want code 7 and the standard error", e)
	}
}

// TestKeeperKilled kills a keeper. Its hosts must be killed too, the client must report them as
// lost, and the next Start must start a new keeper.
func TestKeeperKilled(t *testing.T) {
	dir := t.TempDir()
	c := client(t, dir, 1)
	a := start(t, c, 1)
	host := a.Opened().PID
	sendLine(t, a, keeper.KindBegin, "say here")
	expectLines(t, a, "here")
	pid := keeperOf(t, dir)
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if _, err := a.ReadLine(); !errors.Is(err, keeper.ErrLost) {
		t.Errorf("ReadLine after the keeper was killed: error %v, want ErrLost", err)
	}
	<-a.Done()
	awaitExit(t, host)
	a.End(time.Second, nil)
	b := start(t, c, 2)
	sendLine(t, b, keeper.KindBegin, "say again")
	expectLines(t, b, "again")
	if err := c.End(); err != nil {
		t.Fatal(err)
	}
}

// TestOrphans checks that the keeper ends its hosts if no client connects within the orphan time.
func TestOrphans(t *testing.T) {
	dir := t.TempDir()
	c := client(t, dir, 1, func(o *keeper.Options) { o.Orphan = 50 * time.Millisecond })
	a := start(t, c, 1)
	pid := a.Opened().PID
	c.Leave()
	awaitExit(t, pid)
	until(t, "its end is written", func() bool {
		all, _ := keeper.Processes(dir)
		return len(all) == 1 && all[0].Exit != nil && all[0].Exit.Signal != ""
	})
}

// TestUnjournaled checks that the keeper reads at most 64 MiB of output of a host that is not
// journaled.
func TestUnjournaled(t *testing.T) {
	dir := t.TempDir()
	c := client(t, dir, 1)
	a := start(t, c, 1)
	const lines, length = 2100, 32 << 10 // 66 MiB
	sendLine(t, a, keeper.KindBegin, fmt.Sprint("many ", lines, " ", strings.Repeat("x", length)))
	read := func(n int) {
		t.Helper()
		for range n {
			if _, err := a.ReadLine(); err != nil {
				t.Fatal(err)
			}
		}
	}
	spooled := func() int64 {
		info, err := os.Stat(filepath.Join(dir, "hosts", "worker.1", "out"))
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	read(64 << 20 / (length + 6)) // as much as the keeper reads without an acknowledgement
	until(t, "it waits", func() bool { return spooled() >= 64<<20 })
	if n := spooled(); n > 64<<20+1<<20 {
		t.Errorf("%d unjournaled bytes were stored, want at most 65 MiB", n)
	}
	a.Ack(100)
	read(lines - 64<<20/(length+6))
	if err := c.End(); err != nil {
		t.Fatal(err)
	}
}

// TestEndsUnjournaled checks that the output of an exited process is complete, even if more of it
// is unjournaled than a running process may have.
func TestEndsUnjournaled(t *testing.T) {
	dir := t.TempDir()
	c := client(t, dir, 1)
	a := start(t, c, 1)
	sendLine(t, a, keeper.KindBegin, fmt.Sprint("many ", 3000, " ", strings.Repeat("x", 32<<10)))
	size := int64(0)
	for size <= 64<<20 {
		l, err := a.ReadLine()
		if err != nil {
			t.Fatal(err)
		}
		size += int64(len(l.Text)) + 1
	}
	a.End(0, nil)
	toEnd(t, a)
	if err := c.End(); err != nil {
		t.Fatal(err)
	}
}

// toEnd reads the rest of the output and returns the number of its lines.
func toEnd(t *testing.T, a *keeper.Conn) (lines int) {
	t.Helper()
	defer time.AfterFunc(patience, a.Interrupt).Stop()
	for {
		switch _, err := a.ReadLine(); err {
		case nil:
			lines++
		case io.EOF:
			return lines
		default:
			t.Fatal(err)
		}
	}
}

// TestDrop checks that a client can discard the rest of a process's output without reading it.
func TestDrop(t *testing.T) {
	dir := t.TempDir()
	c := client(t, dir, 1)
	a := start(t, c, 1)
	const lines = 1000
	sendLine(t, a, keeper.KindBegin, fmt.Sprint("many ", lines, " ", strings.Repeat("x", 32<<10)))
	if _, err := a.ReadLine(); err != nil {
		t.Fatal(err)
	}
	a.End(0, nil)
	a.Drop()
	if n := toEnd(t, a); n > lines/10 {
		t.Errorf("%d lines were read after Drop, want at most 100", n)
	}
	b := start(t, c, 2)
	sendLine(t, b, keeper.KindBegin, "say here")
	expectLines(t, b, "here")
	if err := c.End(); err != nil {
		t.Fatal(err)
	}
}

// TestLongPath checks that the path of the run's directory may be longer than the path of a Unix
// socket.
func TestLongPath(t *testing.T) {
	dir := filepath.Join(t.TempDir(), strings.Repeat("long", 40))
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	c := client(t, dir, 1)
	a := start(t, c, 1)
	sendLine(t, a, keeper.KindBegin, "say here")
	expectLines(t, a, "here")
	if err := c.End(); err != nil {
		t.Fatal(err)
	}
}

// TestKilledClientIsDetected sends frames and leaves while no client reads the host's output. The
// keeper must still accept the frames.
func TestKilledClientIsDetected(t *testing.T) {
	dir := t.TempDir()
	first := client(t, dir, 1)
	a := start(t, first, 1)
	sendLine(t, a, keeper.KindBegin, "many 100000 flood") // no one reads it, so the keeper waits
	expectLines(t, a, "0 flood")
	pid := keeperOf(t, dir)
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	const frames = 1000
	var all []byte
	for range frames { // together smaller than the buffer of a socket
		line := "say " + strings.Repeat("x", 60) + "\n"
		all = append(append(all, a.Frame(keeper.KindSent, 0, nil, nil, len(line))...), line...)
	}
	if _, err := a.Write(all); err != nil {
		t.Fatal(err)
	}
	first.Leave()
	if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	second := client(t, dir, 2)
	attached, err := second.Attach()
	if err != nil || len(attached) != 1 {
		t.Fatalf("processes = %+v (error %v), want one", attached, err)
	}
	if b, err := second.Connect(attached[0].ID, 0, 0, nil); err != nil || b.Opened().Accepted != 1+frames {
		t.Errorf("the keeper accepted %d frames, want %d (error %v)", b.Opened().Accepted, 1+frames, err)
	}
	if err := second.End(); err != nil {
		t.Fatal(err)
	}
}

// keeperOf returns the process ID of the keeper.
func keeperOf(t *testing.T, dir string) (pid int) {
	t.Helper()
	text, _ := os.ReadFile(filepath.Join(dir, "keeper.json"))
	if _, rest, ok := strings.Cut(string(text), `"pid":`); ok {
		fmt.Sscan(strings.TrimRight(rest, "}\n"), &pid)
	}
	if pid == 0 {
		t.Fatalf("keeper.json = %s, want a pid", text)
	}
	return pid
}

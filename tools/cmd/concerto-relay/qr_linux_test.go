package main_test

import (
	"image"
	"image/color"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/creack/pty"
	goqr "github.com/piglig/go-qr"

	"github.com/concerto-lang/concerto/internal/testkit/testproc"
)

// screen is a terminal that collects what is written to it.
type screen struct {
	*os.File // the command's side
	mu       sync.Mutex
	text     strings.Builder
	grown    chan struct{}
}

func openScreen(t *testing.T, cols, rows uint16) *screen {
	t.Helper()
	ours, theirs, err := pty.Open()
	if err == nil {
		err = pty.Setsize(ours, &pty.Winsize{Cols: cols, Rows: rows})
	}
	if err != nil {
		t.Fatal(err)
	}
	s := &screen{File: theirs, grown: make(chan struct{}, 1)}
	go func() {
		defer close(s.grown)
		b := make([]byte, 4096)
		for {
			n, err := ours.Read(b)
			s.mu.Lock()
			s.text.Write(b[:n])
			s.mu.Unlock()
			if err != nil {
				return
			}
			select {
			case s.grown <- struct{}{}:
			default:
			}
		}
	}()
	t.Cleanup(func() { _ = theirs.Close(); _ = ours.Close() })
	return s
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.ReplaceAll(s.text.String(), "\r\n", "\n")
}

// await waits until the terminal shows a match of the pattern, and returns it.
func (s *screen) await(t *testing.T, pattern string) string {
	t.Helper()
	find := regexp.MustCompile(pattern)
	for {
		if found := find.FindString(s.String()); found != "" {
			return found
		}
		if _, open := <-s.grown; !open {
			t.Fatalf("the terminal shows no %s:\n%s", pattern, s)
		}
	}
}

// scan decodes the QR code among the lines of a terminal, and returns its text and its number of
// lines. It returns "" if there is none. A camera sees the halves of each character as modules.
func scan(t *testing.T, shown string, light, dark string) (text string, lines int) {
	t.Helper()
	const scale = 4 // pixels of a module
	var modules [][]bool
	for line := range strings.Lines(shown) {
		line = strings.TrimSuffix(line, "\n")
		row, isCode := strings.CutSuffix(strings.TrimPrefix(line, light), dark)
		if !isCode || strings.Trim(row, "█▀▄ ") != "" || len(row) < 20 {
			continue
		}
		var upper, lower []bool
		for _, c := range row {
			upper, lower = append(upper, c == ' ' || c == '▄'), append(lower, c == ' ' || c == '▀')
		}
		modules = append(modules, upper, lower)
		lines++
	}
	if lines == 0 {
		return "", 0
	}
	img := image.NewGray(image.Rect(0, 0, len(modules[0])*scale, len(modules)*scale))
	for y := range img.Rect.Max.Y {
		for x := range img.Rect.Max.X {
			if !modules[y/scale][x/scale] {
				img.SetGray(x, y, color.Gray{Y: 255})
			}
		}
	}
	text, err := goqr.Decode(img)
	if err != nil {
		t.Fatalf("the QR code cannot be read: %v\n%s", err, shown)
	}
	return text, lines
}

const (
	coloured = "\x1b[97;40m"
	reset    = "\x1b[0m"
)

// TestQRCode reads the QR codes of the links that serve, pair and token print. Each must contain
// the printed link. No code is printed with --no-qr, without a terminal, and on a terminal that is
// too small. TERM=dumb and NO_COLOR print it without colours.
func TestQRCode(t *testing.T) {
	t.Parallel()
	exe, err := testproc.Relay()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	command := func(env string, args ...string) *exec.Cmd {
		c := exec.Command(exe, args...)
		c.Dir, c.Env = dir, append(os.Environ(), "HOME="+dir, "XDG_CONFIG_HOME=", "XDG_STATE_HOME=", "TERM=xterm", "NO_COLOR=", env)
		return c
	}
	// until starts a command on a terminal of a size, waits until the terminal shows a match of the
	// pattern, and returns what it shows.
	until := func(cols, rows uint16, pattern string, c *exec.Cmd) (string, string) {
		t.Helper()
		s := openScreen(t, cols, rows)
		c.Stdout, c.Stderr = s.File, s.File
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
		return s.await(t, pattern), s.String()
	}
	serve := func(db string, more ...string) []string {
		return append([]string{"serve", "--listen", "127.0.0.1:0", "--db", "sqlite:" + db, "--tofu", "on"}, more...)
	}
	link := regexp.MustCompile(`https?://\S+`)
	ready, shown := until(120, 50, `the relay serves http\S+`, command("", serve("relay.db")...))
	server := link.FindString(ready)
	text, lines := scan(t, shown, coloured, reset)
	if want := link.FindString(shown); text != want || !strings.HasPrefix(text, server+"/setup#") || lines > 23 {
		t.Errorf("the code of %d lines contains %q, want %q in at most 23 lines", lines, text, want)
	}
	pair := func(more ...string) []string {
		return append([]string{"pair", "--server", server, "--state", t.TempDir()}, more...)
	}
	_, shown = until(120, 50, `(?s)FILE\n.*█\S*\n(\x1b\[97;40m█+\x1b\[0m\n){2}$`, command("", pair()...))
	if text, _ := scan(t, shown, coloured, reset); text != link.FindString(shown) || !strings.HasPrefix(text, server+"/#/hosts/pair?code=") {
		t.Errorf("pair: the code contains %q, want the link of\n%s", text, shown)
	}
	_, shown = until(120, 50, `concerto-relay pair confirm .*`, command("", pair("--no-qr")...))
	if text, lines := scan(t, shown, coloured, reset); lines != 0 {
		t.Errorf("--no-qr: code of %q", text)
	}
	add := command("", "user", "add", "ann", "--role", "owner", "--db", "sqlite:relay.db")
	add.Stdin = strings.NewReader("correct horse battery\n")
	if out, err := add.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for env, colours := range map[string][2]string{"": {coloured, reset}, "NO_COLOR=1": {}, "TERM=dumb": {}} {
		_, shown = until(80, 30, `(?m)^ct_\S+`, command(env, "token", "create", "--runs", "run_7", "--db", "sqlite:relay.db", "--public-url", "https://relay.example"))
		if text, lines := scan(t, shown, colours[0], colours[1]); text != link.FindString(shown) || !strings.HasPrefix(text, "https://relay.example/#/t/ct_") || lines > 25 {
			t.Errorf("%s: the code of %d lines contains %q, want the link of\n%s", env, lines, text, shown)
		}
	}
	for _, size := range [][2]uint16{{40, 50}, {120, 15}} {
		db := filepath.Join(t.TempDir(), "relay.db")
		if _, shown := until(size[0], size[1], `the relay serves http\S+`, command("", serve(db)...)); strings.Contains(shown, "█") || !strings.Contains(shown, "/setup#") {
			t.Errorf("terminal of %d columns and %d lines: output =\n%s", size[0], size[1], shown)
		}
	}
	c := command("", serve(filepath.Join(t.TempDir(), "relay.db"))...)
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 1)
	var all strings.Builder
	for !strings.Contains(all.String(), "the relay serves") {
		if _, err := io.ReadFull(out, b); err != nil {
			t.Fatal(err)
		}
		all.Write(b)
	}
	_ = c.Process.Kill()
	_ = c.Wait()
	if strings.Contains(all.String(), "█") || strings.Contains(all.String(), "\x1b") {
		t.Errorf("output without a terminal = %q", all.String())
	}
}

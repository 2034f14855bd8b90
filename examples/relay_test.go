package examples_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/concerto-lang/concerto/internal/testkit/testproc"
)

// walk executes the commands of the README in order, as a reader would.
type walk struct {
	*testing.T
	dir    string
	env    []string
	server string // the server's address, which replaces the README's
	token  string
	cursor string // cursor of the last received event
}

const documented = "https://desk.tail1234.ts.net"

// TestRelay runs the commands of the relay example's README.
func TestRelay(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("hostd needs Unix")
	}
	t.Parallel()
	w := newWalk(t)
	c := w.commands()
	if len(c) != 10 {
		t.Fatalf("the README has %d commands of the relay, want 10:\n%s", len(c), strings.Join(c, "\n"))
	}
	for i, want := range map[int]string{0: "go install ", 3: "concerto-relay run -- claude", 4: "concerto-relay serve --with-hostd --public-url " + documented} {
		if !strings.HasPrefix(c[i], want) { // a command that this test does not run
			t.Errorf("command %d is %q, not %q", i, c[i], want)
		}
	}
	w.setUp(w.daemon(c[1], `create the first owner \(it works once\): (\S+)`))
	ran := w.daemon(c[2], `(\[release\] .*)`)
	if want := "[release] Release 0.2? Runs can be followed and answered from anywhere."; ran != want {
		t.Errorf("the run printed %q, want %q", ran, want)
	}
	w.token = strings.TrimSpace(w.do(strings.TrimSuffix(c[7], " > token"), ""))
	if err := os.WriteFile(filepath.Join(w.dir, "token"), []byte(w.token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	run := w.asked("q1")
	w.holds(w.do(c[5], ""), run+"  awaiting_approval  concerto", "release 0.2", "asks: Release 0.2? Runs", "concerto-relay approve "+run+" q1\n")
	w.holds(w.do(of(run, c[6]), ""), "answered q1 with true: applied")
	w.asked("q2")
	w.holds(w.do(c[8], ""), run+"  awaiting_approval  concerto", `asks: When does 0.2 go out?  answer: "now" | "tonight"`, "concerto-relay approve "+run+" q2 --answer JSON --server "+w.server+" --token-file token\n")
	w.holds(w.do(of(run, c[9]), ""), "answered q2 with \"tonight\": ")
	w.holds(w.until("run.exited"), `"exit_code":0`)
	w.holds(w.do(c[8], ""), run+"  exited")
}

// setUp creates the owner's account, as the page at the printed link does.
func (w *walk) setUp(link string) {
	w.Helper()
	server, code, ok := strings.Cut(link, "/setup#")
	if !ok {
		w.Fatalf("setup link = %s, want one that contains /setup#", link)
	}
	w.server = server
	body := fmt.Sprintf(`{"code":%q,"username":"ann","password":"a password of ann's"}`, code)
	q, err := http.NewRequestWithContext(w.Context(), http.MethodPost, server+"/auth/setup", strings.NewReader(body))
	if err != nil {
		w.Fatal(err)
	}
	q.Header.Set("X-Concerto", "1")
	a, err := http.DefaultClient.Do(q)
	if err != nil || a.StatusCode != http.StatusOK {
		w.Fatalf("POST /auth/setup: response %v, error %v", a, err)
	}
	a.Body.Close()
}

func newWalk(t *testing.T) *walk {
	concerto, err := command()
	if err != nil {
		t.Fatal(err)
	}
	relay, err := testproc.Relay()
	if err != nil {
		t.Fatal(err)
	}
	home, err := os.MkdirTemp("", "relay") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(home) })
	examples, err := filepath.Abs(".")
	if err == nil {
		err = os.Symlink(examples, filepath.Join(home, "examples"))
	}
	if err != nil {
		t.Fatal(err)
	}
	w := &walk{T: t, dir: home, server: documented}
	w.env = append(os.Environ(), "HOME="+home, "PATH="+filepath.Dir(concerto)+":"+filepath.Dir(relay)+":"+os.Getenv("PATH"), "BIND_ADDR=127.0.0.1:0",
		"XDG_CONFIG_HOME=", "XDG_STATE_HOME=", "XDG_RUNTIME_DIR=", "CONCERTO_RELAY_SOCK=", "RELAY_HOSTD_SOCK=", "LOCAL_UNIX_SOCKET=")
	return w
}

var shell = regexp.MustCompile("(?s)```sh\n(.*?)```")

// commands returns the lines of the shell blocks in the last section of relay's README.
func (w *walk) commands() (all []string) {
	_, text, _ := strings.Cut(read(w.T, "relay", "README.md"), "\n## With a server")
	for _, block := range shell.FindAllStringSubmatch(text, -1) {
		all = append(all, strings.Split(strings.TrimSpace(block[1]), "\n")...)
	}
	return all
}

// of replaces RUN in a command line by the id of a run.
func of(run, line string) string { return strings.Replace(line, "RUN", run, 1) }

func (w *walk) cmd(line string) *exec.Cmd {
	line = strings.ReplaceAll(line, documented, w.server)
	c := exec.Command("sh", "-c", "exec "+line)
	c.Dir, c.Env = w.dir, w.env
	return c
}

// do runs a command, and returns its output.
func (w *walk) do(line, input string) string {
	w.Helper()
	c := w.cmd(line)
	c.Stdin = strings.NewReader(input)
	var errs strings.Builder
	c.Stderr = &errs
	out, err := c.Output()
	if err != nil {
		w.Fatalf("%s: %v\n%s%s", line, err, out, errs.String())
	}
	return string(out)
}

// daemon starts a command that runs until the end of the test. It returns the last group of the
// first match of the regular expression pattern in its output.
func (w *walk) daemon(line, pattern string) string {
	w.Helper()
	c := w.cmd(strings.TrimSuffix(line, " &"))
	r, out, err := os.Pipe()
	if err != nil {
		w.Fatal(err)
	}
	c.Stdout, c.Stderr = out, out
	err = c.Start()
	out.Close()
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { _ = c.Process.Signal(syscall.SIGTERM); _ = c.Wait(); r.Close() })
	seen := ""
	for lines := bufio.NewScanner(r); lines.Scan(); seen += lines.Text() + "\n" {
		if m := regexp.MustCompile(pattern).FindStringSubmatch(lines.Text()); m != nil {
			go io.Copy(io.Discard, r)
			return m[len(m)-1]
		}
	}
	w.Fatalf("command %s exited before a line of its output matched %q:\n%s", line, pattern, seen)
	return ""
}

// asked waits for the server's event about a permission request. It checks the request's id and
// returns the id of the run.
func (w *walk) asked(request string) string {
	w.Helper()
	var e struct {
		RunID string `json:"run_id"`
		Data  struct {
			RequestID string `json:"request_id"`
		} `json:"data"`
	}
	if err := json.Unmarshal([]byte(w.until("run.permission_requested")), &e); err != nil || e.Data.RequestID != request {
		w.Fatalf("request = %+v (error %v), want %s", e, err, request)
	}
	return e.RunID
}

// until waits for the server's next event of a type.
func (w *walk) until(typ string) string {
	w.Helper()
	for {
		q, err := http.NewRequestWithContext(w.Context(), http.MethodGet, w.server+"/events?rest=start&wait=30&limit=1&cursor="+url.QueryEscape(w.cursor), nil)
		if err != nil {
			w.Fatal(err)
		}
		q.Header.Set("Authorization", "Bearer "+w.token)
		var page struct {
			Events []json.RawMessage `json:"events"`
			Cursor map[string]int64  `json:"cursor"`
		}
		a, err := http.DefaultClient.Do(q)
		if err == nil {
			err = json.NewDecoder(a.Body).Decode(&page)
			a.Body.Close()
		}
		if err != nil || a.StatusCode != http.StatusOK {
			w.Fatalf("GET /events: response %v, error %v", a, err)
		}
		for run, seq := range page.Cursor {
			w.cursor = fmt.Sprintf("%s:%d", run, seq)
		}
		if len(page.Events) == 0 {
			w.Fatalf("no %s event arrived", typ)
		}
		if text := string(page.Events[0]); strings.Contains(text, `"type":"`+typ+`"`) {
			return text
		}
	}
}

func (w *walk) holds(text string, all ...string) {
	w.Helper()
	for _, part := range all {
		if !strings.Contains(text, part) {
			w.Errorf("%q is missing in:\n%s", part, text)
		}
	}
}

package editors_test

import (
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/editor/lsp/lsptest"
	"github.com/concerto-lang/concerto/internal/testkit/testproc"
)

// record makes the tests of editors record the messages that each editor sends to the language
// server.
var record = flag.Bool("record", false, "write what the editors say to the server into testdata/sessions")

const sessions = "testdata/sessions"

// TestRecordedSessions replays recorded sessions of real editors and checks that the server answers
// each request.
func TestRecordedSessions(t *testing.T) {
	all, err := filepath.Glob(filepath.Join(sessions, "*.ndjson"))
	if err != nil || len(all) < 3 {
		t.Fatal(all, err)
	}
	for _, path := range all {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".ndjson"), func(t *testing.T) {
			t.Parallel()
			replay(t, path)
		})
	}
}

// recordedMessage is a message that an editor has sent.
type recordedMessage struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params map[string]any  `json:"params"`
	Result any             `json:"result"`
}

func replay(t *testing.T, path string) {
	command, err := testproc.Command()
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), command, "lsp")
	c.Dir, c.Env = root, append(os.Environ(), "HOME="+root, "XDG_STATE_HOME=", "XDG_CACHE_HOME=")
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	s := &server{T: t, client: lsptest.New(in, out), answers: map[string]any{}, answered: map[string]bool{}}
	s.client.Patience, s.client.Answer = time.Minute, func(m *lsptest.Message) any { return s.answers[string(m.ID)] }
	open := map[string]string{} // methods of the unanswered requests by id
	var lines []string
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(strings.ReplaceAll(line, "/recorded/root", root))
		var m recordedMessage
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatal(err)
		}
		if m.Method == "" { // an answer to a request of the server
			s.answers[string(m.ID)] = m.Result
		} else {
			lines = append(lines, line)
		}
	}
	pulls := false // the editor pulls diagnostics
	for _, line := range lines {
		var m recordedMessage
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatal(err)
		}
		switch m.Method {
		case "initialize": // the recorded process of the editor no longer exists
			m.Params["processId"] = nil
			pulls = strings.Contains(line, `"diagnostic":{`)
			body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": m.ID, "method": m.Method, "params": m.Params})
			if err != nil {
				t.Fatal(err)
			}
			line = string(body)
		case "textDocument/didChange": // an editor that pulls diagnostics has received the error before it sent the fix
			s.until(func() bool { return s.notified })
		case "shutdown": // responses to earlier requests come before the response to shutdown
			s.until(func() bool { return s.hasAllAnswers(open) })
		}
		if m.ID != nil {
			open[string(m.ID)] = m.Method
		}
		s.send(line)
		if m.Method == "textDocument/didOpen" && !pulls { // the editor waited for the published diagnostics
			s.until(func() bool { return s.notified })
		}
	}
	s.until(func() bool { return s.hasAllAnswers(open) })
	_ = in.Close()
	_ = c.Wait() // an editor that was killed has sent no exit notification
	if !s.notified {
		t.Error("the server published no diagnostic for the error")
	}
}

// server is the server under test, together with the messages that it has sent.
type server struct {
	*testing.T
	client   *lsptest.Client
	answers  map[string]any // the editor's answers to requests of the server, by id
	answered map[string]bool
	notified bool
}

func (s *server) send(line string) {
	s.Helper()
	if err := s.client.Send([]byte(line)); err != nil {
		s.Fatal(err)
	}
}

// until reads messages until done returns true.
func (s *server) until(done func() bool) {
	s.Helper()
	if done() {
		return
	}
	if _, err := s.client.Until(func(m *lsptest.Message) bool { s.handleMessage(m); return done() }); err != nil {
		s.Fatalf("%v; answered requests: %v", err, s.answered)
	}
}

func (s *server) handleMessage(m *lsptest.Message) {
	s.notified = s.notified || strings.Contains(m.Text, "unknown name `")
	if m.Method == "" {
		s.answered[string(m.ID)] = true
		if m.Error != nil && m.Error.Code != -32800 && m.Error.Code != -32801 {
			s.Errorf("request %s failed: %v", m.ID, m.Error)
		}
	}
}

// hasAllAnswers reports whether all requests are answered.
func (s *server) hasAllAnswers(open map[string]string) bool {
	for id := range open {
		if !s.answered[id] {
			return false
		}
	}
	return true
}

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/concerto-lang/concerto/internal/agents"
	"github.com/concerto-lang/concerto/internal/record/hosttrace"
)

// TestRecordingsHideMachine checks that paths, ids and times in a recording are replaced. The
// replacements are the same on every machine and day, and one id always has the same replacement. A
// shortened line is still valid JSON.
func TestRecordingsHideMachine(t *testing.T) {
	long, err := json.Marshal(map[string]any{"list": []int{1, 2, 3, 4, 5}, "text": strings.Repeat("é", 4000), "n": json.Number("12345678901234567890")})
	if err != nil {
		t.Fatal(err)
	}
	r := &recording{hide: []hidden{{"/tmp/work-17", "/work"}, {"127.0.0.1:40123", "127.0.0.1:1"}}}
	const id = "0a1b2c3d-0000-4111-8222-0123456789ab"
	for _, line := range []string{
		`{"cwd":"/tmp/work-17/w","url":"http://127.0.0.1:40123/v1","id":"` + id + `"}`,
		`{"again":"` + id + `","other":"ses_abcdefghijkl","at":"2026-11-20T23:05:00.123Z","duration_ms":412,"created":1763683200.5,"pid":412}`,
		`{"path":"/home/x/2026/11/20/rollout-2026-11-20T23-05-00-a.jsonl","processId":"412"}`,
		string(long),
		strings.Repeat("no JSON ", 500),
	} {
		r.lines = append(r.lines, hosttrace.Line{Dir: hosttrace.From, Host: "Coder", Proc: 1, Session: id, Text: line})
	}
	lines := bytes.Split(bytes.TrimSpace(r.text(&agents.Agent{Package: "p", Version: "1.2.3"})), []byte("\n"))
	var got []string
	for i, l := range lines {
		var w struct{ Session, Line, Agent string }
		if err := json.Unmarshal(l, &w); err != nil {
			t.Fatalf("line %d: %v", i+1, err)
		}
		if i == 0 {
			if w.Agent != "p@1.2.3" {
				t.Errorf("the head of the recording names the agent %q", w.Agent)
			}
			continue
		}
		if w.Session != "00000000-0000-4000-8000-000000000001" {
			t.Errorf("line %d has the session %q", i+1, w.Session)
		}
		got = append(got, w.Line)
	}
	want := []string{
		`{"cwd":"/work/w","url":"http://127.0.0.1:1/v1","id":"00000000-0000-4000-8000-000000000001"}`,
		`{"again":"00000000-0000-4000-8000-000000000001","other":"ses_00000002","at":"2026-01-01T00:00:00.000Z","duration_ms":0,"created":0,"pid":0}`,
		`{"path":"/home/x/2026/01/01/rollout-2026-01-01T00-00-00-a.jsonl","processId":"0"}`,
		fmt.Sprintf(`{"list":[1,2,3],"n":12345678901234567890,"text":"%s…"}`, strings.Repeat("é", longText)),
		strings.Repeat("no JSON ", 500),
	}
	for i := range want {
		if i >= len(got) || got[i] != want[i] {
			t.Errorf("line %d: got\n%s\nwant\n%s", i+1, got[min(i, len(got)-1)], want[i])
		}
	}
}

// TestRecordingsAreClean checks that the stored recordings show nothing of the machine and the day
// of their recording.
func TestRecordingsAreClean(t *testing.T) {
	const dir = "../../../runtime/host/adapter/testdata/wire"
	want := []string{filepath.Join(dir, "codex-steer-refused.wire")} // codex-steer with an answer that refuses the message
	for _, a := range agents.Table() {
		for _, s := range agents.Recorded(&a) {
			want = append(want, filepath.Join(dir, s.Name+".wire"))
		}
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.wire"))
	if slices.Sort(want); err != nil || !slices.Equal(files, want) {
		t.Fatalf("recordings: %v (error %v), want %v", files, err, want)
	}
	strange := regexp.MustCompile(`concerto-conform-\d|/root\b|/home/[^u]|/tmp/[a-zA-Z]|localhost|registry|npmjs|proxy|127\.0\.0\.1:\d\d|pid\W+[1-9]|(20\d\d[-/]\d\d[-/]\d\d)|sk-\w`)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range strange.FindAllIndex(text, -1) {
			found := strings.ReplaceAll(string(text[at[0]:at[1]]), "/", "-")
			if found != "2026-01-01" && found != "2025-11-25" { // the second date is a version of MCP
				t.Errorf("%s contains %q: …%s…", filepath.Base(file), found, text[max(at[0]-60, 0):min(at[1]+60, len(text))])
			}
		}
	}
}

// TestAgents tries each real agent in each scenario; only the model is scripted.
func TestAgents(t *testing.T) {
	if testing.Short() {
		t.Skip("agents take minutes")
	}
	bin, err := filepath.Abs("../../../bin/npm")
	if err != nil {
		t.Fatal(err)
	}
	var build sync.Once
	var concerto string
	dir := t.TempDir()
	for _, a := range agents.Table() {
		t.Run(a.Name, func(t *testing.T) {
			if !isInstalled(&a, filepath.Join(bin, "node_modules")) {
				t.Skipf("%s %s is not installed: `make agents` does it", a.Package, a.Version)
			}
			build.Do(func() { concerto, err = command(dir) })
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range agents.Scenarios() {
				t.Run(s.Name, func(t *testing.T) {
					t.Parallel()
					o := options(&a, bin, concerto)
					var printed strings.Builder
					o.Verbose = func(line string) { printed.WriteString(line + "\n") }
					r, err := o.Try(t.Context(), &s)
					if err != nil || r.Result == agents.Fail {
						t.Errorf("%s (error %v)\n%s", r.Text(), err, printed.String())
					}
				})
			}
		})
	}
}

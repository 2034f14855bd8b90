package lsp

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/concerto-lang/concerto/internal/editor/lsp/protocol"
)

// addMethod adds a request to the table of methods for the duration of a test.
func addMethod(t *testing.T, name string, m method) {
	initMethods()
	requests[name] = m
	t.Cleanup(func() { delete(requests, name) })
}

// writeProject writes files to a temporary directory and returns the directory.
func writeProject(t *testing.T, files map[string]string) string {
	dir := t.TempDir()
	for name, text := range files {
		writeTestFile(t, filepath.Join(dir, name), text)
	}
	return dir
}

func writeTestFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

const (
	good = "fn main() {\n    println(1);\n}\n"
	bad  = "fn main() {\n    println(x);\n}\n"
)

// TestDiagnosticsAfterPauses checks that diagnostics are published at once after an edit, and every
// 200 ms while edits follow each other without a pause.
func TestDiagnosticsAfterPauses(t *testing.T) {
	dir := t.TempDir()
	runInBubble(t, Options{}, func(e *editor) {
		e.start(dir, struct{}{})
		uri := fileURI(filepath.Join(dir, "a.conc"))
		e.open(uri, bad)
		synctest.Wait()
		if got := e.published(uri); len(got) != 1 || *got[0].Version != 1 || len(got[0].Diagnostics) != 1 {
			t.Errorf("diagnostics = %v", got)
		}
		var versions []int32
		for i := range 50 {
			e.edit(uri, 2+i, bad+strings.Repeat("\n", i))
			time.Sleep(15 * time.Millisecond)
			for _, p := range e.published(uri) {
				versions = append(versions, *p.Version)
			}
		}
		if len(versions) < 3 || len(versions) > 5 {
			t.Errorf("versions published in 750 ms of typing = %v", versions)
		}
	})
}

// TestCodeIsGeneratedAfterPauses writes an expression that is too large for the VM. The error is
// published when the user pauses, and only then.
func TestCodeIsGeneratedAfterPauses(t *testing.T) {
	large := "fn main() {\n    emit(\"x\", " + strings.Repeat("[1, ", 300) + strings.Repeat("]", 300) + ");\n}\n"
	runInBubble(t, Options{}, func(e *editor) {
		e.start(t.TempDir(), struct{}{})
		uri := fileURI(filepath.Join(t.TempDir(), "a.conc"))
		counts := func() (all []int) {
			for _, p := range e.published(uri) {
				all = append(all, int(*p.Version), len(p.Diagnostics))
			}
			return all
		}
		e.open(uri, good)
		time.Sleep(time.Second)
		e.edit(uri, 2, large)
		time.Sleep(verifyDelay - checkDelay)
		e.edit(uri, 3, large+"\n")
		time.Sleep(verifyDelay - checkDelay)
		if got := counts(); !slices.Equal(got, []int{1, 0, 2, 0, 3, 0}) {
			t.Errorf("versions and numbers of diagnostics while the user types = %v", got)
		}
		time.Sleep(time.Second)
		if got := counts(); !slices.Equal(got, []int{3, 1}) {
			t.Errorf("versions and numbers of diagnostics after a pause = %v", got)
		}
		e.edit(uri, 4, good)
		time.Sleep(time.Second)
		if got := counts(); !slices.Equal(got, []int{4, 0}) {
			t.Errorf("versions and numbers of diagnostics of the corrected program = %v", got)
		}
	})
}

// TestPublished checks when diagnostics are published. Each edit is published with its version,
// even if the diagnostics are unchanged. If errors are fixed, an empty list is published.
func TestPublished(t *testing.T) {
	dir := writeProject(t, map[string]string{"b.conc": bad})
	runInBubble(t, Options{}, func(e *editor) {
		a, b := fileURI(filepath.Join(dir, "a.conc")), fileURI(filepath.Join(dir, "b.conc"))
		e.start(dir, struct{}{})
		if got := e.published(b); len(got) != 1 || got[0].Version != nil || len(got[0].Diagnostics) != 1 {
			t.Errorf("diagnostics of a file that is not open = %v", got)
		}
		e.open(a, bad)
		time.Sleep(time.Second)
		e.edit(a, 2, bad+"\n")
		time.Sleep(time.Second)
		e.edit(a, 3, good)
		time.Sleep(time.Second)
		var counts []int
		for _, p := range e.published(a) {
			counts = append(counts, int(*p.Version), len(p.Diagnostics))
		}
		if !slices.Equal(counts, []int{1, 1, 2, 1, 3, 0}) {
			t.Errorf("versions and numbers of diagnostics = %v", counts)
		}
		// file a is only open in the editor, so closing it removes it from the program
		e.edit(a, 4, bad)
		time.Sleep(time.Second)
		e.notify(protocol.MethodTextDocumentDidClose, map[string]any{"textDocument": map[string]any{"uri": a}})
		time.Sleep(time.Second)
		if got := e.published(a); len(got) != 2 || len(got[1].Diagnostics) != 0 {
			t.Errorf("diagnostics of a closed document = %v", got)
		}
		if got := e.published(b); len(got) != 0 {
			t.Errorf("diagnostics published again for the unchanged file b: %v", got)
		}
	})
}

// TestPolling uses a client that does not watch files. The server scans the disk once a second and
// clears the diagnostics of removed files.
func TestPolling(t *testing.T) {
	dir := writeProject(t, map[string]string{"a.conc": bad})
	runInBubble(t, Options{}, func(e *editor) {
		a, b := fileURI(filepath.Join(dir, "a.conc")), fileURI(filepath.Join(dir, "deep", "b.conc"))
		e.start(dir, struct{}{})
		writeTestFile(t, pathOf(b), bad)
		if err := os.Remove(pathOf(a)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		if got := e.published(a); len(got) != 2 || len(got[1].Diagnostics) != 0 {
			t.Errorf("diagnostics of a removed file = %v", got)
		}
		if got := e.published(b); len(got) != 1 || len(got[0].Diagnostics) != 1 {
			t.Errorf("diagnostics of a new file = %v", got)
		}
	})
}

// TestWatching uses a client that watches files. The server registers for changes and does not scan
// the disk.
func TestWatching(t *testing.T) {
	dir := writeProject(t, map[string]string{"a.conc": bad})
	runInBubble(t, Options{}, func(e *editor) {
		a := fileURI(filepath.Join(dir, "a.conc"))
		e.start(dir, map[string]any{"workspace": map[string]any{"didChangeWatchedFiles": map[string]any{"dynamicRegistration": true}}})
		if n := e.countReceived(protocol.MethodClientRegisterCapability); n != 1 {
			t.Errorf("number of registrations = %d", n)
		}
		writeTestFile(t, pathOf(a), good)
		time.Sleep(5 * time.Second)
		if got := e.published(a); len(got) != 1 {
			t.Errorf("diagnostics published by polling = %v, want none", got)
		}
		e.notify(protocol.MethodWorkspaceDidChangeWatchedFiles, map[string]any{"changes": []any{map[string]any{"uri": a, "type": 2}}})
		time.Sleep(time.Second)
		if got := e.published(a); len(got) != 1 || len(got[0].Diagnostics) != 0 {
			t.Errorf("diagnostics = %v", got)
		}
	})
}

// TestPulling uses a client that pulls diagnostics. The server pushes no diagnostics, reports
// unchanged diagnostics as unchanged, and requests a refresh if other files are affected.
func TestPulling(t *testing.T) {
	dir := writeProject(t, map[string]string{"Concerto.toml": "[project]\nname = \"x\"\n", "main.conc": "mod part;\nfn main() {\n    part::f();\n}\n", "part.conc": "pub fn f() {}\n"})
	runInBubble(t, Options{}, func(e *editor) {
		main, part := fileURI(filepath.Join(dir, "main.conc")), fileURI(filepath.Join(dir, "part.conc"))
		result := e.start(dir, map[string]any{"textDocument": map[string]any{"diagnostic": struct{}{}}, "workspace": map[string]any{"diagnostics": map[string]any{"refreshSupport": true}}})
		if result["capabilities"].(map[string]any)["diagnosticProvider"] == nil {
			t.Error("no diagnosticProvider capability")
		}
		e.open(main, "mod part;\nfn main() {\n    part::f();\n}\n")
		e.open(part, "pub fn f() {}\n")
		time.Sleep(time.Second)
		e.drain()
		e.received = nil
		e.edit(part, 2, "pub fn g() {}\n")
		var got protocol.FullDocumentDiagnosticReport
		e.request(protocol.MethodTextDocumentDiagnostic, map[string]any{"textDocument": map[string]any{"uri": main}}, &got)
		if got.Kind != "full" || len(got.Items) != 1 || got.ResultID == "" {
			t.Errorf("first report = %+v", got)
		}
		e.request(protocol.MethodTextDocumentDiagnostic, map[string]any{"textDocument": map[string]any{"uri": main}, "previousResultId": got.ResultID}, &got)
		if got.Kind != "unchanged" {
			t.Errorf("second report = %+v", got)
		}
		time.Sleep(time.Second)
		if n := e.countReceived(protocol.MethodWorkspaceDiagnosticRefresh); n != 1 {
			t.Errorf("number of refresh requests = %d", n)
		}
		var all struct {
			Items []protocol.WorkspaceFullDocumentDiagnosticReport
		}
		e.request(protocol.MethodWorkspaceDiagnostic, map[string]any{"previousResultIds": []any{map[string]any{"uri": main, "value": got.ResultID}, map[string]any{"uri": "file:///gone.conc", "value": "x"}}}, &all)
		var kinds []string
		for _, x := range all.Items {
			kinds = append(kinds, filepath.Base(string(x.URI))+" "+x.Kind)
		}
		if want := []string{"Concerto.toml full", "main.conc unchanged", "part.conc full", "gone.conc full"}; !slices.Equal(kinds, want) {
			t.Errorf("workspace report = %v, want %v", kinds, want)
		}
		if n := e.countReceived(protocol.MethodTextDocumentPublishDiagnostics); n > 0 {
			t.Errorf("number of pushed diagnostics = %d", n)
		}
	})
}

// TestCancel cancels a request that is blocked. The response arrives immediately.
func TestCancel(t *testing.T) {
	deaf := make(chan struct{})
	addMethod(t, "test/deaf", method{run: func(*call, json.RawMessage) (any, error) { <-deaf; return 1, nil }})
	runInBubble(t, Options{}, func(e *editor) {
		deaf = make(chan struct{})
		e.start(t.TempDir(), struct{}{})
		id, began := e.startRequest("test/deaf", nil), time.Now()
		e.notify(protocol.MethodCancelRequest, map[string]any{"id": id})
		e.expectError(e.await(id), codeCancelled)
		if time.Since(began) > 0 {
			t.Errorf("cancellation took %v", time.Since(began))
		}
		close(deaf)
		e.notify(protocol.MethodCancelRequest, map[string]any{"id": id}) // the request is already answered
		e.notify(protocol.MethodCancelRequest, map[string]any{"id": "none"})
		e.expectError(e.request("x", nil, nil), codeMethodNotFound)
	})
}

// TestOutdatedRequestIsCancelled edits a document while requests are running. They are cancelled if
// they do not finish within 10 ms.
func TestOutdatedRequestIsCancelled(t *testing.T) {
	wait := func(_ *call, p json.RawMessage) (any, error) {
		var ms []int
		if err := json.Unmarshal(p, &ms); err != nil {
			return nil, err
		}
		time.Sleep(time.Duration(ms[0]) * time.Millisecond)
		return "done", nil
	}
	addMethod(t, "test/wait", method{run: wait})
	addMethod(t, "test/timeless", method{run: wait, timeless: true})
	runInBubble(t, Options{}, func(e *editor) {
		e.start(t.TempDir(), struct{}{})
		e.open("untitled:a", good)
		quick, slow, timeless := e.startRequest("test/wait", []int{9}), e.startRequest("test/wait", []int{5000}), e.startRequest("test/timeless", []int{5000})
		began := time.Now()
		e.edit("untitled:a", 2, bad)
		if m := e.await(quick); string(m.Result) != `"done"` {
			t.Errorf("quick request: result %s, error %v", m.Result, m.Error)
		}
		e.expectError(e.await(slow), codeContentModified)
		if time.Since(began) != editGrace {
			t.Errorf("cancellation took %v", time.Since(began))
		}
		if m := e.await(timeless); string(m.Result) != `"done"` {
			t.Errorf("request with anyVersion: result %s, error %v", m.Result, m.Error)
		}
	})
}

// TestCrash lets a request panic. The response is an error, the crash is reported once, and the
// server continues.
func TestCrash(t *testing.T) {
	addMethod(t, "test/crash", method{run: func(*call, json.RawMessage) (any, error) { panic("oh") }})
	state := t.TempDir()
	runInBubble(t, Options{State: state, Name: "1.2.3"}, func(e *editor) {
		e.start(t.TempDir(), struct{}{})
		e.open("untitled:a", "secret text")
		for range 2 {
			e.expectError(e.request("test/crash", nil, nil), codeInternal)
		}
		if n := e.countReceived(protocol.MethodWindowShowMessage); n != 1 {
			t.Errorf("number of messages = %d", n)
		}
		files, err := filepath.Glob(filepath.Join(state, "lsp-*.txt"))
		if err != nil || len(files) != 1 {
			t.Fatal(files, err)
		}
		report, err := os.ReadFile(files[0])
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"concerto 1.2.3 lsp, in test/crash: oh", "goroutine", "untitled:a version 1: 11 bytes, sha256 "} {
			if !strings.Contains(string(report), want) {
				t.Errorf("crash report does not contain %q:\n%s", want, report)
			}
		}
		if strings.Contains(string(report), "secret") {
			t.Errorf("crash report contains the text of a document:\n%s", report)
		}
		e.expectError(e.request("x", nil, nil), codeMethodNotFound)
	})
}

// TestSettings checks settings from initialize and settings that the client sends later.
func TestSettings(t *testing.T) {
	var s settings
	for _, text := range []string{`{"inlayHints": {"parameters": true}}`, `{"concerto": {"inlayHints": {"parameters": true}}}`} {
		s = defaults
		if err := s.read(json.RawMessage(text)); err != nil || !s.InlayHints.Parameters || !s.InlayHints.Types || !s.Check.Unopened {
			t.Errorf("settings from %s = %+v, error %v", text, s, err)
		}
	}
	if err := s.read(json.RawMessage(`{"check": {"unopened": 5}}`)); err == nil || !s.Check.Unopened {
		t.Errorf("invalid settings: %+v, error %v", s, err)
	}
	dir := writeProject(t, map[string]string{"b.conc": bad})
	runInBubble(t, Options{}, func(e *editor) {
		b := fileURI(filepath.Join(dir, "b.conc"))
		e.start(dir, struct{}{})
		e.published(b)
		e.notify(protocol.MethodWorkspaceDidChangeConfiguration, map[string]any{"settings": map[string]any{"concerto": map[string]any{"check": map[string]any{"unopened": false}}}})
		time.Sleep(time.Second)
		if got := e.published(b); len(got) != 1 || len(got[0].Diagnostics) != 0 {
			t.Errorf("diagnostics of a file that is not open = %v", got)
		}
	})
}

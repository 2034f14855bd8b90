package lsp

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"

	"github.com/concerto-lang/concerto/internal/editor/lsp/protocol"
	"github.com/concerto-lang/concerto/internal/text/hexsum"
)

// bugText returns the message for an internal error.
func bugText(p any) string { return fmt.Sprintf("internal error, which is a bug in Concerto: %v", p) }

// runSafely calls a function on the loop. If the function panics, it reports the panic and returns.
func (s *server) runSafely(f func()) {
	defer func() {
		if p := recover(); p != nil {
			s.reportCrash(s.view, "a message", p, debug.Stack())
		}
	}()
	f()
}

// reportCrash writes a crash report, without texts of documents, into the state directory. It shows
// the path of the report to the user, once for each bug.
func (s *server) reportCrash(v *view, doing string, p any, stack []byte) {
	s.options.log("panic in %s: %v", doing, p)
	text := v.crashText(doing, p, stack)
	name := "lsp-" + hexsum.SHA256(findCulprit(stack))[:12] + ".txt"
	if s.reported[name] {
		return
	}
	s.reported[name] = true
	where := "no report was written, because the state directory is unknown"
	if s.options.State != "" {
		path := filepath.Join(s.options.State, name)
		where = "the report is " + path + ": please send it to the developers"
		if err := writeFile(path, []byte(text)); err != nil {
			where = "the report could not be written: " + err.Error()
		}
	}
	s.notify(protocol.MethodWindowShowMessage, protocol.ShowMessageParams{Type: protocol.MessageTypeError, Message: "concerto lsp: " + bugText(p) + ". " + where})
}

// findCulprit returns the first function of this module below the panic in a stack. That function
// identifies the bug.
func findCulprit(stack []byte) string {
	_, below, _ := strings.Cut(string(stack), "panic(")
	for line := range strings.Lines(below) {
		if strings.HasPrefix(line, "github.com/concerto-lang/") {
			name, _, _ := strings.Cut(line, "(0x")
			return name
		}
	}
	return below
}

// crashText returns the text of a crash report.
func (v *view) crashText(doing string, p any, stack []byte) string {
	var b strings.Builder
	fmt.Fprintf(&b, "concerto %s lsp, in %s: %v\n\n%s\n", v.server.Name, doing, p, stack)
	for _, uri := range sortedKeys(v.docs) {
		d := v.docs[uri]
		fmt.Fprintf(&b, "%s version %d: %d bytes, sha256 %x\n", filepath.Base(d.path), d.version, len(d.text), sha256.Sum256(d.text))
	}
	return b.String()
}

// writeFile writes a file with permissions for the user only.
func writeFile(path string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o600)
}

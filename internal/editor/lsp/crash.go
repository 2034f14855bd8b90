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

// runSafely runs a function of the loop. It reports a panic and continues.
func (s *server) runSafely(f func()) {
	defer func() {
		if p := recover(); p != nil {
			s.reportCrash(s.view, "a message", p, debug.Stack())
		}
	}()
	f()
}

// reportCrash reports a panic: it writes what led to it into the state directory, without texts,
// and shows the file's path, each once.
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

// findCulprit returns the first function of this module in a stack below the panic, which
// identifies a bug.
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

// crashText returns the text of a report.
func (v *view) crashText(doing string, p any, stack []byte) string {
	var b strings.Builder
	fmt.Fprintf(&b, "concerto %s lsp, in %s: %v\n\n%s\n", v.server.Name, doing, p, stack)
	for _, uri := range sortedKeys(v.docs) {
		d := v.docs[uri]
		fmt.Fprintf(&b, "%s version %d: %d bytes, sha256 %x\n", filepath.Base(d.path), d.version, len(d.text), sha256.Sum256(d.text))
	}
	return b.String()
}

// writeFile writes a file of the server's own.
func writeFile(path string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o600)
}

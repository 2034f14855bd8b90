package engine

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"github.com/concerto-lang/concerto/internal/process/userfile"
	"github.com/concerto-lang/concerto/internal/record/tape"
	world "github.com/concerto-lang/concerto/runtime"
)

// The values of TestOptions.Record.
const (
	recordNothing = ""
	recordMissing = "missing"
	recordAll     = "all"
)

// reaches reports whether the tests perform effects outside the process.
func (o *TestOptions) reaches() bool { return o.Live || o.Record != recordNothing }

// testTape is the tape of a test. Its file is `tapes/<file>/<function>.tape` in the directory of
// the test's source file.
type testTape struct {
	*tape.TestTape
	path    string // path of the tape's file
	name    string // path relative to the project's root
	program string
	record  string     // TestOptions.Record
	now     *tape.Tape // existing tape; nil if there is none
	text    []byte     // text of the existing tape
	secrets *tape.Secrets
	lines   bytes.Buffer // lines that were recorded in this run
}

// tape reads the tape of a test. In a live run the test has no tape.
func (r *testRun) tape(t Test) (*testTape, error) {
	h := &testTape{record: r.options.Record, program: t.File, secrets: tape.NewSecrets(r.options.Environ)}
	if r.options.Live {
		return h, nil
	}
	root, err := r.program.base(&r.of)
	if err != nil {
		return nil, err
	}
	file := filepath.FromSlash(t.File)
	stem := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
	h.name = filepath.Join(filepath.Dir(file), "tapes", stem, r.distinct(t)+".tape")
	h.path = filepath.Join(root, h.name)
	if h.record == recordAll {
		return h, nil
	}
	h.text, err = userfile.Read(h.path, userfile.MaxRecording)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return h, nil
	case err != nil:
		return nil, fmt.Errorf("could not read the tape of the test: %w", err)
	}
	now, err := tape.Read(bytes.NewReader(h.text))
	if err == nil {
		now, err = now.Restore(h.secrets.Value)
	}
	if err != nil {
		return nil, fmt.Errorf("%s:%w", h.name, err)
	}
	h.now = now
	return h, nil
}

// distinct returns the name of a test's function. If earlier functions of the same file have the
// same name, in other modules, a number is appended.
func (r *testRun) distinct(t Test) string {
	n := 1
	for _, other := range r.program.Tests() {
		if other.File == t.File && other.Function == t.Function && other.Line < t.Line {
			n++
		}
	}
	if n == 1 {
		return t.Function
	}
	return fmt.Sprintf("%s-%d", t.Function, n)
}

// runID returns the id of the recorded run, because recorded requests may contain it. Without a
// tape it returns id.
func (h *testTape) runID(id string) string {
	if h.now != nil && h.now.Run != "" {
		return h.now.Run
	}
	return id
}

// setTape sets the tape that the runtime of a test plays and records.
func (h *testTape) setTape(outside *world.Runtime) {
	if h.path == "" {
		return
	}
	record := outside.Recorded()
	h.secrets.AddTo(outside.Secrets(), record)
	if h.now != nil {
		h.now.Clean(record.JSON)
	}
	header := tape.Header{Run: outside.ID(), Program: filepath.ToSlash(h.program)}
	if h.record == recordNothing {
		h.TestTape = tape.NewTestTape(h.now, nil, header, record.JSON)
	} else {
		h.TestTape = tape.NewTestTape(h.now, &h.lines, header, record.JSON)
	}
}

// Why returns how the test's request differs from the recorded one.
func (h *testTape) Why() string {
	why := h.TestTape.Why()
	switch {
	case why == "":
		return "and its tape does not exist: " + h.name + ": `concerto test --record` records it"
	case h.record == recordNothing:
		return "nor is it on its tape, which `concerto test --record` adds to: " + h.name + ": " + why
	}
	return "and it cannot be added to its tape, which `concerto test --record=all` records again: " + h.name + ": " + why
}

// storeRecording writes the tape of a test that has passed. For a failed test it writes nothing, so
// the next run records again.
func (h *testTape) storeRecording(result *TestResult) error {
	if h.TestTape == nil {
		return nil
	}
	if h.now != nil {
		result.Record.Files = append(result.Record.Files, h.path)
	}
	if result.Failure != nil {
		return nil
	}
	n, err := h.EndRecording()
	switch {
	case err != nil:
		return err
	case n > 0:
		return h.writeTape()
	case h.record == recordAll:
		if err := os.Remove(h.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("could not remove the tape of the test: %w", err)
		}
	case h.record == recordNothing && h.now != nil:
		result.Tape = h.name
		result.Unused, result.UnusedEntries = h.Unused()
	}
	return nil
}

var lastLine = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\s*\{\s*"end"\s*:`) })

// writeTape writes the existing lines of the tape and the recorded lines after them.
func (h *testTape) writeTape() error {
	var whole bytes.Buffer
	for line := range bytes.Lines(h.text) {
		if !lastLine().Match(line) {
			whole.Write(bytes.TrimRight(line, "\r\n"))
			whole.WriteByte('\n')
		}
	}
	whole.Write(h.lines.Bytes())
	err := os.MkdirAll(filepath.Dir(h.path), 0o755)
	if err == nil {
		err = userfile.Replace(h.path, whole.Bytes(), 0o600)
	}
	if err != nil {
		return fmt.Errorf("could not write the tape of the test: %w", err)
	}
	return nil
}

// Package hostlog is hostd's log (its API promises nothing): lines at the end of a file that
// nobody else reads, without secrets. It is not rotated: who moves the file away has hostd
// begin a new one at its next start.
package hostlog

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
)

// Open opens a log file, made with its directory when there is none. redact takes secrets out
// of a line.
func Open(file string, redact func(string) string) (*slog.Logger, io.Closer, error) {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return nil, nil, fmt.Errorf("open the log: %w", err)
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return nil, nil, fmt.Errorf("open the log: %w", err)
	}
	return New(f, redact), f, nil
}

// New logs to a writer.
func New(w io.Writer, redact func(string) string) *slog.Logger {
	return slog.New(slog.NewTextHandler(clean{w, redact}, nil))
}

// clean writes lines without secrets; a handler writes one at a time.
type clean struct {
	to     io.Writer
	redact func(string) string
}

func (c clean) Write(line []byte) (int, error) {
	if _, err := io.WriteString(c.to, c.redact(string(line))); err != nil {
		return 0, err
	}
	return len(line), nil
}

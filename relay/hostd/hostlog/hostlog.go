// Package hostlog writes hostd's log file, with secrets removed. The file is not rotated: after it
// is moved away, hostd creates a new one at its next start. The compatibility promise does not
// cover this API.
package hostlog

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
)

// Open opens a log file and creates it and its directory if necessary. redact removes secrets from
// a line.
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

// New returns a logger that writes to w.
func New(w io.Writer, redact func(string) string) *slog.Logger {
	return slog.New(slog.NewTextHandler(redactingWriter{w, redact}, nil))
}

// redactingWriter removes secrets from lines; a handler writes one line at a time.
type redactingWriter struct {
	to     io.Writer
	redact func(string) string
}

func (c redactingWriter) Write(line []byte) (int, error) {
	if _, err := io.WriteString(c.to, c.redact(string(line))); err != nil {
		return 0, err
	}
	return len(line), nil
}

// Package hostlog writes the log file of hostd without secrets. The file is not rotated. After the
// file was moved away, hostd creates a new one when it is restarted.
package hostlog

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
)

// Open opens a log file. It creates the file and its directory if they do not exist. redact removes
// secrets from a line.
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

// New returns a logger that writes redacted lines to w.
func New(w io.Writer, redact func(string) string) *slog.Logger {
	return slog.New(slog.NewTextHandler(redactingWriter{w, redact}, nil))
}

// redactingWriter removes secrets from lines. It relies on the log handler, which writes a complete
// line in each call.
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

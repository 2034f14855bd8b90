package console

import (
	"io"
	"log/slog"

	"github.com/concerto-lang/concerto/relay/server/httpguard"
)

// RedactingWriter writes log lines to another writer, without the credentials in URLs.
type RedactingWriter struct{ To io.Writer }

func (c RedactingWriter) Write(line []byte) (int, error) {
	if _, err := io.WriteString(c.To, httpguard.Clean(string(line))); err != nil {
		return 0, err
	}
	return len(line), nil
}

// Log returns the logger of the daemons.
func (a *Console) Log() *slog.Logger {
	return slog.New(slog.NewTextHandler(RedactingWriter{a.Stderr}, nil))
}

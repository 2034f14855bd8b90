//go:build unix

package files

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

// TestPipe checks that reading a pipe without a writer fails when the run ends, and that a pipe
// with a writer can be read.
func TestPipe(t *testing.T) {
	dir := t.TempDir()
	pipe := func(name string) string {
		path := filepath.Join(dir, name)
		if err := syscall.Mkfifo(path, 0o666); err != nil {
			t.Skip(err)
		}
		return path
	}
	write := func(path, text string) {
		out, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err == nil {
			_, err = out.WriteString(text)
			err = errors.Join(err, out.Close())
		}
		if err != nil {
			t.Error(err)
		}
	}
	f := New(Options{})
	stop := errors.New("stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stop)
	unread := pipe("unread")
	if _, err := f.Perform(ctx, &effect.ReadFile{Path: unread}); err != stop {
		t.Error(err)
	}
	write(unread, "") // ends the read that is still waiting
	read := pipe("read")
	go write(read, "text")
	if got := resultText(t, f, &effect.ReadFile{Path: read}); got != "text" {
		t.Errorf("read %q", got)
	}
}

package serve_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/concerto-lang/concerto/internal/cli/serve"
	"github.com/concerto-lang/concerto/internal/cli/serve/servetest"
	"github.com/concerto-lang/concerto/runtime/tool"
)

// newTools returns an empty registry of tools.
func newTools() *tool.Registry { return &tool.Registry{} }

// config returns the configuration of a server. files are the programs in its root directory.
func config(t *testing.T, files map[string]string) serve.Config {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return serve.Config{Version: "0.2.0", Tools: &tool.Registry{}, Roots: []string{dir}, Sessions: 2, Message: 1 << 20, Drain: time.Minute,
		Log: func(level, message string) { t.Logf("%s: %s", level, message) }}
}

// peer is a client that is connected over pipes.
type peer struct {
	servetest.Wire
	*servetest.Conversation
	t     *testing.T
	in    *io.PipeWriter
	out   *io.PipeReader
	ended chan error
}

func connect(t *testing.T, c serve.Config) *peer {
	t.Helper()
	inRead, inWrite := io.Pipe()
	outRead, outWrite := io.Pipe()
	p := &peer{Wire: servetest.Lines(outRead, inWrite), Conversation: servetest.New(), t: t, in: inWrite, out: outRead, ended: make(chan error, 1)}
	ctx, cancel := context.WithCancelCause(context.Background())
	go func() {
		p.ended <- serve.New(c).ServeLines(ctx, inRead, outWrite)
		_ = outWrite.Close()
	}()
	t.Cleanup(func() {
		cancel(errors.New("the test has ended"))
		_ = p.in.Close()
		_ = p.out.Close()
	})
	return p
}

func (p *peer) play(conversation string) {
	p.t.Helper()
	if err := p.Play(p, conversation); err != nil {
		p.t.Fatal(err)
	}
}

// close closes the server's input and plays the rest of the conversation. The server must then
// exit.
func (p *peer) close(conversation string) {
	p.t.Helper()
	_ = p.in.Close()
	p.play(conversation)
	if text, err := p.Receive(); err != io.EOF {
		p.t.Errorf("unexpected message after the conversation: %s (error %v), want io.EOF", text, err)
	}
	if err := <-p.ended; err != nil {
		p.t.Error(err)
	}
}

// TestConversations plays the conversations in testdata. Each archive contains a conversation
// before its first file; the files are the programs.
func TestConversations(t *testing.T) {
	all, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(all) == 0 {
		t.Fatal("testdata contains no conversations", err)
	}
	for _, path := range all {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			t.Parallel()
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			files := map[string]string{}
			for _, f := range archive.Files {
				files[f.Name] = string(f.Data)
			}
			p := connect(t, config(t, files))
			talk, after, _ := strings.Cut(string(archive.Comment), servetest.End)
			p.play(talk)
			p.close(after)
		})
	}
}

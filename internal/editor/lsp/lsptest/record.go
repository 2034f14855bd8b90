package lsptest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/concerto-lang/concerto/internal/editor/lsp/frame"
)

// Record returns the path of an executable that runs the command concerto and records the messages
// that an editor sends to it as a language server. At the end of the test it writes the messages to
// a file, one on each line. Paths that differ between machines are keys of paths and are replaced
// by its values.
func Record(t testing.TB, command, file string, paths map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	raw, script := filepath.Join(dir, "raw"), filepath.Join(dir, "concerto")
	text := fmt.Sprintf("#!/bin/sh\nif [ \"$1\" = lsp ]; then tee '%s' | '%s' \"$@\"; else exec '%s' \"$@\"; fi\n", raw, command, command)
	if err := os.WriteFile(script, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	paths[dir] = "/recorded"
	t.Cleanup(func() {
		messages, err := readMessages(raw, paths)
		if err == nil {
			err = os.WriteFile(file, messages, 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	})
	return script
}

// readMessages decodes a recorded stream. It returns the messages, one on each line.
func readMessages(raw string, paths map[string]string) ([]byte, error) {
	file, err := os.Open(raw)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var out bytes.Buffer
	for r := bufio.NewReader(file); ; {
		body, err := frame.Read(r)
		if errors.Is(err, io.EOF) {
			return out.Bytes(), nil
		}
		if err != nil {
			return nil, err
		}
		var m any // decode and encode again, because editors escape strings in different ways
		if err := json.Unmarshal(body, &m); err != nil {
			return nil, err
		}
		if body, err = json.Marshal(m); err != nil {
			return nil, err
		}
		for path, name := range paths {
			body = bytes.ReplaceAll(body, []byte(path), []byte(name))
		}
		out.Write(append(body, '\n'))
	}
}

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestGenerated checks that the Go types match the stored model, and that the stored model contains
// only the used part of the protocol.
func TestGenerated(t *testing.T) {
	files, model, err := generate(useFile, modelFile)
	if err != nil {
		t.Fatal(err)
	}
	files[filepath.Join("..", "gen", modelFile)] = model
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join(outDir, name))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s does not match the model (%v): run go generate ./internal/editor/lsp/...", name, err)
		}
	}
}

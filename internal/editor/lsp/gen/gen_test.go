package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// The types are generated from the model, and the model is the used part of the protocol.
func TestGenerated(t *testing.T) {
	files, model, err := generate(useFile, modelFile)
	if err != nil {
		t.Fatal(err)
	}
	files[filepath.Join("..", "gen", modelFile)] = model
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join(outDir, name))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s does not match the model (%v): go generate ./internal/editor/lsp/...", name, err)
		}
	}
}

package main

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/internal/playground/server"
)

// TestSizeOfModule compares the size of the module with sizes.txt. `make playground` also compares
// its size by brotli, which takes too long here.
func TestSizeOfModule(t *testing.T) {
	dir, err := built()
	if err != nil {
		t.Fatal(err)
	}
	want, err := readSizes("sizes.txt")
	if err != nil {
		t.Fatal(err)
	}
	if n := want["concerto.wasm.br"]; n == 0 || n > maxBrotli {
		t.Errorf("sizes.txt has %d bytes by brotli, the maximum is %d", n, maxBrotli)
	}
	module, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(server.Module)))
	if err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write(module); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for name, size := range map[string]int{"concerto.wasm": len(module), "concerto.wasm.gz": packed.Len()} {
		if grows(int64(size), want[name]) {
			t.Errorf("%s has %d bytes, and sizes.txt has %d: if this is intended, run `make playground UPDATE=1` and state the reason in the commit", name, size, want[name])
		}
	}
}

// TestFilesAreReproducible checks that another build has the same files, which name no directory of
// this machine.
func TestFilesAreReproducible(t *testing.T) {
	first, err := pageFiles("../..")
	if err != nil {
		t.Fatal(err)
	}
	second, err := pageFiles("../..")
	if err != nil {
		t.Fatal(err)
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range first {
		if !bytes.Equal(text, second[name]) {
			t.Errorf("%s differs between two builds", name)
		}
		if bytes.Contains(text, []byte(here)) {
			t.Errorf("%s contains the directory of the sources", name)
		}
	}
	dir, err := built()
	if err != nil {
		t.Fatal(err)
	}
	module, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(server.Module)))
	if err != nil || bytes.Contains(module, []byte(filepath.Dir(filepath.Dir(here)))) {
		t.Errorf("the module contains the directory of the sources, %v", err)
	}
	page := string(first[server.Index])
	if !strings.Contains(page, server.Policy) || strings.Contains(page, `="/`) {
		t.Errorf("the page has another policy, or absolute paths: %s", page)
	}
}

// TestTemplatesOfMessages checks that the page has a template of each type of message that a host
// sends.
func TestTemplatesOfMessages(t *testing.T) {
	text, err := os.ReadFile("../../web/playground/messages.js")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range regexp.MustCompile(`(?m)^  (\w+): \{ type: "(\w+)"`).FindAllStringSubmatch(string(text), -1) {
		if m[1] != m[2] {
			t.Errorf("the template %s has the type %s", m[1], m[2])
		}
		got = append(got, m[1])
	}
	want := hostmsg.Types(func(m *hostmsg.Message) bool { return m.Sender != hostmsg.Concerto })
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("the templates are %v, want %v", got, want)
	}
}

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestReadersAreCurrent holds the written readers to the forms' tags.
func TestReadersAreCurrent(t *testing.T) {
	list, err := forms("..")
	if err != nil {
		t.Fatal(err)
	}
	if len(list) < 30 {
		t.Fatalf("only %d forms were found", len(list))
	}
	text, err := readers(list)
	if err != nil {
		t.Fatal(err)
	}
	written, err := os.ReadFile("../readers.go")
	if err != nil {
		t.Fatal(err)
	}
	if string(written) != string(text) {
		t.Error("parser/readers.go is not what the forms say: run make gen")
	}
}

// TestBadForms: a tag that participle cannot read is an error that names its form.
func TestBadForms(t *testing.T) {
	for tag, want := range map[string]string{
		"( @Name": "broken", // never closed
		"@Name )": "broken",
	} {
		dir := t.TempDir()
		text := "package p\n\ntype broken struct {\n\tName *name `parser:\"" + tag + "\"`\n}\n"
		if err := os.WriteFile(filepath.Join(dir, "form_broken.go"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if list, err := forms(dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %d forms, %v; want an error that names %s", tag, len(list), err, want)
		}
	}
}

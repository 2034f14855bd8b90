package manifest

import (
	"os"
	"strings"
	"testing"
)

func TestReferenceIsCurrent(t *testing.T) {
	text, err := os.ReadFile("../../../spec/manifest-keys.md")
	if err != nil {
		t.Fatal(err)
	}
	if string(text) != Reference() {
		t.Error("spec/manifest-keys.md is out of date: run `make gen`")
	}
}

func TestEverySectionIsDescribed(t *testing.T) {
	described := map[string]bool{}
	for _, s := range sectionDocs {
		described[s.section] = true
	}
	for _, k := range Keys() {
		if !described[k.Section()] {
			t.Errorf("section %s of %s has no description", k.Section(), k.Path)
		}
		if !strings.Contains(Reference(), "| `"+k.Name()+"` |") {
			t.Errorf("Reference() does not contain the key %s", k.Path)
		}
	}
}

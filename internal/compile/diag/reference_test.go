package diag

import (
	"os"
	"strings"
	"testing"
)

func TestReferenceIsCurrent(t *testing.T) {
	text, err := os.ReadFile("../../../spec/diagnostics.md")
	if err != nil {
		t.Fatal(err)
	}
	if string(text) != Reference() {
		t.Error("spec/diagnostics.md is out of date: run `make gen`")
	}
}

func TestEveryCodeHasAnArea(t *testing.T) {
	for _, i := range catalogue {
		if n := strings.Count(Reference(), "\n### "+i.Code+": "); n != 1 {
			t.Errorf("number of sections of %s in the reference = %d, want 1", i.Code, n)
		}
	}
}

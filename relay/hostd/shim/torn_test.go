package shim

import (
	"os"
	"path/filepath"
	"testing"
)

// TestTorn: a record that a full disk took a part of does not spoil the next.
func TestTorn(t *testing.T) {
	dir := t.TempDir()
	in, err := openInputs(dir)
	if err != nil {
		t.Fatal(err)
	}
	in.write = func(b []byte) (int, error) { return len(b), nil }
	in.echoes = func() bool { return true }
	file := in.f
	if _, err := file.WriteString(`{"id":"a","sha`); err != nil { // what there was room for
		t.Fatal(err)
	}
	if in.f, err = os.Open(filepath.Join(dir, inputsFile)); err != nil { // cannot be written
		t.Fatal(err)
	}
	if state := in.apply(&input{record: record{"a", "1", Unseen}, text: "a"}); state != Rejected {
		t.Errorf("it is %s", state)
	}
	_ = in.f.Close()
	in.f = file
	if state := in.apply(&input{record: record{"b", "2", Unseen}, text: "b"}); state != Applied {
		t.Errorf("it is %s", state)
	}
	_ = file.Close()
	for id, want := range map[string]record{"a": {}, "b": {SHA256: "2", State: Applied}} {
		if state, hash, err := ReadInput(dir, id); state != want.State || hash != want.SHA256 || err != nil {
			t.Errorf("%s is %q of %q (%v), want %+v", id, state, hash, err, want)
		}
	}
}

package ptyholder

import (
	"os"
	"path/filepath"
	"testing"
)

// TestCutRecord checks that a record that was cut by a full disk does not damage the next one.
func TestCutRecord(t *testing.T) {
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
		t.Errorf("the state is %s", state)
	}
	_ = in.f.Close()
	in.f = file
	if state := in.apply(&input{record: record{"b", "2", Unseen}, text: "b"}); state != Applied {
		t.Errorf("the state is %s", state)
	}
	_ = file.Close()
	for id, want := range map[string]record{"a": {}, "b": {SHA256: "2", State: Applied}} {
		if state, hash, err := ReadInput(dir, id); state != want.State || hash != want.SHA256 || err != nil {
			t.Errorf("%s is %q of %q (%v), want %+v", id, state, hash, err, want)
		}
	}
}

// TestInputOfTheEnd checks that a run that ends as soon as it has read an input has a record that
// the input was applied.
func TestInputOfTheEnd(t *testing.T) {
	dir := t.TempDir()
	in, err := openInputs(dir)
	if err != nil {
		t.Fatal(err)
	}
	in.echoes = func() bool { return false }
	writing := make(chan struct{})
	in.write = func(b []byte) (int, error) {
		close(writing)
		in.mu.Lock()
		defer in.mu.Unlock()
		for !in.closed { // the run has read it, and ended
			in.more.Wait()
		}
		return len(b), nil
	}
	go in.serve()
	reported := make(chan State, 1)
	in.submit("i", "hash", "y\n", func(s State, _ bool) { reported <- s })
	<-writing
	in.close()
	if s, hash, err := ReadInput(dir, "i"); s != Applied || hash != "hash" || err != nil {
		t.Errorf("ReadInput returned %s %s, %v", s, hash, err)
	}
	if s := <-reported; s != Applied {
		t.Errorf("reported %s", s)
	}
}

package ptyholder

import (
	"os"
	"path/filepath"
	"testing"
)

// TestCutRecord checks that a record that a full disk has cut does not damage the next record.
func TestCutRecord(t *testing.T) {
	dir := t.TempDir()
	in, err := openInputs(dir)
	if err != nil {
		t.Fatal(err)
	}
	in.write = func(b []byte) (int, error) { return len(b), nil }
	in.echoes = func() bool { return true }
	file := in.f
	if _, err := file.WriteString(`{"id":"a","sha`); err != nil { // the part of a record for which there was space
		t.Fatal(err)
	}
	if in.f, err = os.Open(filepath.Join(dir, inputsFile)); err != nil { // opened for reading, so that writes fail
		t.Fatal(err)
	}
	if state := in.apply(&input{record: record{"a", "1", Unseen}, text: "a"}); state != Rejected {
		t.Errorf("state of an input on a full disk = %s, want rejected", state)
	}
	_ = in.f.Close()
	in.f = file
	if state := in.apply(&input{record: record{"b", "2", Unseen}, text: "b"}); state != Applied {
		t.Errorf("state of the next input = %s, want applied", state)
	}
	_ = file.Close()
	for id, want := range map[string]record{"a": {}, "b": {SHA256: "2", State: Applied}} {
		if state, hash, err := ReadInput(dir, id); state != want.State || hash != want.SHA256 || err != nil {
			t.Errorf("recorded state of %s = %q, hash = %q (%v), want %+v", id, state, hash, err, want)
		}
	}
}

// TestInputOfTheEnd runs a process that exits as soon as it has read an input. The input must be
// recorded as applied.
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
		for !in.closed { // wait until close is called, as if the run had read the input and exited
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
		t.Errorf("ReadInput = %s, %s, %v; want applied", s, hash, err)
	}
	if s := <-reported; s != Applied {
		t.Errorf("reported state = %s, want applied", s)
	}
}

package vm

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/ir"
)

// FuzzSnapshot modifies snapshots of a program that uses much of the instruction set, and corrects
// their SHA-256. A snapshot that is not rejected is resumed; it may fail in any way that Go can
// recover from, but memory must stay intact.
func FuzzSnapshot(f *testing.F) {
	a, all := fuzzedSnapshots(f)
	for i := range all {
		f.Add(uint8(i), []byte{0, 40, 1, 0})
		f.Add(uint8(i), []byte{0, 90, 255, 1, 0, 12, 3, 2})
	}
	f.Fuzz(func(t *testing.T, which uint8, edits []byte) {
		goOn(a, edited(all[int(which)%len(all)], edits))
	})
}

// TestSnapshotDamaged: a snapshot with one changed byte is rejected. With a corrected SHA-256 it is
// rejected, or it is resumed and memory stays intact.
func TestSnapshotDamaged(t *testing.T) {
	a, all := fuzzedSnapshots(t)
	refused, went := 0, 0
	for n, data := range all {
		body := bytes.IndexByte(data, '\n') + 1
		for i := 0; i < len(data)-sha256.Size; i++ {
			other := bytes.Clone(data)
			other[i] ^= byte(1 << ((i + n) % 8))
			if _, err := Restore(fuzzConfig(a), other); !errors.As(err, new(*DamagedError)) {
				t.Fatalf("byte %d of snapshot %d: %v", i, n, err)
			}
			if i < body || i%11 != n%11 {
				continue
			}
			if goOn(a, sealed(other)) {
				went++
			} else {
				refused++
			}
		}
		for cut := range min(200, len(data)) {
			if _, err := Restore(fuzzConfig(a), data[:cut]); !errors.As(err, new(*DamagedError)) {
				t.Fatalf("%d bytes of snapshot %d: %v", cut, n, err)
			}
		}
	}
	if refused == 0 || went == 0 {
		t.Errorf("%d were rejected, %d were resumed", refused, went)
	}
}

func fuzzConfig(a *asm) Config {
	return Config{Program: &a.Program, Performer: silent, MaxStack: 1 << 14, Natives: library(fuzzNatives), Journal: unwritten{}}
}

// fuzzedSnapshots returns the snapshots of the program that FuzzRun modifies.
func fuzzedSnapshots(t testing.TB) (*asm, [][]byte) {
	a := fuzzProgram()
	if err := ir.Verify(&a.Program); err != nil {
		t.Fatal(err)
	}
	var all [][]byte
	c := fuzzConfig(a)
	c.Boundary = func(m *VM) {
		data, err := m.Snapshot(Snapshot{})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, data)
	}
	m, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Run(context.Background()); err != nil || len(all) < 5 {
		t.Fatalf("%d snapshots, %v", len(all), err)
	}
	return a, all
}

// edited changes four bytes per edit: where, to what, and whether it replaces, inserts or removes a
// byte.
func edited(data, edits []byte) []byte {
	from := bytes.IndexByte(data, '\n') + 1
	body := bytes.Clone(data[from : len(data)-sha256.Size])
	for ; len(edits) >= 4 && len(body) > 0; edits = edits[4:] {
		at := (int(edits[0])<<8 | int(edits[1])) % len(body)
		switch edits[3] % 3 {
		case 0:
			body[at] = edits[2]
		case 1:
			body = append(body[:at], append([]byte{edits[2]}, body[at:]...)...)
		case 2:
			body = append(body[:at], body[at+1:]...)
		}
	}
	return sealed(append(append(bytes.Clone(data[:from]), body...), make([]byte, sha256.Size)...))
}

// sealed corrects the SHA-256 of a snapshot.
func sealed(data []byte) []byte {
	end := len(data) - sha256.Size
	sum := sha256.Sum256(data[:end])
	return append(data[:end:end], sum[:]...)
}

// goOn restores a snapshot and runs it for a while; it returns false if it is rejected.
func goOn(a *asm, data []byte) (restored bool) {
	m, err := Restore(fuzzConfig(a), data)
	if err != nil {
		if !errors.As(err, new(*DamagedError)) {
			panic(err)
		}
		return false
	}
	defer func() {
		_ = recover() // an invalid index or a nil pointer ends the run
		runtime.GC()  // visits every pointer that the run left
	}()
	if second, err := m.Snapshot(Snapshot{}); err == nil {
		if _, err := ReadSnapshot(second); err != nil {
			panic(err)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	_, _ = m.Resume(ctx)
	return true
}

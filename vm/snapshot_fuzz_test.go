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
// their SHA-256. If Restore accepts a snapshot, the run is resumed. The run may fail in any way
// from which Go can recover, but it must not corrupt memory.
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

// TestSnapshotDamaged checks that Restore rejects a snapshot with one changed byte. If the SHA-256
// is corrected, the snapshot may be rejected or resumed, but the run must not corrupt memory.
func TestSnapshotDamaged(t *testing.T) {
	a, all := fuzzedSnapshots(t)
	refused, went := 0, 0
	for n, data := range all {
		body := bytes.IndexByte(data, '\n') + 1
		for i := 0; i < len(data)-sha256.Size; i++ {
			other := bytes.Clone(data)
			other[i] ^= byte(1 << ((i + n) % 8))
			if _, err := Restore(fuzzConfig(a), other); !errors.As(err, new(*DamagedError)) {
				t.Fatalf("changed byte %d of snapshot %d: Restore returned %v, want a *DamagedError", i, n, err)
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
				t.Fatalf("first %d bytes of snapshot %d: Restore returned %v, want a *DamagedError", cut, n, err)
			}
		}
	}
	if refused == 0 || went == 0 {
		t.Errorf("%d snapshots were rejected and %d resumed, want some of both", refused, went)
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
		t.Fatalf("the run took %d snapshots and returned %v, want at least 5 snapshots", len(all), err)
	}
	return a, all
}

// edited applies edits to the body of a snapshot and corrects its SHA-256. Each edit has four
// bytes: two for the offset, the new byte, and the choice whether to replace, insert or remove a
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

// sealed returns the snapshot with a correct SHA-256.
func sealed(data []byte) []byte {
	end := len(data) - sha256.Size
	sum := sha256.Sum256(data[:end])
	return append(data[:end:end], sum[:]...)
}

// goOn restores a snapshot and runs it for a while. It returns false if Restore rejects the
// snapshot.
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
		runtime.GC()  // the collector visits every pointer that the run left
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

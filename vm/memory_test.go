package vm

import (
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/data/value"
)

// TestMemoryLimit checks that operations of the dispatch loop observe the limit. The place of the
// error is the instruction that requests memory, or the instruction at which the budget is used up.
// A region around that place catches the error.
func TestMemoryLimit(t *testing.T) {
	const message = "the program's values need more than the 8 MiB that [limits] max_memory_mb allows"
	for _, c := range []struct {
		name, code string
		line       int
	}{
		{"push", "NewArray r1 r1 0\nLoadInt r2 7\n@more: ArrayPushInt r1 r2\nLoop @more", 3},
		{"concat", "LoadConst r1 k0\n@more: Concat r1 r1 r1\nLoop @more", 2},
		{"map", "NewMap r1 r1 0\nLoadInt r2 0\n@more: BoxInt r3 r2\nMapSet r1 r3 r3\nAddIntK r2 r2 1\nLoop @more", 4},
		// A list of pairs, each of which is small. The check at the end of a loop iteration detects
		// them.
		{"small", "LoadNil r2\n@more: LoadNil r3\nNewTuple r2 r2 2\nLoop @more", 2},
		{"caught", `
			@from: LoadNil r2
			@more: LoadNil r3
			NewTuple r2 r2 2
			Loop @more
			@to: LoadNil r2
			@caught: LoadNil r2
			Throw r4
			catch @from @to @caught r4`, 7},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := newAsm()
			a.str("0123456789abcdef")
			a.fn("main() Full 8", c.code+"\nReturn r1")
			a.Limits.MaxMemoryMB = 8
			if u := a.wantError(t, message); u != nil && u.Line != c.line {
				t.Errorf("error at line %d, want %d", u.Line, c.line)
			}
		})
	}
}

// TestMemoryCollects checks that garbage counts until a collection. A collection happens when the
// limit is reached, and not at each measurement after that.
func TestMemoryCollects(t *testing.T) {
	var m memory
	m.begin(64, nil, nil)
	for range 200 {
		garbage = make([]byte, 1<<20)
		if !m.fits(1 << 20) {
			t.Fatal("fits(1 MiB) = false although all earlier memory is garbage")
		}
	}
	blocks := make([][]byte, 0, 64)
	for len(blocks) < 100 && m.fits(1<<20) {
		blocks = append(blocks, make([]byte, 1<<20))
	}
	if n := len(blocks); n < 50 || n > 75 {
		t.Errorf("%d blocks of 1 MiB fit into 64 MiB, want 50 to 75", n)
	}
	if m.fits(65 << 20) {
		t.Error("fits(65 MiB) = true with a limit of 64 MiB")
	}
	if blocks = nil; !m.fits(1 << 20) {
		t.Error("fits(1 MiB) = false after all blocks were released")
	}
	var none memory
	none.begin(0, nil, nil)
	if !none.fits(1 << 60) {
		t.Error("fits = false without a limit")
	}
}

var garbage []byte

// TestNativesReserveMemory checks that a native can reserve memory before it allocates, and that
// the length of a text is limited.
func TestNativesReserveMemory(t *testing.T) {
	natives := map[string]Native{
		"ask": func(a *Args) (value.Slot, error) {
			a.Room(int(a.Int(0)))
			return value.Nil, nil
		},
		"text": func(a *Args) (value.Slot, error) {
			return value.String(string(value.AppendTextWithin(nil, a.Slot(0), a.TextBound()))), nil
		},
	}
	run := func(code string) error {
		a := newAsm()
		a.int(7 << 20)
		a.int(9 << 20)
		a.str(strings.Repeat("x", 5<<20))
		a.Natives = []string{"ask", "text"}
		a.Limits.MaxMemoryMB = 8
		a.fn("main() Full 8", code+"\nReturn r1")
		_, err := a.run(t, Config{Natives: library(natives)})
		return err
	}
	if err := run("LoadConst r2 k0\nCallNative r1 1 0 n0"); err != nil {
		t.Error(err)
	}
	if err := run("LoadConst r2 k1\nCallNative r1 1 0 n0"); err == nil || !strings.Contains(err.Error(), "max_memory_mb") {
		t.Error(err)
	}
	if err := run("LoadConst r3 k2\nMove r4 r3\nNewArray r2 r3 2\nCallNative r1 1 0 n1"); err == nil || !strings.Contains(err.Error(), "max_memory_mb") {
		t.Error(err)
	}
}

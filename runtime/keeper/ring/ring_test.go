package ring

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// small returns a ring of n bytes.
func small(n int) *Ring { return newRing(make([]byte, headerSize+n)).init() }

// TestRing compares a ring with a list of bytes: after any sequence of reads and acknowledgements,
// Recover returns what was read and not acknowledged, also if the head was not moved after the last
// read.
func TestRing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := small(rapid.IntRange(1, 100).Draw(t, "size"))
		var all []byte // bytes that were read
		var acked Position
		moved := true // the head was moved after the last read
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			if rapid.Bool().Draw(t, "read") && moved {
				space := r.Space(rapid.IntRange(1, 40).Draw(t, "n"))
				if free := int(r.size()) - (len(all) - int(acked.Bytes)); (len(space) == 0) != (free == 0) {
					t.Fatalf("Space returns %d bytes, and %d are free", len(space), free)
				}
				for i := range space {
					space[i] = "ab\n"[rapid.IntRange(0, 2).Draw(t, "byte")]
				}
				all = append(all, space...)
				if moved = rapid.IntRange(0, 9).Draw(t, "moved") > 0; moved {
					r.Advance(len(space))
				}
			} else if lines := bytes.Count(all[acked.Bytes:], []byte("\n")); moved && lines > 0 {
				n := rapid.IntRange(1, lines).Draw(t, "lines")
				acked.Lines += int64(n)
				for range n {
					acked.Bytes += int64(bytes.IndexByte(all[acked.Bytes:], '\n') + 1)
				}
				r.Acknowledge(acked.Lines, acked)
			}
			expectContent(t, r, all, acked)
		}
	})
}

func expectContent(t interface{ Fatalf(string, ...any) }, r *Ring, all []byte, acked Position) {
	c, err := r.Recover()
	if err != nil || c.Acked != acked || c.Lines != acked.Lines || string(c.Text) != string(all[acked.Bytes:]) {
		t.Fatalf("Recover = %+v, error %v; want %q after %+v", c, err, all[acked.Bytes:], acked)
	}
}

// TestZeroBytes checks that zero bytes within the content are recovered.
func TestZeroBytes(t *testing.T) {
	r := small(20)
	r.Advance(copy(r.Space(20), "a\x00\x00"))
	copy(r.Space(20), "\x00b\n")
	expectContent(t, r, []byte("a\x00\x00\x00b\n"), Position{})
}

// TestWritten checks that Recover returns the numbers that the run has stored.
func TestWritten(t *testing.T) {
	r := small(20)
	r.Advance(copy(r.Space(20), "a\nb\nc"))
	r.SetWritten(17)
	r.Acknowledge(1, Position{})
	c, err := r.Recover()
	if err != nil || c.Written != 17 || c.Lines != 1 || string(c.Text) != "a\nb\nc" {
		t.Errorf("Recover = %+v, error %v", c, err)
	}
}

// FuzzRecover writes any bytes over the header and the data. Recover must return ErrDamaged or a
// part of the data.
func FuzzRecover(f *testing.F) {
	f.Add([]byte{}, []byte{})
	f.Add(bytes.Repeat([]byte{0xff}, 100), []byte("abc\n"))
	f.Add(append(make([]byte, 24), 1), bytes.Repeat([]byte("\n"), 64))
	f.Add(append([]byte{64, 0, 0, 0, 0, 0, 0, 0, 65}, make([]byte, 40)...), []byte("x"))
	f.Add([]byte(strings.Repeat("\x7f", 16)), []byte("x"))
	f.Fuzz(func(t *testing.T, header, data []byte) {
		r := small(64)
		copy(r.mem[:headerSize], header)
		copy(r.data, data)
		c, err := r.Recover()
		switch {
		case err != nil && !errors.Is(err, ErrDamaged):
			t.Fatal(err)
		case err != nil:
			return
		}
		if len(c.Text) > 64 || c.Acked.Bytes < 0 || c.Acked.Lines < 0 || c.Lines > c.Acked.Lines+int64(len(c.Text)) {
			t.Errorf("Recover = %+v", c)
		}
		for i, b := range c.Text {
			if want := r.data[(int(c.Acked.Bytes)+i)%64]; b != want {
				t.Fatalf("byte %d of the content = %d, want %d", i, b, want)
			}
		}
	})
}

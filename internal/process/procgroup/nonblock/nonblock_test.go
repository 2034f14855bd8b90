//go:build unix

package nonblock

import (
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"
)

// TestReader checks that a reader waits for data, returns what has arrived, obeys a deadline and
// reports the end.
func TestReader(t *testing.T) {
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	r, err := NewReader(out)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Repeat("0123456789", 100_000) // more than a pipe holds
	go func() {
		io.WriteString(in, text)
		in.Close()
	}()
	got, err := io.ReadAll(r)
	if err != nil || string(got) != text {
		t.Errorf("read %d bytes, error %v; want %d bytes", len(got), err, len(text))
	}
	if n, err := r.Read(nil); n != 0 || err != nil {
		t.Errorf("a read of no bytes = %d, error %v", n, err)
	}
}

func TestDeadline(t *testing.T) {
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	r, err := NewReader(out)
	if err != nil {
		t.Fatal(err)
	}
	if err := out.SetReadDeadline(time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	if n, err := r.Read(make([]byte, 1)); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("Read after the deadline = %d, error %v", n, err)
	}
	out.Close()
	if _, err := r.Read(make([]byte, 1)); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("Read of a closed pipe: error %v", err)
	}
}

// TestWrite checks that Write stops when a pipe is full.
func TestWrite(t *testing.T) {
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	defer in.Close()
	raw, err := in.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	total := 0
	if err := raw.Control(func(fd uintptr) {
		for n := 1; n > 0; total += n {
			n, _ = Write(int(fd), make([]byte, 10_000))
		}
	}); err != nil || total == 0 {
		t.Errorf("a pipe accepts %d bytes, error %v", total, err)
	}
	if got, err := io.ReadFull(out, make([]byte, total)); err != nil {
		t.Errorf("read %d of %d bytes, error %v", got, total, err)
	}
}

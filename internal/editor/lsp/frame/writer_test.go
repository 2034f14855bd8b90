package frame

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"testing"
)

// TestWriter checks that messages arrive in order and that messages queued before Close arrive.
func TestWriter(t *testing.T) {
	var out bytes.Buffer
	w := NewWriter(&out, nil)
	for _, text := range []string{"a", "bc", "d"} {
		w.Write([]byte(text))
	}
	w.Flush()
	if out.Len() == 0 {
		t.Error("the message is not written after Flush")
	}
	w.Close()
	r := bufio.NewReader(&out)
	for _, want := range []string{"a", "bc", "d"} {
		if got, err := Read(r); err != nil || string(got) != want {
			t.Errorf("message = %q, error %v; want %q", got, err, want)
		}
	}
}

// TestWaitRoom checks that WaitRoom blocks while the client does not read. It returns when the
// client reads, when stop is closed or when the client disconnects.
func TestWaitRoom(t *testing.T) {
	fill := func() (w *Writer, in *io.PipeReader, waited chan struct{}, stop chan struct{}) {
		in, out := io.Pipe()
		w, waited, stop = NewWriter(out, nil), make(chan struct{}), make(chan struct{})
		w.WaitRoom(nil) // the queue is empty, so WaitRoom returns immediately
		w.Write(make([]byte, maxQueued))
		go func() { w.WaitRoom(stop); close(waited) }()
		return w, in, waited, stop
	}
	t.Run("read", func(t *testing.T) {
		w, in, waited, _ := fill()
		if _, err := Read(bufio.NewReader(in)); err != nil {
			t.Fatal(err)
		}
		<-waited
		w.Close()
	})
	t.Run("stopped", func(t *testing.T) {
		w, in, waited, stop := fill()
		select {
		case <-waited:
			t.Error("WaitRoom returned, want it to block")
		default:
		}
		close(stop)
		<-waited
		_ = in.Close()
		w.Close()
	})
	t.Run("gone", func(t *testing.T) {
		w, in, waited, _ := fill()
		_ = in.CloseWithError(errors.New("gone"))
		<-waited
		w.Write([]byte("dropped"))
		w.Close()
	})
}

package dap

import (
	"bufio"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/google/go-dap"
)

// brokenRequest is a request that panics when its response is created for the first time.
type brokenRequest struct {
	dap.Request
	asked bool
}

func (b *brokenRequest) GetRequest() *dap.Request {
	if !b.asked {
		b.asked = true
		panic("broken")
	}
	return &b.Request
}

// TestPanic checks that a panic during a request becomes an error response and that the session
// continues. This includes a panic on the run's goroutine.
func TestPanic(t *testing.T) {
	output, out := io.Pipe()
	s := newSession(&Adapter{}, out)
	s.begun = true
	go func() {
		if !s.handleSafely(&brokenRequest{Request: dap.Request{ProtocolMessage: dap.ProtocolMessage{Seq: 7, Type: "request"}, Command: "next"}}) {
			t.Error("a panic closed the session")
		}
	}()
	reader := bufio.NewReader(output)
	for i, want := range []string{"panic: broken\n\ngoroutine ", `"success":false,"command":"next","message":"internal error, which is a bug in Concerto: broken"`} {
		text, err := dap.ReadBaseMessage(reader)
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			var m struct{ Body struct{ Output string } }
			if err := json.Unmarshal(text, &m); err != nil {
				t.Fatal(err)
			}
			text = []byte(m.Body.Output)
		}
		if !strings.Contains(string(text), want) {
			t.Errorf("message = %s, want it to contain %q", text, want)
		}
	}
	r := newRun(s)
	go func() {
		<-r.debuggee.queue.wake
		r.serve()
	}()
	defer func() {
		if p, ok := recover().(*runPanic); !ok || p.value != "in the run" {
			t.Errorf("do panicked with %v, want a *runPanic", p)
		}
	}()
	r.do(func() { panic("in the run") })
}

// TestMessageTooLong checks that Serve rejects a message above the maximum length.
func TestMessageTooLong(t *testing.T) {
	err := (&Adapter{}).Serve(strings.NewReader("Content-Length: 99999999999\r\n\r\n"), io.Discard)
	if err == nil || !strings.Contains(err.Error(), "a message has 99999999999 bytes, more than the maximum of 67108864") {
		t.Error(err)
	}
}

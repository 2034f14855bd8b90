package dap

import (
	"bufio"
	"encoding/json"
	"io"
	"slices"
	"testing"

	"github.com/google/go-dap"
)

// TestLostRunIsReported launches a run that does not end when it is interrupted. Before the process
// abandons the run, the editor receives the terminated event and the response to its request.
func TestLostRunIsReported(t *testing.T) {
	in, typed := io.Pipe()
	output, out := io.Pipe()
	left, served := make(chan struct{}), make(chan error, 1)
	a := &Adapter{Command: func(_ *Launch, r *Run) int {
		r.load()
		go func() {
			<-r.Interrupt
			r.Lost(130)
			close(left)
		}()
		select {} // block forever
	}}
	go func() { served <- a.Serve(in, out) }()
	reader := bufio.NewReader(output)
	next := func() (m struct {
		Type, Event, Command string
		Body                 struct{ ExitCode int }
	}) {
		text, err := dap.ReadBaseMessage(reader)
		if err == nil {
			err = json.Unmarshal(text, &m)
		}
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	for seq, command := range []string{"initialize", "launch", "terminate"} {
		text, err := json.Marshal(map[string]any{"seq": seq + 1, "type": "request", "command": command, "arguments": map[string]any{"adapterID": "x", "program": "main.conc"}})
		if err == nil {
			err = dap.WriteBaseMessage(typed, text)
		}
		if err != nil {
			t.Fatal(err)
		}
		if command == "terminate" {
			break
		}
		for m := next(); m.Command != command; m = next() {
		}
	}
	// the response to terminate has no order relative to the two events
	for rest := []string{"", "exited", "terminated"}; len(rest) > 0; {
		m := next()
		at := slices.Index(rest, m.Event)
		if at < 0 || m.Event == "terminated" && rest[max(at-1, 0)] == "exited" || m.Event == "exited" && m.Body.ExitCode != 130 {
			t.Fatalf("received %+v, want one of the events %q", m, rest)
		}
		rest = slices.Delete(rest, at, at+1)
	}
	if err := dap.WriteBaseMessage(typed, []byte(`{"seq":9,"type":"request","command":"disconnect"}`)); err != nil {
		t.Fatal(err)
	}
	if m := next(); m.Command != "disconnect" {
		t.Errorf("received %+v, want the response to disconnect", m)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
	<-left
}

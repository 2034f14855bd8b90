package server_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/server/servertest"
)

// sealedFrame returns a frame with the form of a sealed event.
func sealedFrame(typ string, seq, epoch int, more string) []byte {
	return fmt.Appendf(nil, `{"type":%q,"ts":"2026-01-02T15:04:05.000Z","run_id":"run_a","seq":%d,"enc":{"epoch":%d,"v":1},"data":{"ct":"ct%d","prev":""%s}}`, typ, seq, epoch, seq, more)
}

// TestSealedRun sends the events of a sealed run. The server has its states and requests, and
// everything that it would read from the data is empty.
func TestSealedRun(t *testing.T) {
	t.Parallel()
	r := servertest.StartNow(t)
	h, welcome := r.Hello("host_a", protocol.HelloData{})
	defer h.Close()
	if !strings.Contains(strings.Join(welcome.Features, " "), protocol.FeatureSealed) {
		t.Errorf("features = %v", welcome.Features)
	}
	old := r.App(servertest.Viewer, "")
	h.Raw(sealedFrame(protocol.RunStarted, 1, 7, ""))
	h.Raw(sealedFrame("run.sealed", 2, 7, ""))
	h.Raw(sealedFrame(protocol.RunPermissionRequested, 3, 7, `,"request_id":"q"`))
	h.Acked("run_a", 3)

	type row struct {
		Tool, Cwd, Command, Title, Status string
		Sealed                            bool
		Pending                           []json.RawMessage
	}
	request := `{"ct":"ct3","enc":{"epoch":7,"v":1},"prev":"","request_id":"q","run_id":"run_a","seq":3,"state":"open","ts":"2026-01-02T15:04:05.000Z"}`
	got := get[row](r, "/runs/run_a")
	want := row{Status: "awaiting_approval", Sealed: true, Pending: []json.RawMessage{json.RawMessage(request)}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if text := get[json.RawMessage](r, "/inbox"); !strings.Contains(string(text), `"ct":"ct3"`) || !strings.Contains(string(text), `"epoch":7`) {
		t.Errorf("inbox = %s", text)
	}
	if all := get[[]json.RawMessage](r, "/runs/run_a/messages"); len(all) != 0 {
		t.Errorf("messages = %s", all)
	}

	h.Raw(sealedFrame(protocol.RunPermissionRequested, 3, 8, `,"request_id":"q"`))
	if d := h.NextError(); d.Code != protocol.SeqConflict {
		t.Errorf("the event with another epoch: %+v", d)
	}
	h.Raw(sealedFrame(protocol.RunPermissionRequested, 3, 7, `,"request_id":"q"`)) // a duplicate
	h.Raw(sealedFrame(protocol.RunGap, 9, 7, `,"from":4`))
	h.Raw(sealedFrame(protocol.RunPermissionResolved, 10, 7, `,"request_id":"q"`))
	h.Raw(sealedFrame("run.sealed", 11, 7, ""))
	h.Raw(sealedFrame(protocol.RunExited, 12, 7, ""))
	h.Raw(sealedFrame("run.sealed", 13, 7, "")) // its head
	h.Acked("run_a", 13)
	if got := get[row](r, "/runs/run_a"); got.Status != "exited" || len(got.Pending) != 0 {
		t.Errorf("ended run = %+v", got)
	}
	if all := get[struct{ Decisions []any }](r, "/decisions"); len(all.Decisions) != 0 {
		t.Errorf("history = %v", all)
	}
	page := get[struct{ Events []json.RawMessage }](r, "/runs/run_a/events")
	if len(page.Events) != 8 || !strings.Contains(string(page.Events[3]), `"from":4`) || !strings.Contains(string(page.Events[3]), `"enc":`) {
		t.Errorf("events = %s", page.Events)
	}

	// An app that speaks protocol 1 receives what the server writes.
	for _, want := range []string{
		`{"type":"run.started","ts":"2026-01-02T15:04:05.000Z","host_id":"host_a","run_id":"run_a","seq":1,"data":{"tool":"sealed","cwd":"","command":""}}`,
		`{"type":"run.output","ts":"2026-01-02T15:04:05.000Z","host_id":"host_a","run_id":"run_a","seq":2,"data":{"stream":"stdout","text":"This run is sealed. Open it on an enrolled device.\n"}}`,
		`{"type":"run.exited","ts":"2026-01-02T15:04:05.000Z","host_id":"host_a","run_id":"run_a","seq":12,"data":{"exit_code":-1}}`,
	} {
		e := old.Read()
		for e.Seq == 0 {
			e = old.Read()
		}
		if got := string(e.Append(nil)); got != want {
			t.Errorf("frame = %s, want %s", got, want)
		}
	}
}

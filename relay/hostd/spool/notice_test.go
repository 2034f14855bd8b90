package spool_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/concerto-lang/concerto/relay/hostd/spool"
	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/seal"
)

// noticesOf opens the bodies of an event by device.
func (a *account) noticesOf(t *testing.T, e *protocol.Envelope) map[string]seal.Notice {
	t.Helper()
	s, err := parse(e)
	if err != nil {
		t.Fatal(err)
	}
	var bodies map[string]string
	if s.Data.Push != nil {
		if err := json.Unmarshal(s.Data.Push, &bodies); err != nil {
			t.Fatal(err)
		}
	}
	all := map[string]seal.Notice{}
	for device, body := range bodies {
		n, err := a.epochs[s.Enc.Epoch-1].OpenPush(s, device, body)
		if err != nil {
			t.Fatalf("%s: %v", device, err)
		}
		all[device] = *n
	}
	return all
}

// TestNotices checks the bodies for push messages: requests, outcomes and exits have one for each
// browser, with the title that the run has then, also after a restart. Other events have none. An
// event is sent again with the same bodies, and they do not change its tag.
func TestNotices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAccount("a_1")
		a.browsers = []string{"d_phone", "d_laptop"}
		a.rotate()
		file := filepath.Join(t.TempDir(), "spool.db")
		s := open(t, file, spool.Options{Keys: a})
		title := "the release"
		commit(t, s, "run_a", started, request("r1"), spool.Event{Type: protocol.RunMeta, Data: protocol.Meta{Title: &title}})
		commit(t, s, "run_b", request("r1")) // has neither a title nor a tool
		before := framesOf(next(t, s, "run_a", 0, 9))
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		a.rotate()
		s = open(t, file, spool.Options{Keys: a})
		if after := framesOf(next(t, s, "run_a", 0, 9)); after != before || !strings.Contains(before, `"push":{`) {
			t.Errorf("events after the restart =\n%s\nwant\n%s", after, before)
		}
		commit(t, s, "run_a", spool.Event{Type: protocol.RunPermissionResolved, Data: protocol.PermissionResolved{RequestID: "r1", Decision: "approve"}}, exited)
		var got []string
		r := newReader(a)
		for _, e := range append(next(t, s, "run_a", 0, 99), next(t, s, "run_b", 0, 1)...) {
			all := a.noticesOf(t, &e)
			if len(all) != 0 && len(all) != 2 || all["d_phone"] != all["d_laptop"] {
				t.Errorf("%s: notices = %+v", e.Type, all)
			}
			if n, ok := all["d_phone"]; ok {
				got = append(got, e.RunID+": "+n.Title+": "+n.Summary)
				if n.TS != e.TS {
					t.Errorf("ts = %s, want %s", n.TS, e.TS)
				}
			}
			if _, rest, why := protocol.SplitPush(e.Data); why != nil || bytes.Contains(rest, []byte("push")) {
				t.Errorf("%s, %v", rest, why)
			} else if e.Data = rest; e.RunID == "run_a" {
				if _, err := r.read(&e); err != nil { // what readers receive
					t.Errorf("%s %d: %v", e.Type, e.Seq, err)
				}
			}
		}
		expect(t, got, "run_a: t: it requests a permission", "run_a: the release: it is decided, or was withdrawn", "run_a: the release: it has ended: exit code 3",
			"run_b: run_b: it requests a permission")
	})
}

// TestNoticeWithoutSpace checks that a request has no bodies if they do not fit into its frame.
func TestNoticeWithoutSpace(t *testing.T) {
	t.Parallel()
	a := newAccount("a_1")
	for i := range 150 {
		a.browsers = append(a.browsers, fmt.Sprint("d_", i))
	}
	a.rotate()
	s := open(t, filepath.Join(t.TempDir(), "spool.db"), spool.Options{Keys: a})
	for size, want := range map[int]int{100: 150, 3_060_000: 0} {
		run := fmt.Sprint("run_", want)
		e := request("r1")
		d := e.Data.(protocol.PermissionRequested)
		d.OpArgs = json.RawMessage(`{"a":"` + strings.Repeat("x", size) + `"}`)
		e.Data = d
		commit(t, s, run, e)
		all := next(t, s, run, 0, 1)
		if n := len(a.noticesOf(t, &all[0])); n != want {
			t.Errorf("%d bodies of a request with %d bytes, want %d", n, size, want)
		}
		if n := len(all[0].Append(nil)); n > protocol.MaxFrame {
			t.Errorf("the frame has %d bytes", n)
		}
	}
}

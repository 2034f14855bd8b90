package client

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/internal/testkit/testevents"
	"github.com/concerto-lang/concerto/relay/protocol"
)

// TestFleet checks the tasks that a relay receives: workspaces and hosts with their agents, states,
// costs and last lines, and the numbers of the queues.
func TestFleet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &Source{wake: make(chan struct{}, 1)}
		s.places.init()
		s.conversations.open = map[string]conversation{}
		r := testevents.New(nil, s.Sink())
		perform := func(q effect.Request, x effect.Result, err error) { r.Perform(1, q, x, err) }
		message := func(id int64, typ string, payload string) {
			m, err := value.ParseWire([]byte(payload))
			if err != nil {
				t.Fatal(err)
			}
			perform(&effect.ExchangeNext{ID: id}, &effect.ExchangeMessages{Messages: []effect.HostMessage{{Type: typ, Payload: m}}}, nil)
		}
		merge := func(kind, channel, data string) {
			perform(&effect.MergeNext{ID: 1}, &effect.MergeEvent{Kind: kind, Channel: channel, Data: []byte(data)}, nil)
		}
		last := func() (out *protocol.Fleet) {
			time.Sleep(placesPause)
			synctest.Wait()
			s.mu.Lock()
			text, _ := lines(&s.queue)
			s.mu.Unlock()
			for line := range strings.Lines(text) {
				var e struct {
					Data struct{ Fleet *protocol.Fleet }
				}
				if err := json.Unmarshal([]byte(line), &e); err != nil {
					t.Fatal(err)
				}
				if e.Data.Fleet != nil {
					out = e.Data.Fleet
				}
			}
			return out
		}
		describe := func(f *protocol.Fleet) []string {
			if f == nil {
				return nil
			}
			out := []string{fmt.Sprintf("%d working, %d merged, %d failed, %d in all", f.Working, f.Merged, f.Failed, f.Total)}
			for _, x := range f.Tasks {
				cost := ""
				if x.CostUSD != nil {
					cost = fmt.Sprintf("$%.2f", *x.CostUSD)
				}
				if _, err := time.Parse(time.RFC3339, x.Since); err != nil {
					t.Errorf("task %s: since = %q", x.Task, x.Since)
				}
				out = append(out, strings.Join(strings.Fields(fmt.Sprintf("%s %s %s %s %s %q", x.Task, x.Agent, x.State, x.Note, cost, x.Last)), " "))
			}
			for _, q := range f.Queues {
				out = append(out, fmt.Sprintf("queue %s %d %d/%d %d %d", q.Name, q.Queued, q.Tested, q.Batch, q.Merged, q.Failed))
			}
			return out
		}
		want := func(want ...string) {
			t.Helper()
			if d := cmp.Diff(want, describe(last())); d != "" {
				t.Errorf("fleet (-want +got):\n%s", d)
			}
		}
		perform(&effect.ExchangeOpen{Host: "Lone"}, &effect.ExchangeOpened{ID: 1}, nil)
		message(1, "progress", `{"message":"alone","cost_usd":0.5}`)
		want() // one host is no fleet
		perform(&effect.WorkOpen{Name: "fix"}, &effect.WorkspaceInfo{Name: "fix"}, nil)
		perform(&effect.ExchangeOpen{Host: "Coder", Workspace: "fix"}, &effect.ExchangeOpened{ID: 2}, nil)
		message(2, "progress", `{"message":"Bash: go test\nmore","stage":"tool","cost_usd":0.25}`)
		message(2, "progress", `{"message":"12 tokens","stage":"usage","cost_usd":0.5}`)
		message(2, "log", `{"message":"a remark"}`)
		want("2 working, 0 merged, 0 failed, 2 in all", `Lone Lone working $0.50 "alone"`, `fix Coder working $0.50 "Run a command: go test"`)
		perform(&effect.ExchangeOpen{Host: "Tester", Workspace: "fix"}, &effect.ExchangeOpened{ID: 3}, nil)
		perform(&effect.ExchangeClose{ID: 3}, nil, nil)
		message(1, "error", `{"message":"no model"}`)
		perform(&effect.ExchangeClose{ID: 1}, nil, nil)
		want("1 working, 0 merged, 1 failed, 2 in all", `Lone Lone failed no model $0.50 "alone"`, `fix Coder working $0.50 "Run a command: go test"`)
		message(2, "result", `{"text":"All done.\nReally.","cost_usd":0.75}`)
		perform(&effect.ExchangeClose{ID: 2}, nil, nil)
		perform(&effect.ExchangeOpen{Host: "Gone", Workspace: "b"}, nil, effect.Errorf("HostError", "not found"))
		want("0 working, 0 merged, 2 failed, 3 in all", `Lone Lone failed no model $0.50 "alone"`, `fix Coder idle $0.75 "All done."`, `b Gone failed not found ""`)
		perform(&effect.MergeSubmit{Queue: "main", Name: "fix"}, &effect.MergeSubmitted{ID: "the fix"}, nil)
		perform(&effect.MergeSubmit{Queue: "main", Name: "b"}, &effect.MergeSubmitted{ID: "b"}, nil)
		perform(&effect.MergeOpen{Queue: "main"}, &effect.MergeOpened{ID: 1}, nil)
		merge(effect.MergeProgress, "", `{"queued":2,"tested":1,"batch":2}`)
		want("0 working, 0 merged, 1 failed, 3 in all", `Lone Lone failed no model $0.50 "alone"`, `fix Coder submitted main $0.75 "All done."`, `b Gone submitted main ""`, "queue main 2 1/2 0 0")
		merge("emit", effect.ChannelLanded, `{"changes":["the fix"]}`)
		merge("emit", effect.ChannelFailed, `{"change":"b","kind":"red"}`)
		merge(effect.MergeProgress, "", `{"merged":1,"failed":1}`)
		perform(&effect.WorkRemove{Name: "fix"}, nil, nil)
		perform(&effect.WorkRemove{Name: "b"}, nil, nil)
		want("0 working, 1 merged, 2 failed, 3 in all", `Lone Lone failed no model $0.50 "alone"`, `fix Coder merged $0.75 "All done."`, `b Gone failed red ""`, "queue main 0 0/0 1 1")
		for i := range protocol.MaxFleetTasks + 50 {
			name := fmt.Sprintf("w%d", i)
			perform(&effect.WorkOpen{Name: name}, &effect.WorkspaceInfo{Name: name}, nil)
		}
		f := last()
		if len(f.Tasks) != protocol.MaxFleetTasks || f.Total != protocol.MaxFleetTasks+53 || f.Merged != 1 || f.Tasks[len(f.Tasks)-1].Task != "w249" {
			t.Errorf("fleet with many tasks: %d of %d tasks, %d merged", len(f.Tasks), f.Total, f.Merged)
		}
		s.endPlaces()
	})
}

// TestHostsAreFleet checks that a run with more than three hosts is a fleet.
func TestHostsAreFleet(t *testing.T) {
	s := &Source{wake: make(chan struct{}, 1)}
	s.places.init()
	for i, name := range []string{"A", "B", "C", "A", "D"} {
		if s.places.fleet.IsFleet {
			t.Errorf("the run is a fleet before host %d", i)
		}
		testevents.New(nil, s.Sink()).Perform(1, &effect.ExchangeOpen{Host: name}, nil, effect.Errorf("HostError", "not found"))
	}
	s.endPlaces()
	if f := s.places.fleetOf(); !s.places.fleet.IsFleet || len(f.Tasks) != 4 || f.Failed != 4 {
		t.Errorf("fleet = %+v, want four hosts", f)
	}
}

package client

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/testkit/testevents"
	"github.com/concerto-lang/concerto/relay/protocol"
)

// TestPlaces checks the merge queues and workspaces in the structure that a relay receives: the
// first change is reported at once, and later ones together.
func TestPlaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &Source{wake: make(chan struct{}, 1)}
		s.places.init()
		s.conversations.open = map[string]conversation{}
		s.Begin("r", json.RawMessage(`{"nodes":[{"id":"host:Coder"}],"edges":[{"from":"a"}],"drawing":{"width":1}}`), nil, nil)
		r := testevents.New(nil, s.Sink())
		perform := func(q effect.Request, x effect.Result, err error) { r.Perform(1, q, x, err) }
		merge := func(kind, channel, data string) {
			perform(&effect.MergeNext{ID: 1}, &effect.MergeEvent{Kind: kind, Channel: channel, Data: []byte(data)}, nil)
		}
		reported := func() (all []string) {
			s.mu.Lock()
			text, _ := lines(&s.queue)
			s.mu.Unlock()
			for line := range strings.Lines(text) {
				var e struct {
					Event string
					Data  struct{ Structure placesGraph }
				}
				if err := json.Unmarshal([]byte(line), &e); err != nil {
					t.Fatal(err)
				}
				if e.Event != protocol.RunMeta || !strings.Contains(line, `"structure"`) {
					continue
				}
				g := e.Data.Structure
				if len(g.Nodes) == 0 || string(g.Nodes[0]) != `{"id":"host:Coder"}` || len(g.Edges) != 1 || string(g.Drawing) != `{"width":1}` {
					t.Errorf("structure = %s, want that of the program", line)
				}
				var nodes []string
				for _, node := range g.Nodes[1:] {
					var x place
					if err := json.Unmarshal(node, &x); err != nil || x.ID != x.Kind+":"+x.Name {
						t.Errorf("node %s: %v", node, err)
					}
					nodes = append(nodes, x.ID+" "+x.State)
				}
				all = append(all, strings.Join(nodes, ", "))
			}
			return all
		}
		want := func(want ...string) {
			t.Helper()
			if d := cmp.Diff(want, reported()); d != "" {
				t.Errorf("reports (-want +got):\n%s", d)
			}
		}
		want("")
		perform(&effect.WorkOpen{Name: "none"}, nil, effect.Errorf("GitError", "no repository"))
		perform(&effect.ExchangeOpen{Host: "Coder"}, &effect.ExchangeOpened{ID: 1}, nil)
		want()
		perform(&effect.WorkOpen{Name: "fix"}, &effect.WorkspaceInfo{Name: "fix"}, nil)
		want("workspace:fix open")
		perform(&effect.ExchangeOpen{Host: "Coder", Workspace: "fix"}, &effect.ExchangeOpened{ID: 2}, nil)
		perform(&effect.ExchangeOpen{Host: "Tester", Workspace: "fix"}, &effect.ExchangeOpened{ID: 3}, nil)
		want()
		time.Sleep(placesPause)
		synctest.Wait()
		want("workspace:fix Tester works")
		perform(&effect.ExchangeClose{ID: 3}, nil, nil)
		perform(&effect.WorkOpen{Name: "b"}, &effect.WorkspaceInfo{Name: "b"}, nil)
		time.Sleep(placesPause)
		synctest.Wait()
		want("workspace:fix Coder works, workspace:b open")
		perform(&effect.ExchangeClose{ID: 2}, nil, nil)
		perform(&effect.MergeSubmit{Queue: "main", Name: "fix"}, &effect.MergeSubmitted{ID: "the fix"}, nil)
		perform(&effect.MergeSubmit{Queue: "main", Name: "b"}, &effect.MergeSubmitted{ID: "b"}, nil)
		perform(&effect.MergeOpen{Queue: "main"}, &effect.MergeOpened{ID: 1}, nil)
		merge(effect.MergeProgress, "", `{"queued":2,"tested":1,"batch":2,"merged":0,"failed":0}`)
		time.Sleep(placesPause)
		synctest.Wait()
		want("workspace:fix submitted to main, workspace:b submitted to main, queue:main 2 queued · gate 1 of 2 · 0 merged · 0 failed")
		merge("emit", effect.ChannelLanded, `{"changes":["the fix"]}`)
		merge("emit", effect.ChannelFailed, `{"change":"b","kind":"red"}`)
		merge(effect.MergeProgress, "", `{"merged":1,"failed":1}`)
		merge(effect.MergeEnd, "", `{"merged":["the fix"],"failed":["b"]}`)
		s.endPlaces()
		want("workspace:b failed: red, queue:main 0 queued · 1 merged · 1 failed")
		perform(&effect.WorkRemove{Name: "b"}, nil, nil)
		s.endPlaces()
		want("queue:main 0 queued · 1 merged · 1 failed")
		s.endPlaces()
		want()
	})
}

// TestPlacesWithoutGraph checks the structure of a program without a graph.
func TestPlacesWithoutGraph(t *testing.T) {
	s := &Source{wake: make(chan struct{}, 1)}
	s.places.init()
	s.Begin("r", nil, nil, nil)
	testevents.New(nil, s.Sink()).Perform(1, &effect.WorkOpen{Name: "fix"}, &effect.WorkspaceInfo{Name: "fix"}, nil)
	s.endPlaces()
	text, _ := lines(&s.queue)
	const want = `{"event":"` + protocol.RunMeta + `","data":{"structure":{"nodes":[{"id":"workspace:fix","kind":"workspace","name":"fix","state":"open"}],"edges":[]}`
	if !strings.Contains(text, want) {
		t.Errorf("events = %s, want %s", text, want)
	}
}

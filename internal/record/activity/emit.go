package activity

import (
	"encoding/json"
	"strings"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/record/eventtext"
)

// handleEmit handles the emits of the VM and the library: listens, and the stages of pipelines.
func (f *Follower) handleEmit(id int64, q *effect.Emit) {
	if q.Channel == eventtext.ProgressChannel {
		f.recordProgress(id, q.Payload)
		return
	}
	if !strings.HasPrefix(q.Channel, "listen:") && !strings.HasPrefix(q.Channel, "pipeline:") {
		return
	}
	var r report
	if json.Unmarshal(q.Payload, &r) != nil {
		return // the program itself has emitted it
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	t := f.tasks[id]
	if t == nil {
		return
	}
	switch q.Channel {
	case "listen:start":
		f.begin(t, Event{Kind: ListenBegan, Task: id, Name: t.name, Host: r.Host})
	case "listen:complete", "listen:error":
		f.endInnermost(t, ListenBegan)
	case "pipeline:stage_start":
		f.begin(t, Event{Kind: StageBegan, Task: id, Name: r.Name + "/" + r.Stage})
	case "pipeline:stage_complete", "pipeline:error":
		f.endInnermost(t, StageBegan)
	}
}

// recordProgress reports a task's progress. The first report of a task begins a number, which ends
// when the task is complete.
func (f *Follower) recordProgress(id int64, payload []byte) {
	var r struct {
		Done, Of float64
		Message  string
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	t := f.tasks[id]
	if t == nil || json.Unmarshal(payload, &r) != nil {
		return
	}
	if t.progress == 0 {
		t.progress = f.nextNumber()
	}
	e := Event{Kind: Progressed, Number: t.progress, Task: id, Name: t.name, Text: r.Message, Percent: eventtext.Percent(r.Done, r.Of)}
	e.Done, e.Of = r.Done, r.Of
	f.emitEvent(e)
	if r.Of > 0 && r.Done >= r.Of {
		f.endProgress(id, t)
	}
}

// endProgress reports that a task's progress has ended.
func (f *Follower) endProgress(id int64, t *task) {
	if t.progress > 0 {
		f.emitEvent(Event{Kind: ProgressEnded, Number: t.progress, Task: id, Name: t.name})
		t.progress = 0
	}
}

// report contains the fields of these emits.
type report struct {
	Host, Name, Stage string
}

func (f *Follower) begin(t *task, e Event) {
	e.Number, e.Percent = f.nextNumber(), -1
	t.within = append(t.within, e)
	f.emitEvent(e)
}

// endInnermost ends the innermost listen or stage of a task.
func (f *Follower) endInnermost(t *task, k Kind) {
	for i := len(t.within) - 1; i >= 0; i-- {
		if t.within[i].Kind != k {
			continue
		}
		e := t.within[i]
		t.within = append(t.within[:i], t.within[i+1:]...)
		e.Kind = ListenEnded
		if k == StageBegan {
			e.Kind = StageEnded
		}
		f.emitEvent(e)
		return
	}
}

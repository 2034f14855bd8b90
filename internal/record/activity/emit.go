package activity

import (
	"encoding/json"
	"strings"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/record/eventtext"
)

// handleEmit handles the emits of the library about listens and the stages of pipelines.
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
		return // the program itself uses the channel, with another payload
	}
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

// recordProgress handles a call of run::progress. The first call of a task assigns a number to the
// task's progress. The progress ends when the reported work is done.
func (f *Follower) recordProgress(id int64, payload []byte) {
	var r struct {
		Done, Of float64
		Message  string
	}
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

// endProgress emits the end of a task's progress, if there is one.
func (f *Follower) endProgress(id int64, t *task) {
	if t.progress > 0 {
		f.emitEvent(Event{Kind: ProgressEnded, Number: t.progress, Task: id, Name: t.name})
		t.progress = 0
	}
}

// report contains the members of an emit's payload.
type report struct {
	Host, Name, Stage string
}

func (f *Follower) begin(t *task, e Event) {
	e.Number, e.Percent = f.nextNumber(), -1
	t.within = append(t.within, e)
	f.emitEvent(e)
}

// endInnermost ends the innermost open listen (k is ListenBegan) or stage (StageBegan) of a task.
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

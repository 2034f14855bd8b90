package activity

import (
	"encoding/json"
	"strings"

	"github.com/concerto-lang/concerto/internal/effect"
)

// emitted hears of what the VM and the library report by emits: listens, and the
// stages of pipelines.
func (f *Follower) emitted(id int64, q *effect.Emit) {
	if !strings.HasPrefix(q.Channel, "listen:") && !strings.HasPrefix(q.Channel, "pipeline:") {
		return
	}
	var r report
	if json.Unmarshal(q.Payload, &r) != nil {
		return // only a program that emits it itself
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	t := f.tasks[id]
	if t == nil {
		return
	}
	switch q.Channel {
	case "listen:start":
		f.enter(t, Event{Kind: ListenBegan, Task: id, Name: t.name, Host: r.Host})
	case "listen:complete", "listen:error":
		f.leave(t, ListenBegan)
	case "pipeline:stage_start":
		f.enter(t, Event{Kind: StageBegan, Task: id, Name: r.Name + "/" + r.Stage})
	case "pipeline:stage_complete", "pipeline:error":
		f.leave(t, StageBegan)
	}
}

// report is what those emits have.
type report struct {
	Host, Name, Stage string
}

func (f *Follower) enter(t *task, e Event) {
	e.Number, e.Percent = f.next(), -1
	t.within = append(t.within, e)
	f.tell(e)
}

// leave ends the innermost listen or stage of a task.
func (f *Follower) leave(t *task, k Kind) {
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
		f.tell(e)
		return
	}
}

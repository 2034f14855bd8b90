package eventstream

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/record/event"
	"github.com/concerto-lang/concerto/vm"
)

// task is a running task.
type task struct {
	item
	id     int64
	within []*part // its open parts, the innermost last
	around string  // stage in which its parent was when the task began, as PIPELINE/STAGE
}

// part is an item within a task.
type part struct {
	item
	cause int64      // the item that causes what happens within the part
	key   string     // for a tool: the id that the model assigned to the call
	call  *agentCall // set for an agent
}

// cause returns the item that causes what the task does now.
func (t *task) cause() int64 {
	if n := len(t.within); n > 0 {
		return t.within[n-1].cause
	}
	return t.number
}

// stage returns the innermost stage that the task is in, or "".
func (t *task) stage() string {
	for i := len(t.within) - 1; i >= 0; i-- {
		if t.within[i].kind == event.Stage {
			return t.within[i].name
		}
	}
	return t.around
}

// TaskBegan implements vm.Activity.
func (s *Stream) TaskBegan(id, parent int64, at vm.Place) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.beginTask(id, parent, at)
}

func (s *Stream) beginTask(id, parent int64, at vm.Place) *task {
	t := &task{id: id, item: item{kind: event.Task, task: id, name: at.Function}}
	if parent == 0 {
		t.kind = event.Run
	}
	if p := s.tasks[parent]; p != nil {
		if i := len(p.within) - 1; i >= 0 && p.within[i].call.isDone() {
			s.leave(p, i, nil)
		}
		t.parent, t.around = p.cause(), p.stage()
	}
	s.tasks[id] = t
	e := s.begin(&t.item)
	if t.kind == event.Run {
		s.run = t.number
	}
	e.Place = placeOf(at)
	s.emitEvent(e)
	return t
}

// taskOf returns a task. A task that was restored from a snapshot begins with its first event.
func (s *Stream) taskOf(id int64) *task {
	if t := s.tasks[id]; t != nil {
		return t
	}
	return s.beginTask(id, id-1, vm.Place{}) // only the first task is the run
}

// TaskEnded implements vm.Activity.
func (s *Stream) TaskEnded(id int64, how string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.endTask(id, how)
}

// endTask ends a task and its open parts.
func (s *Stream) endTask(id int64, how string) {
	t := s.taskOf(id)
	s.leave(t, 0, nil)
	e := s.end(&t.item)
	if e.How = how; how != "" && how != cancelled {
		s.failed[id] = t.number
	}
	s.emitEvent(e)
	delete(s.tasks, id)
}

// enter begins a part of a task.
func (s *Stream) enter(t *task, p *part) *event.Event {
	t.within = append(t.within, p)
	e := s.begin(&p.item)
	if p.cause == 0 {
		p.cause = p.number
	}
	return e
}

// leave ends the open parts of a task from index i on, the innermost first. err is their error.
func (s *Stream) leave(t *task, i int, err error) {
	for len(t.within) > i {
		p := t.within[len(t.within)-1]
		e := s.end(&p.item)
		e.Err = err
		if p.call != nil {
			p.call.setEnd(e)
		}
		t.within = t.within[:len(t.within)-1]
		s.emitEvent(e)
	}
}

// innermost returns the index of the innermost open part of a kind for which is returns true, or
// -1.
func (t *task) innermost(k event.Kind, is func(*part) bool) int {
	for i := len(t.within) - 1; i >= 0; i-- {
		if p := t.within[i]; p.kind == k && (is == nil || is(p)) {
			return i
		}
	}
	return -1
}

// Entered implements vm.Activity.
func (s *Stream) Entered(id int64, span vm.Span) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.taskOf(id)
	p := &part{item: item{kind: event.Listen, parent: t.cause(), task: id, name: span.Name}}
	if x := s.exchanges[span.Exchange]; x != nil {
		p.cause = x.number
		if span.Kind == vm.SpanHandler {
			p.kind, p.cause = event.Handler, cmp.Or(x.itemOf(span.Message), x.number)
		}
		p.parent = p.cause
	}
	s.emitEvent(s.enter(t, p))
}

// Left implements vm.Activity.
func (s *Stream) Left(id int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.taskOf(id)
	for i := len(t.within) - 1; i >= 0; i-- {
		if k := t.within[i].kind; k == event.Listen || k == event.Handler {
			s.leave(t, i, nil)
			return
		}
	}
}

// lifecycle is the payload of an emit that reports the start or the end of a pipeline or stage.
type lifecycle struct{ Name, Stage, Error string }

// reportLifecycle handles an emit of a pipeline. what is the channel without its prefix.
func (s *Stream) reportLifecycle(t *task, e int64, at event.Place, what string, payload json.RawMessage) {
	var of lifecycle
	if json.Unmarshal(payload, &of) != nil || of.Name == "" {
		return // the program itself uses the channel, with another payload
	}
	isPipeline := func(p *part) bool { return p.name == of.Name }
	isStage := func(p *part) bool { return p.name == of.Name+"/"+of.Stage }
	begin := func(k event.Kind, name string) {
		began := s.enter(t, &part{item: item{kind: k, parent: t.cause(), task: t.id, effect: e, name: name}})
		began.Place, began.Stage = at, t.stage()
		s.emitEvent(began)
	}
	end := func(k event.Kind, is func(*part) bool, err error) {
		if i := t.innermost(k, is); i >= 0 {
			s.leave(t, i, err)
		}
	}
	switch what {
	case "start":
		begin(event.Pipeline, of.Name)
	case "stage_start":
		begin(event.Stage, of.Name+"/"+of.Stage)
	case "stage_complete":
		end(event.Stage, isStage, nil)
	case "complete":
		end(event.Pipeline, isPipeline, nil)
	case "error":
		err := s.cleanError(effect.Errorf("PipelineError", "%s", of.Error))
		end(event.Stage, isStage, err)
		end(event.Pipeline, isPipeline, err)
	}
}

// reportStep handles a step of the library between requests to a model.
func (s *Stream) reportStep(e int64, at vm.Caller, q *effect.Step) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.taskOf(at.Task())
	s.closeLeftAgents(t, at, q)
	clean := s.cleanRequest(q).(*effect.Step)
	x := item{parent: t.cause(), task: t.id, effect: e, name: q.By}
	switch q.What {
	case effect.StepToolCall:
		x.kind, x.name = event.Tool, q.Tool
		began := s.enter(t, &part{item: x, key: q.ID})
		began.Place, began.Step = s.place(at), clean
		s.emitEvent(began)
		return
	case effect.StepToolResult:
		s.endTool(t, q, clean)
		return
	case effect.StepRetry:
		x.kind = event.Retry
	default:
		x.kind = event.Repair
		if i := t.innermost(event.Agent, nil); q.What == effect.StepRepair && i >= 0 {
			t.within[i].call.done = false // another attempt follows
		}
	}
	point := s.point(&x)
	point.Place, point.Step = s.place(at), clean
	s.emitEvent(point)
}

// endTool ends a tool call. A call that failed before it began is an item without a duration.
func (s *Stream) endTool(t *task, q, clean *effect.Step) {
	i := t.innermost(event.Tool, func(p *part) bool { return p.name == q.Tool && p.key == q.ID })
	if i < 0 {
		return
	}
	s.leave(t, i+1, nil)
	p := t.within[i]
	t.within = t.within[:i]
	ended := s.end(&p.item)
	ended.Step = clean
	if q.Failed {
		ended.Err = effect.Errorf("ToolError", "%s", clean.Text)
	}
	s.emitEvent(ended)
}

func sortedKeys[V any](m map[int64]V) []int64 { return slices.Sorted(maps.Keys(m)) }

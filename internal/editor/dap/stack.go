package dap

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/go-dap"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/stdlib"
	"github.com/concerto-lang/concerto/vm"
)

// threads answers with the tasks of the run.
func (s *session) threads(r *dap.ThreadsRequest) {
	x := &dap.ThreadsResponse{Response: newResponse(r)}
	x.Body.Threads = []dap.Thread{}
	if s.onRun(func() {
		for _, t := range s.run.debuggee.vm.Tasks() {
			x.Body.Threads = append(x.Body.Threads, dap.Thread{Id: s.run.debuggee.threadID(t), Name: s.run.debuggee.threadName(t)})
		}
	}) != nil {
		x.Body.Threads = []dap.Thread{}
	}
	if len(x.Body.Threads) == 0 {
		x.Body.Threads = append(x.Body.Threads, dap.Thread{Id: 1, Name: "main"})
	}
	s.send(x)
}

// threadName returns the name of a task with the reason why it waits.
func (d *debuggee) threadName(t vm.Scene) string {
	name := d.taskName(t)
	if what := d.waitReason(t); what != "" {
		name += " · waits for " + what
	}
	return name
}

// threadID returns the thread number of a task for the editor. The number of main is 1. The VM's
// task numbers also count the tasks that create the program's stores and tools before main, so
// these are subtracted.
func (d *debuggee) threadID(t vm.Scene) int {
	if d.before < 0 {
		for _, x := range d.vm.Tasks() {
			if x.Main() {
				d.before = x.Task() - 1
			}
		}
	}
	return int(t.Task() - max(d.before, 0))
}

func (d *debuggee) taskName(t vm.Scene) string {
	if t.Main() {
		return t.Entry().Function
	}
	return fmt.Sprintf("%s(%d)", t.Entry().Function, d.threadID(t))
}

// waitReason returns what a task waits for, or "" if it does not wait.
func (d *debuggee) waitReason(t vm.Scene) string {
	q, task, several := t.Waiting()
	switch {
	case several:
		return "tasks"
	case task != nil:
		return d.taskName(*task)
	}
	switch q := q.(type) {
	case nil:
		return ""
	case *effect.AgentCall:
		return "agent " + q.Agent
	case *effect.StreamOpen:
		return "agent " + q.Agent
	case *effect.ExchangeOpen:
		return "host " + q.Host
	case *effect.AwaitEmit, *effect.AskHost:
		return fmt.Sprintf("question q%d", d.asks[q])
	case *effect.Sleep:
		return "a time"
	default:
		return string(q.Kind())
	}
}

// frameRef is a frame that was sent to the editor.
type frameRef struct {
	at vm.Scene
	vm.Frame
}

// references holds the numbers of frames and variables, which are valid until the run continues.
type references struct {
	frames    []*frameRef
	held      []container
	stacks    map[int64][]*frameRef
	inspected *frameRef // the frame whose scopes the editor requested last
}

func (f *references) forget() { *f = references{} }

// stack returns the frames of a task, the innermost first.
func (r *Run) stack(t vm.Scene) []*frameRef {
	if all, ok := r.debuggee.refs.stacks[t.Task()]; ok {
		return all
	}
	var all []*frameRef
	for _, f := range t.Frames(r.s.showStd) {
		x := &frameRef{at: t, Frame: f}
		r.debuggee.refs.frames = append(r.debuggee.refs.frames, x)
		all = append(all, x)
	}
	if r.debuggee.refs.stacks == nil {
		r.debuggee.refs.stacks = map[int64][]*frameRef{}
	}
	r.debuggee.refs.stacks[t.Task()] = all
	return all
}

// refresh reads the variables of all frames again. It is called after an evaluation that may have
// changed them.
func (r *Run) refresh() {
	for _, all := range r.debuggee.refs.stacks {
		now := all[:0:0]
		if len(all) > 0 {
			for _, f := range all[0].at.Frames(r.s.showStd) {
				now = append(now, &frameRef{at: all[0].at, Frame: f})
			}
		}
		for i := range min(len(all), len(now)) {
			*all[i] = *now[i]
		}
	}
}

func (s *session) stackTrace(r *dap.StackTraceRequest) {
	s.withStopped(r, func(*stopState) {
		t, ok := s.run.debuggee.task(r.Arguments.ThreadId)
		if !ok {
			s.replyError(r, "unknown thread %d", r.Arguments.ThreadId)
			return
		}
		all := s.run.stack(t)
		first := 0
		if len(all) > 0 {
			for i, f := range s.run.debuggee.refs.frames {
				if f == all[0] {
					first = i + 1
				}
			}
		}
		x := &dap.StackTraceResponse{Response: newResponse(r)}
		x.Body.TotalFrames, x.Body.StackFrames = len(all), []dap.StackFrame{}
		from, to := page(len(all), r.Arguments.StartFrame, r.Arguments.Levels)
		for i := from; i < to; i++ {
			f := all[i]
			x.Body.StackFrames = append(x.Body.StackFrames, dap.StackFrame{Id: first + i, Name: f.Function, Source: s.source(f.Place),
				Line: s.lineOut(f.Line), Column: s.columnOut(max(f.Column, 1))})
		}
		s.send(x)
	})
}

// page returns the bounds of the requested range within n items.
func page(n, start, count int) (from, to int) {
	from = min(max(start, 0), n)
	if count <= 0 {
		return from, n
	}
	return from, min(n, from+count)
}

// source returns the file of a place in DAP form. A file of the library has a reference, with which
// the editor requests its text.
func (s *session) source(p vm.Place) *dap.Source {
	if p.Text == "" {
		out := &dap.Source{Name: p.File, PresentationHint: "deemphasize"}
		if _, ok := stdlib.Text(p.File); ok {
			n := slices.Index(s.libraryFiles, p.File)
			if n < 0 {
				n = len(s.libraryFiles)
				s.libraryFiles = append(s.libraryFiles, p.File)
			}
			out.SourceReference = n + 1
		}
		return out
	}
	path := s.path(p)
	return &dap.Source{Name: filepath.Base(path), Path: path}
}

// libraryText answers with the text of a library file.
func (s *session) libraryText(r *dap.SourceRequest) {
	n := r.Arguments.SourceReference
	if r.Arguments.Source != nil && r.Arguments.Source.SourceReference > 0 {
		n = r.Arguments.Source.SourceReference
	}
	if n < 1 || n > len(s.libraryFiles) {
		s.replyError(r, "unknown source %d", n)
		return
	}
	text, _ := stdlib.Text(s.libraryFiles[n-1])
	x := &dap.SourceResponse{Response: newResponse(r)}
	x.Body.Content = text.String()
	s.send(x)
}

// path returns the path of the file of a place, or "" for a place in the library.
func (s *session) path(p vm.Place) string {
	if p.Text == "" {
		return ""
	}
	if filepath.IsAbs(p.File) {
		return realPath(p.File)
	}
	if name, file, found := strings.Cut(p.File, ": "); found && s.packages[name] != "" {
		return realPath(filepath.Join(s.packages[name], filepath.FromSlash(file)))
	}
	return realPath(filepath.Join(s.root, filepath.FromSlash(p.File)))
}

// realPath returns a path with symbolic links resolved, or the path itself if that fails.
func realPath(path string) string {
	if x, err := filepath.EvalSymlinks(path); err == nil {
		return x
	}
	return filepath.Clean(path)
}

// lineIn and the functions below convert between the editor's numbers of lines and columns and the
// compiler's, which begin at 1.
func (s *session) lineIn(n int) int    { return n + 1 - s.zero }
func (s *session) lineOut(n int) int   { return n - 1 + s.zero }
func (s *session) columnOut(n int) int { return n - 1 + s.colZero }

// frame returns the frame with a number. The number 0 is the innermost frame of the stopped task.
func (r *Run) frame(id int) (*frameRef, bool) {
	if id == 0 && r.debuggee.stopped != nil && r.debuggee.stopped.scene != nil {
		if all := r.stack(*r.debuggee.stopped.scene); len(all) > 0 {
			return all[0], true
		}
	}
	if id < 1 || id > len(r.debuggee.refs.frames) {
		return nil, false
	}
	return r.debuggee.refs.frames[id-1], true
}

// withFrame calls do with a frame of a stopped run. If there is no such frame, it sends an error
// response.
func (s *session) withFrame(r dap.RequestMessage, number int, do func(*frameRef)) {
	s.withStopped(r, func(*stopState) {
		if f, ok := s.run.frame(number); ok {
			do(f)
			return
		}
		s.replyError(r, "unknown frame %d: frames are valid until the program continues", number)
	})
}

package vm

import (
	"unsafe"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/value"
)

// A task is a thread of the program. It consists of one contiguous stack of slots, an instruction
// pointer, a frame pointer, and the event for which it waits. A frame is a window of the stack.
// Slot 0 of a frame is its link: the bits contain the return address and the distance to the
// caller's frame (ins.go), and the ref contains the running closure.
//
// Only fp points into the stack, so that the stack can be moved when it grows.
type task struct {
	machine
	m      *VM
	fn     *function // function of the bottom frame
	stack  []value.Slot
	parked parkedStack

	raised *raised   // error that is being propagated; after the end of the task, the error with which it ended
	caught []*raised // errors that regions caught, for Rethrow
	scopes []*scope  // open listens and handler runs, the innermost last
	wait   *wait     // what a parked task waits for; nil if it is not parked

	id      int64     // number of the task, from 1, once it has begun and is numbered; before that, the negative number of the task that started it
	samples *sampling // set with Config.Profile
	state   taskState

	result value.Slot // set when the task has ended
	way    *[]errStep // error steps of an unhandled Err; nil if there are none

	served *served // the call from outside to which the task belongs; nil for none
	member member
	copies *task   // an ended task whose outcome this task has; this task never runs. nil for other tasks
	watch  []watch // tasks and groups to notify of the end
	birth  links   // neighbours in the list of live tasks, which is in the order of creation
	parts  parts
}

// machine is the state of the dispatch loop.
type machine struct {
	code      unsafe.Pointer // first instruction of the program
	constants unsafe.Pointer
	ip, fp    unsafe.Pointer // valid while the dispatch loop does not run
	limit     uintptr        // highest address at which a frame may begin
	budget    int            // number of back-edges and calls until the next tick
}

// taskState is the progress of a task from its creation to its end.
type taskState struct {
	started  bool
	starting bool // the task is starting another task, parts.wait.task, which runs first
	stop     bool // the task is cancelled
	ended    bool
	seen     bool // another task has read the result, or no task needs it
	left     bool // ReturnLeft ended the body, and result is (site, error)
	part     int8 // number of the part that faults in a fused instruction
}

// member is the group to which a body belongs.
type member struct {
	group *group
	index int32 // index in the group
}

// links are the neighbours of a task in a list.
type links struct{ older, newer *task }

// parts are objects that nearly every task needs once. They are stored in the task because one
// allocation takes less time than four: with 10,000 tasks that pass on a token, 25 % less.
// TestTaskSize limits a task to 512 bytes. Go's collector takes longer for each larger object.
type parts struct {
	handle value.Handle // the Task value; main and bodies have none, and its object is nil
	wait   wait         // the wait for a task
	watch  [1]watch
}

// valued reports whether the program has a value that represents the task.
func (t *task) valued() bool { return t.parts.handle.Object != nil }

const (
	firstStack = 256
	headroom   = 64 // slots that every frame may use; a larger frame begins with opEnter
	budget     = 50_000
	slowCost   = 10  // cost in the budget of an operation outside of the loop
	nativeCost = 500 // cost in the budget of a native, which may visit a whole array
)

// newTask creates a task that will run f. It receives a stack when it first runs. closure is the
// running closure, or nil for a plain function.
func (m *VM) newTask(f *function, closure unsafe.Pointer, args ...value.Slot) *task {
	t := &task{m: m, fn: f}
	t.code, t.constants, t.budget = unsafe.Pointer(unsafe.SliceData(m.image.code)), unsafe.Pointer(unsafe.SliceData(m.image.constants)), budget
	n := 1 + len(args)
	t.parked.slots = make([]value.Slot, n, max(n, min(f.registers, reservedSlots))) // the capacity is sufficient for the first wait
	// The bottom frame was "called" by code[0] and returns to code[1], opFrameEnd.
	t.parked.slots[0] = value.Slot{Bits: uint64(insSize), Ref: closure}
	copy(t.parked.slots[1:], args)
	t.ip = unsafe.Add(t.code, uintptr(f.entry)*insSize)
	if p := m.config.Profile; p != nil {
		t.samples = &sampling{pending: &p.Pending}
	}
	m.sched.link(t)
	return t
}

// child creates a task that t starts. The new task belongs to the same call from outside as t.
func (t *task) child(f *function, closure unsafe.Pointer, args ...value.Slot) *task {
	x := t.m.newTask(f, closure, args...)
	x.id = -t.id
	t.m.uses.started(x, t)
	x.setOpenDecision(t.openDecision())
	if x.served = t.served; x.served != nil {
		x.served.alive++
	}
	return x
}

func (t *task) setStack(s []value.Slot) {
	t.stack = s
	t.limit = uintptr(unsafe.Pointer(unsafe.SliceData(s))) + uintptr(len(s)-headroom)*slotSize
}

// depth returns the frame pointer as a number of slots from the stack's start.
func (t *task) depth() int {
	return int((uintptr(t.fp) - uintptr(unsafe.Pointer(unsafe.SliceData(t.stack)))) / slotSize)
}

func (t *task) setDepth(n int) {
	t.fp = unsafe.Add(unsafe.Pointer(unsafe.SliceData(t.stack)), uintptr(n)*slotSize)
}

// need ensures that the stack has space for a frame of n slots that begins `at` slots above fp. It
// returns false if the stack would exceed its limit.
func (t *task) need(at, n int) bool {
	depth := t.depth()
	want := depth + at + max(n, headroom)
	if want <= len(t.stack) {
		return true
	}
	size := len(t.stack)
	for size < want {
		size *= 2
	}
	if size > t.m.maxStack || !t.m.memory.fits(size*int(slotSize)) {
		return false
	}
	grown := make([]value.Slot, size)
	copy(grown, t.stack)
	t.setStack(grown)
	t.setDepth(depth)
	return true
}

// slot returns register i of the current frame.
func (t *task) slot(i uint8) *value.Slot { return slotAt(t.fp, i) }

// pc returns the number of the instruction before ip.
func (t *task) pc() int { return int((uintptr(t.ip)-uintptr(t.code))/insSize) - 1 }

func (t *task) setPC(pc int) { t.ip = unsafe.Add(t.code, uintptr(pc)*insSize) }

// tick runs when the budget is used up. It checks whether the task, or a handler that the task
// runs, was cancelled, and whether the memory in use is within its limit.
func (t *task) tick() status {
	t.budget = budget
	t.pollCancellation()
	t.recordCut(t.pc() + 1) // the task's place is the next instruction
	if t.cancelled() {
		return t.unwind()
	}
	if t.m.memory.limit > 0 && !t.m.memory.measure(0) {
		t.ip = unsafe.Add(t.ip, insSize) // the error's place is the next instruction
		t.outOfMemory()
		return t.unwind()
	}
	return running
}

// pollCancellation processes completions that may cancel the task. It runs while the task computes.
func (t *task) pollCancellation() {
	t.m.beginBounds()
	if t.m.debug.calls != nil {
		t.m.debug.runPendingCalls()
	}
	if t.m.debug.evaluating != nil {
		t.m.debug.stopEvaluation()
		return
	}
	at := t.m.journaled.moment()
	if len(t.scopes) > 0 || len(t.m.hostStreams.open) > 0 {
		t.fetchWithdrawals()
	} else if t.m.requests.bounds.running == 0 && !t.m.journaled.on {
		return
	}
	t.m.checkContext(&at)
	t.m.poll(t, at)
	if t.m.suspended() {
		t.m.ending.fatal = ErrSuspended
		panic(suspending{})
	}
}

// interrupted is the panic value that ends a long operation of a cancelled task. t.raised is set.
type interrupted struct{}

// tickLong does the work of tick within a long operation. The pace calls it. It returns the number
// of steps until the next call.
func (s *sched) tickLong() (steps int) {
	t := s.current
	if t == nil {
		return budget
	}
	t.pollCancellation()
	if t.cancelled() {
		panic(interrupted{})
	}
	return budget
}

// wait describes what a parked task waits for, and what happens with the result.
type wait struct {
	kind    waitKind
	window  uint8           // register of the current frame for the result
	wrap    bool            // the result is converted to a Result
	refused bool            // for waitOpen: the exchange would wait for itself, and the request is being cancelled
	off     bool            // the wait has ended, and the task is ready
	convert ResultFunc      // for waitPerform
	scope   *scope          // for the waits of a listen
	payload value.Slot      // for waitClose: result of the listen; for waitContinue: result of the turn; for waitAnswer: required type, or nil for any
	task    *task           // for waitTask
	group   *group          // for waitGroup
	flight  *pendingRequest // pending request; nil if there is none
	stream  *hostStream     // for waitPerform: stream for whose messages the task waits; nil if it waits for a request
	request effect.Request
	since   int64 // with Config.Profile: time at which the wait began, in nanoseconds
	result  effect.Result
	err     error
}

type waitKind uint8

const (
	waitPerform  waitKind = iota // an effect of Perform or of a native
	waitAnswer                   // the answer to an awaited emit
	waitPerson                   // a person's answer to a host's question
	waitOpen                     // the opening of an exchange
	waitMessages                 // the next messages of an exchange
	waitReply                    // space for a reply in a host's queue
	waitContinue                 // the beginning of a further turn of an exchange
	waitPlan                     // the end of a limit of a host's plan, before an exchange is opened
	waitClose                    // the closing of an exchange after a terminal message
	waitTask                     // the end of a task
	waitGroup                    // the end of a group's members
	waitQuiet                    // the end of a request for messages while an error unwinds its listen
	waitUnwind                   // the closing of an exchange while an error unwinds its listen
)

// sched is the state of the scheduler: the live tasks, the ready tasks, and the current task.
type sched struct {
	current        *task // the running task; nil if no task is running
	ready          queue
	oldest, newest *task // first and last of the live tasks, which are linked in the order of creation
	alive          int
	nested         int // number of tasks that are starting another one
	most           int // maximum number of live tasks besides main; 0 means no limit
	main           *task
	stacks         stacks
}

// link adds a new task to the live tasks.
func (l *sched) link(t *task) {
	l.alive++
	if t.birth.older = l.newest; t.birth.older != nil {
		t.birth.older.birth.newer = t
	} else {
		l.oldest = t
	}
	l.newest = t
}

// unlink removes an ended task from the live tasks.
func (l *sched) unlink(t *task) {
	l.alive--
	if t.birth.older != nil {
		t.birth.older.birth.newer = t.birth.newer
	} else {
		l.oldest = t.birth.newer
	}
	if t.birth.newer != nil {
		t.birth.newer.birth.older = t.birth.older
	} else {
		l.newest = t.birth.older
	}
	t.birth.older, t.birth.newer = nil, nil
}

// queue contains the ready tasks in order.
type queue struct {
	tasks []*task
	head  int
}

func (q *queue) push(t *task) { q.tasks = append(q.tasks, t) }

// front adds tasks before all others.
func (q *queue) front(ts ...*task) {
	if q.head < len(ts) {
		room := make([]*task, len(ts)+16, 2*(len(ts)+16+len(q.tasks)))
		q.tasks = append(room, q.tasks[q.head:]...)
		q.head = len(room)
	}
	q.head -= len(ts)
	copy(q.tasks[q.head:], ts)
}

func (q *queue) pop() *task {
	if q.head == len(q.tasks) {
		q.tasks, q.head = q.tasks[:0], 0
		return nil
	}
	t := q.tasks[q.head]
	q.tasks[q.head] = nil
	if q.head++; q.head > 1024 && q.head > len(q.tasks)/2 {
		n := copy(q.tasks, q.tasks[q.head:])
		clear(q.tasks[n:])
		q.tasks, q.head = q.tasks[:n], 0
	}
	return t
}

// now returns the time of the monotonic clock in milliseconds, for durations in events.
func (t *task) now() (ms int64, err error) {
	t.m.stats.Requests++
	r, err := t.performEffect(t.m.requests.ctx, &effect.Clock{})
	if err != nil {
		return 0, err
	}
	return r.(*effect.Time).Monotonic, nil
}

// noteUnfinished records the functions of the tasks that are still running when main returns. The
// program started these tasks and has neither awaited nor cancelled them.
func (m *VM) noteUnfinished() {
	for t := m.sched.oldest; t != nil; t = t.birth.newer {
		if t.valued() && !t.state.stop {
			m.ending.unfinished = append(m.ending.unfinished, t.fn)
		}
	}
}

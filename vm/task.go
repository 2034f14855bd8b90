package vm

import (
	"unsafe"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/value"
)

// A task is a program's thread as data: one contiguous stack of slots, an instruction pointer, a
// frame pointer, and what it waits for. Frames are windows of the stack. Slot 0 of a window is its
// link: the bits contain the return address and the distance to the caller's frame (ins.go), the
// ref contains the running closure.
//
// Only fp points into the stack, so that the stack can be moved when it grows.
type task struct {
	machine
	m      *VM
	fn     *function // of the bottom frame
	stack  []value.Slot
	parked parkedStack

	raised *raised   // the propagating error; of an ended task, its final error
	caught []*raised // errors that regions caught, for Rethrow
	scopes []*scope  // open listens and handler runs, the innermost last
	wait   *wait     // what a parked task waits for

	id      int64     // with Config.Observer or Config.Detail, after the task has run; before that its parent's, negative
	samples *sampling // with Config.Profile
	state   taskState

	result value.Slot // of an ended task
	way    *[]errStep // of an unhandled Err

	served *served // the call from outside to which it belongs
	member member
	copies *task   // never runs: ends like this one
	watch  []watch // the waiters for its end
	birth  links   // in the list of live tasks, in the order of creation
	parts  parts
}

// machine is the state of the dispatch loop.
type machine struct {
	code      unsafe.Pointer // first instruction of the program
	constants unsafe.Pointer
	ip, fp    unsafe.Pointer // saved while the loop does not run
	limit     uintptr        // a frame may begin at or below this address
	budget    int            // back-edges and calls until the next tick
}

// taskState is the progress of a task from its creation to its end.
type taskState struct {
	started  bool
	starting bool // it starts another task, parts.wait.task, which runs first
	stop     bool // it is cancelled
	ended    bool
	seen     bool // its result was read, or is not needed
	left     bool // a body ended by ReturnLeft: result is (site, error)
	part     int8 // the part of a fused instruction that faults
}

// member is the group of a body.
type member struct {
	group *group
	index int32 // in the group
}

// links are a task's neighbours in a list.
type links struct{ older, newer *task }

// parts are objects that nearly every task needs once. They are part of the task because one
// allocation is cheaper than four: 10,000 tasks that pass on a token take 25 % less time. A test
// limits a task to 512 bytes, above which Go's collector takes longer for each.
type parts struct {
	handle value.Handle // the Task value; main and bodies have no object in it
	wait   wait         // for a task
	watch  [1]watch
}

// valued reports whether the program has the task as a value.
func (t *task) valued() bool { return t.parts.handle.Object != nil }

const (
	firstStack = 256
	headroom   = 64 // slots that every frame may use; larger ones begin with opEnter
	budget     = 50_000
	slowCost   = 10  // cost of an operation outside the loop, from the budget
	nativeCost = 500 // cost of a native, which may visit a whole array
)

// newTask creates a task that will run f; it receives its stack only when it runs. closure is the
// running closure, nil for a plain function.
func (m *VM) newTask(f *function, closure unsafe.Pointer, args ...value.Slot) *task {
	t := &task{m: m, fn: f}
	t.code, t.constants, t.budget = unsafe.Pointer(unsafe.SliceData(m.image.code)), unsafe.Pointer(unsafe.SliceData(m.image.constants)), budget
	n := 1 + len(args)
	t.parked.slots = make([]value.Slot, n, max(n, min(f.registers, reservedSlots))) // with space for the first wait
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

// child creates a task that t starts: it belongs to the same call from outside.
func (t *task) child(f *function, closure unsafe.Pointer, args ...value.Slot) *task {
	x := t.m.newTask(f, closure, args...)
	x.id = -t.id
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

// need ensures space for a frame of n slots that begins `at` slots above fp; it returns false when
// the stack's limit is reached.
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

// slot returns register i of the running frame.
func (t *task) slot(i uint8) *value.Slot { return slotAt(t.fp, i) }

// pc returns the number of the instruction before ip.
func (t *task) pc() int { return int((uintptr(t.ip)-uintptr(t.code))/insSize) - 1 }

func (t *task) setPC(pc int) { t.ip = unsafe.Add(t.code, uintptr(pc)*insSize) }

// tick runs when the budget is used up: it checks whether the task, or a handler that the task
// runs, was cancelled.
func (t *task) tick() status {
	t.budget = budget
	t.pollCancellation()
	t.recordCut(t.pc() + 1) // the next instruction
	if t.cancelled() {
		return t.unwind()
	}
	if t.m.memory.limit > 0 && !t.m.memory.measure(0) {
		t.ip = unsafe.Add(t.ip, insSize) // the place is the next instruction
		t.outOfMemory()
		return t.unwind()
	}
	return running
}

// pollCancellation processes, while the task computes, the completions that may cancel it.
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

// interrupted is the panic value of a long operation whose task has been cancelled; t.raised is
// set.
type interrupted struct{}

// tickLong is called by the pace: it does what tick does, in the middle of an operation.
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

// wait describes as data what a parked task waits for, and what happens with the result.
type wait struct {
	kind    waitKind
	window  uint8           // the register of the running frame for the result
	wrap    bool            // the result becomes a Result
	refused bool            // of waitOpen: it would wait for itself, and is being cancelled
	off     bool            // the wait has ended: the task is ready
	convert ResultFunc      // of waitPerform
	scope   *scope          // of a listen
	payload value.Slot      // of waitClose: the value of the listen; of waitAnswer: the required type, nil for any
	task    *task           // of waitTask
	group   *group          // of waitGroup
	flight  *pendingRequest // the pending request, nil without one
	stream  *hostStream     // the stream whose messages waitPerform waits for
	request effect.Request
	since   int64 // with Config.Profile: when the wait began
	result  effect.Result
	err     error
}

type waitKind uint8

const (
	waitPerform  waitKind = iota // an effect of Perform
	waitAnswer                   // an awaited emit
	waitPerson                   // a person's answer to what a host asks
	waitOpen                     // an exchange being opened
	waitMessages                 // the next messages of an exchange
	waitReply                    // space for a reply in a host's queue
	waitClose                    // an exchange being closed after a terminal message
	waitTask                     // a task's end
	waitGroup                    // the end of a group's members
	waitQuiet                    // the end of a request for messages, while an error unwinds its listen
	waitUnwind                   // an exchange being closed while an error unwinds it
)

// sched is the state of the scheduler: the live tasks, those that are ready, and the current one.
type sched struct {
	current        *task // the running task
	ready          queue
	oldest, newest *task // the live ones, linked in the order of creation
	alive          int
	nested         int // those that have just started another
	most           int // maximum besides main; 0 means no bound
	main           *task
	stacks         stacks
}

// link adds a new task.
func (l *sched) link(t *task) {
	l.alive++
	if t.birth.older = l.newest; t.birth.older != nil {
		t.birth.older.birth.newer = t
	} else {
		l.oldest = t
	}
	l.newest = t
}

// unlink removes a task that has ended.
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

// queue contains the ready tasks, in order.
type queue struct {
	tasks []*task
	head  int
}

func (q *queue) push(t *task) { q.tasks = append(q.tasks, t) }

// front puts tasks before all others.
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

// now returns the monotonic clock, in milliseconds, for durations in events.
func (t *task) now() (ms int64, err error) {
	t.m.stats.Requests++
	r, err := t.performEffect(t.m.requests.ctx, &effect.Clock{})
	if err != nil {
		return 0, err
	}
	return r.(*effect.Time).Monotonic, nil
}

package vm

import (
	"unsafe"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/value"
)

// A task is a program's thread as data: one contiguous stack of slots, an
// instruction pointer, a frame pointer, and what it waits for. Frames are
// windows of the stack. Slot 0 of a window is its link: the bits hold the
// return address and the distance to the caller's frame (ins.go), the ref holds
// the running closure.
//
// Only fp points into the stack, so that the stack can be moved when it grows.
type task struct {
	machine
	m      *VM
	fn     *function // of the bottom frame
	stack  []value.Slot
	parked parkedStack

	raised *raised   // an error on its way; of an ended task, the one it ended with
	caught []*raised // errors that regions took, for Rethrow
	scopes []*scope  // open listens and handler runs, innermost last
	wait   *wait     // what a parked task waits for

	id      int64     // with Config.Observer or Config.Detail, of a task that has run; before that its parent's, negative
	samples *sampling // with Config.Profile
	state   taskState

	result value.Slot // of an ended task
	way    *[]leaving // of an Err that nobody took

	served *served // the call from outside that it belongs to
	member member
	copies *task   // runs nothing: ends as this one did
	watch  []watch // who waits for it
	birth  links   // the tasks alive, in the order of their birth
	parts  parts
}

// machine is what the loop runs on.
type machine struct {
	code      unsafe.Pointer // first instruction of the program
	constants unsafe.Pointer
	ip, fp    unsafe.Pointer // saved while the loop does not run
	limit     uintptr        // a frame may begin at or below this address
	budget    int            // back-edges and calls until the next tick
}

// taskState is how far a task is from its birth to its end.
type taskState struct {
	started  bool
	starting bool // another one, parts.wait.task, which has its turn first
	stop     bool // it is cancelled
	ended    bool
	seen     bool // somebody has taken, or does not want, what it gives
	left     bool // a body ended by ReturnLeft: result is (site, error)
	part     int8 // which part of a fused instruction faults
}

// member says of a body which group it belongs to.
type member struct {
	group *group
	index int32 // in the group
}

// links are a task's neighbours in a list.
type links struct{ older, newer *task }

// parts are objects that nearly every task needs once. They are part of the
// task because one allocation is cheaper than four: 10,000 tasks that hand on a
// token take 25 % less time. A test keeps a task within 512 bytes, beyond which
// Go's collector takes longer over each.
type parts struct {
	handle value.Handle // the Task value; of main and bodies it has no object
	wait   wait         // for a task
	watch  [1]watch
}

// valued says whether the program has the task as a value.
func (t *task) valued() bool { return t.parts.handle.Object != nil }

const (
	firstStack = 256
	headroom   = 64 // slots that every frame may use; larger ones begin with opEnter
	budget     = 50_000
	slowCost   = 10  // what an operation outside the loop takes of the budget
	nativeCost = 500 // and a native, which may go over a whole array
)

// newTask makes a task that will run f; it gets its stack only when it runs.
// closure is the running closure, nil for a plain function.
func (m *VM) newTask(f *function, closure unsafe.Pointer, args ...value.Slot) *task {
	t := &task{m: m, fn: f}
	t.code, t.constants, t.budget = unsafe.Pointer(unsafe.SliceData(m.image.code)), unsafe.Pointer(unsafe.SliceData(m.image.constants)), budget
	n := 1 + len(args)
	t.parked.slots = make([]value.Slot, n, max(n, min(f.registers, keptSlots))) // with room for the first wait
	// The bottom frame was "called" by code[0] and returns to code[1], opFrameEnd.
	t.parked.slots[0] = value.Slot{Bits: uint64(insSize), Ref: closure}
	copy(t.parked.slots[1:], args)
	t.ip = unsafe.Add(t.code, uintptr(f.entry)*insSize)
	if p := m.config.Profile; p != nil {
		t.samples = &sampling{due: &p.Due}
	}
	m.sched.link(t)
	return t
}

// child makes a task that t starts: it belongs to the same call from outside.
func (t *task) child(f *function, closure unsafe.Pointer, args ...value.Slot) *task {
	x := t.m.newTask(f, closure, args...)
	x.id = -t.id
	x.hears(t.hearing())
	if x.served = t.served; x.served != nil {
		x.served.alive++
	}
	return x
}

func (t *task) setStack(s []value.Slot) {
	t.stack = s
	t.limit = uintptr(unsafe.Pointer(unsafe.SliceData(s))) + uintptr(len(s)-headroom)*slotSize
}

// depth is the frame pointer as a number of slots from the stack's start.
func (t *task) depth() int {
	return int((uintptr(t.fp) - uintptr(unsafe.Pointer(unsafe.SliceData(t.stack)))) / slotSize)
}

func (t *task) setDepth(n int) {
	t.fp = unsafe.Add(unsafe.Pointer(unsafe.SliceData(t.stack)), uintptr(n)*slotSize)
}

// need makes room for a frame of n slots that begins `at` slots above fp; false
// when the stack's limit is reached.
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

// slot gives register i of the running frame.
func (t *task) slot(i uint8) *value.Slot { return slotAt(t.fp, i) }

// pc is the number of the instruction that ip has just left.
func (t *task) pc() int { return int((uintptr(t.ip)-uintptr(t.code))/insSize) - 1 }

func (t *task) setPC(pc int) { t.ip = unsafe.Add(t.code, uintptr(pc)*insSize) }

// tick runs when the budget is used up: it checks whether the task, or a
// handler that the task runs, was cancelled.
func (t *task) tick() status {
	t.budget = budget
	t.attend()
	t.noteCut(t.pc() + 1) // the instruction that comes
	if t.cancelled() {
		return t.unwind()
	}
	if t.m.memory.limit > 0 && !t.m.memory.look(0) {
		t.ip = unsafe.Add(t.ip, insSize) // the place is the instruction that comes
		t.outOfMemory()
		return t.unwind()
	}
	return running
}

// attend hears, while the task computes, of what may cancel it.
func (t *task) attend() {
	t.m.beginBounds()
	if t.m.debug.errands != nil {
		t.m.debug.serveErrands()
	}
	if t.m.debug.evaluating != nil {
		t.m.debug.stopEvaluation()
		return
	}
	at := t.m.written.moment()
	if len(t.scopes) > 0 || len(t.m.hostStreams.open) > 0 {
		t.hear()
	} else if t.m.requests.bounds.running == 0 && !t.m.written.on {
		return
	}
	t.m.heedEnd(&at)
	t.m.poll(t, at)
	if t.m.suspended() {
		t.m.ending.fatal = ErrSuspended
		panic(suspending{})
	}
}

// interrupted is what a long operation panics with when its task has been
// cancelled; t.raised is set.
type interrupted struct{}

// look is the pace's: it does what tick does, in the midst of an operation.
func (s *sched) look() (steps int) {
	t := s.current
	if t == nil {
		return budget
	}
	t.attend()
	if t.cancelled() {
		panic(interrupted{})
	}
	return budget
}

// wait is what a parked task waits for, as data: who goes on with the result.
type wait struct {
	kind    waitKind
	window  uint8           // where in the running frame the result goes
	wrap    bool            // the result becomes a Result
	refused bool            // of waitOpen: it would wait for itself, and is being ended
	off     bool            // nothing is waited for any more: the task is ready
	give    Give            // of waitPerform
	scope   *scope          // of a listen's waits
	payload value.Slot      // of waitClose: what the listen gives; of waitAnswer: the type wanted, nil for any
	task    *task           // of waitTask
	group   *group          // of waitGroup
	flight  *pendingRequest // the request under way, nil without one
	stream  *hostStream     // whose messages are waited for, by waitPerform
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
	waitReply                    // room for a reply in a host's queue
	waitClose                    // an exchange being closed after a terminal message
	waitTask                     // a task's end
	waitGroup                    // the end of a group's members
	waitQuiet                    // the end of a request for messages, while an error goes through its listen
	waitUnwind                   // an exchange being closed while an error goes through it
)

// sched is the state of the scheduler: the tasks that are alive, those that can
// go on, and whose turn it is.
type sched struct {
	current        *task // whose turn it is
	ready          queue
	oldest, newest *task // those alive, linked in the order of their birth
	alive          int
	nested         int // those that have just started another
	most           int // besides main; 0 means no bound
	main           *task
	stacks         stacks
}

// link adds a task that is born.
func (l *sched) link(t *task) {
	l.alive++
	if t.birth.older = l.newest; t.birth.older != nil {
		t.birth.older.birth.newer = t
	} else {
		l.oldest = t
	}
	l.newest = t
}

// unlink takes out a task that has ended.
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

// queue holds the tasks that can go on, in order.
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

// now reads the monotonic clock, in milliseconds, for durations in events.
func (t *task) now() (ms int64, err error) {
	t.m.stats.Requests++
	r, err := t.perform(t.m.requests.ctx, &effect.Clock{})
	if err != nil {
		return 0, err
	}
	return r.(*effect.Time).Monotonic, nil
}

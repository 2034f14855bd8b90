package vm

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

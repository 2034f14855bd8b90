package host

import (
	"reflect"
	"sync"
)

// lock is a mutex of the package. N is its name in the order of the locks.
type lock[N any] struct{ mutex sync.Mutex }

// The names of the locks. A goroutine that holds one of the first group may acquire those that are
// listed after it. While it holds one of the second group, it acquires no other. Tests check this
// order (locks_test.go).
type (
	hostsLock       struct{}
	turnsLock       struct{}
	poolLock        struct{}
	exchangeLock    struct{}
	lifecycleLock   struct{}
	translationLock struct{}
	workDirsLock    struct{}

	backoffLock      struct{}
	deliveriesLock   struct{}
	endLock          struct{}
	exchangeDirLock  struct{}
	inboxLock        struct{}
	leaseLock        struct{}
	openRequestsLock struct{}
	outboxLock       struct{}
	outsideLock      struct{}
	sentLinesLock    struct{}
	settlingLock     struct{}
	silenceLock      struct{}
	taskChangesLock  struct{}
	timeLimitLock    struct{}
	writeLock        struct{}
)

// watchLocks, if not nil, is called before a lock is acquired and after it is released. Tests set
// it.
var watchLocks func(name reflect.Type, acquires bool)

// Lock acquires the lock.
func (l *lock[N]) Lock() {
	if watchLocks != nil {
		watchLocks(reflect.TypeFor[N](), true)
	}
	l.mutex.Lock()
}

// Unlock releases the lock.
func (l *lock[N]) Unlock() {
	l.mutex.Unlock()
	if watchLocks != nil {
		watchLocks(reflect.TypeFor[N](), false)
	}
}

// slowLock is a lock that is held during requests to the keeper. Virtual time (testing/synctest),
// in which crashes are simulated, advances for those who wait for a condition, but not for those
// who wait for a mutex.
type slowLock[N any] struct {
	state lock[N]
	held  bool
	freed *sync.Cond // nil before the first goroutine waits
}

// Lock acquires the lock.
func (l *slowLock[N]) Lock() {
	l.state.Lock()
	for l.held {
		if l.freed == nil {
			l.freed = sync.NewCond(&l.state.mutex)
		}
		l.freed.Wait()
	}
	l.held = true
	l.state.mutex.Unlock()
}

// Unlock releases the lock.
func (l *slowLock[N]) Unlock() {
	l.state.mutex.Lock()
	l.held = false
	if l.freed != nil {
		l.freed.Signal()
	}
	l.state.Unlock()
}

package effect

import "encoding/json"

// The kinds of requests to queues. A queue in memory is part of the run, so only QueueWait leaves
// the VM for it.
const (
	KindQueueAdd    Kind = "queue.add"
	KindQueueClaim  Kind = "queue.claim"
	KindQueueUpdate Kind = "queue.update"
	KindQueueGet    Kind = "queue.get"
	KindQueueWait   Kind = "queue.wait"
)

// Queue identifies a queue, and contains the settings of its declaration. The *Error of each
// request is a QueueError with the field code.
type Queue struct {
	Store
	// MaxAttempts is the number of failed attempts after which an item is dead. RetryMS is the time
	// in milliseconds before the second attempt; it doubles with each further one.
	MaxAttempts int64 `json:"max_attempts"`
	RetryMS     int64 `json:"retry_ms"`
}

// QueueAdd adds an item, ready after DelayMS milliseconds and when the items After are done. It
// returns a *QueueAdded.
type QueueAdd struct {
	Queue
	ID       string          `json:"id,omitempty"` // "" for the next free one
	Value    json.RawMessage `json:"value"`
	After    []string        `json:"after,omitempty"`
	Priority int64           `json:"priority,omitempty"`
	DelayMS  int64           `json:"delay_ms,omitempty"`
}

// QueueAdded contains the id of an item that was added.
type QueueAdded struct {
	ID string `json:"id"`
}

// QueueClaim claims the ready item of the highest priority, the oldest of these, for Worker, the id
// of the run, and for LeaseMS milliseconds. It returns a *QueueClaimed.
type QueueClaim struct {
	Queue
	Worker  string `json:"worker"`
	LeaseMS int64  `json:"lease_ms"`
}

// QueueClaimed contains the claimed item, or nil if none is ready. In that case Until is the time
// at which one may become ready by itself, or 0 if no item is waiting or claimed.
type QueueClaimed struct {
	Item  *QueueItem `json:"item,omitempty"`
	Until int64      `json:"until,omitempty"`
}

// The operations of a QueueUpdate. The first four require a claim of the item.
const (
	QueueComplete = "complete"
	QueueFail     = "fail"
	QueueExtend   = "extend"
	QueueRelease  = "release"
	QueueRetry    = "retry"
	QueueRemove   = "remove"
)

// QueueUpdate changes the item ID. Worker, Attempts and LeaseUntil identify the claim: the id of
// the run, and the fields of the claimed item. Its result is nil.
type QueueUpdate struct {
	Queue
	Op         string          `json:"op"`
	ID         string          `json:"id"`
	Worker     string          `json:"worker,omitempty"`
	Attempts   int64           `json:"attempts,omitempty"`
	LeaseUntil int64           `json:"lease_until,omitempty"`
	Result     json.RawMessage `json:"result,omitempty"`   // of QueueComplete
	Reason     string          `json:"reason,omitempty"`   // of QueueFail
	Final      bool            `json:"final,omitempty"`    // of QueueFail: no further attempt
	LeaseMS    int64           `json:"lease_ms,omitempty"` // of QueueExtend
}

// QueueGet returns *QueueItems: the item ID, or none if there is none; or if ID is nil the items in
// State, or all if State is "". With Count it returns only the number of items in each state.
type QueueGet struct {
	Queue
	ID    *string `json:"id,omitempty"`
	State string  `json:"state,omitempty"`
	Count bool    `json:"count,omitempty"`
}

// QueueItems contains items in the order in which they were added, or numbers of items by state.
type QueueItems struct {
	Items  []QueueItem  `json:"items,omitempty"`
	Counts []QueueCount `json:"counts,omitempty"`
}

// QueueCount is the number of items in a state.
type QueueCount struct {
	State string `json:"state"`
	Count int64  `json:"count"`
}

// QueueItem is an item of a queue. Times are in milliseconds since the epoch; 0 means none.
type QueueItem struct {
	ID         string          `json:"id"`
	Value      json.RawMessage `json:"value"`
	State      string          `json:"state"`
	Priority   int64           `json:"priority,omitempty"`
	Attempts   int64           `json:"attempts,omitempty"`
	After      []string        `json:"after,omitempty"`
	Worker     string          `json:"worker,omitempty"`
	LeaseUntil int64           `json:"lease_until,omitempty"`
	Error      string          `json:"error,omitempty"`
	Result     json.RawMessage `json:"result,omitempty"`
	Created    int64           `json:"created"`
}

// QueueWait returns at the time Until, or earlier if an item may be ready, or if none is waiting or
// claimed any more. For a queue in memory, whose File is "", it only waits until then. Its result
// is nil.
type QueueWait struct {
	Queue
	Until int64 `json:"until"`
}

// Kind returns KindQueueAdd.
func (*QueueAdd) Kind() Kind { return KindQueueAdd }

// Kind returns KindQueueClaim.
func (*QueueClaim) Kind() Kind { return KindQueueClaim }

// Kind returns KindQueueUpdate.
func (*QueueUpdate) Kind() Kind { return KindQueueUpdate }

// Kind returns KindQueueGet.
func (*QueueGet) Kind() Kind { return KindQueueGet }

// Kind returns KindQueueWait.
func (*QueueWait) Kind() Kind { return KindQueueWait }

package serve

import (
	"sync"
	"time"
)

// deadline detects that a repeated operation takes longer than patience. It has one timer for all
// operations, which it resets only after it has expired: to set and stop a timer for each write
// would cost a large part of a short one.
type deadline struct {
	late func() // called when an operation takes too long

	timing sync.Mutex
	began  time.Time // zero while no operation is running
	timer  *time.Timer
	set    bool // the timer is running
}

// begin records the start of an operation.
func (d *deadline) begin() {
	d.timing.Lock()
	defer d.timing.Unlock()
	d.began = time.Now()
	switch {
	case d.set:
		return
	case d.timer == nil:
		d.timer = time.AfterFunc(patience, d.check)
	default:
		d.timer.Reset(patience)
	}
	d.set = true
}

// end records the end of an operation.
func (d *deadline) end() {
	d.timing.Lock()
	defer d.timing.Unlock()
	d.began = time.Time{}
}

func (d *deadline) check() {
	d.timing.Lock()
	left := patience - time.Since(d.began)
	idle := d.began.IsZero()
	d.set = !idle && left > 0
	if d.set {
		d.timer.Reset(left)
	}
	d.timing.Unlock()
	if !idle && left <= 0 {
		d.late()
	}
}

package serve

import (
	"sync"
	"time"
)

// deadline detects that one of many operations takes longer than patience. The operations run one
// after the other and share one timer. The timer is reset only after it has expired, because
// setting and stopping a timer for each write would take a large part of the time of a short write.
type deadline struct {
	late func() // called when an operation takes too long

	timing sync.Mutex
	began  time.Time // start of the running operation; zero while no operation is running
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

package budget

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"
)

// Amount is a cost with a number of tokens. As a limit, 0 means that there is none.
type Amount struct {
	Cost   Money
	Tokens int64
}

func (a Amount) plus(b Amount) Amount  { return Amount{a.Cost + b.Cost, a.Tokens + b.Tokens} }
func (a Amount) minus(b Amount) Amount { return Amount{a.Cost - b.Cost, a.Tokens - b.Tokens} }

// atLeastZero returns a with 0 instead of negative values.
func (a Amount) atLeastZero() Amount { return Amount{max(a.Cost, 0), max(a.Tokens, 0)} }

// Use is what a call or an exchange has used.
type Use struct {
	Cost    Money
	In, Out int64 // tokens
	Turns   int64
}

func (u Use) amount() Amount { return Amount{u.Cost, u.In + u.Out} }

// atLeast returns the larger of both uses, by member.
func (u Use) atLeast(v Use) Use {
	return Use{max(u.Cost, v.Cost), max(u.In, v.In), max(u.Out, v.Out), max(u.Turns, v.Turns)}
}

func (u Use) minus(v Use) Use {
	return Use{u.Cost - v.Cost, u.In - v.In, u.Out - v.Out, u.Turns - v.Turns}
}

// Day contains the totals of the day of all runs that share its file. Hold, if it is set during an
// update, is stored with the update.
type Day struct {
	Used       Amount
	Lost       Amount   // reservations of runs that no process runs, which remain until these end
	LostRuns   []string // their ids, in order
	HeldModels Amount   // reserved by running model calls and not used
	HeldHosts  Amount   // the same of exchanges
	Hold       *Hold
}

// known returns what is used or lost.
func (d *Day) known() Amount { return d.Used.plus(d.Lost) }

// Hold is the reservation of a running call or exchange. Key identifies it in its run.
type Hold struct {
	Key    string
	Model  bool // of a model call
	Amount Amount
}

// Days stores what runs use, in a file that they share.
type Days interface {
	// Update passes the totals of the current day to do. During Update no other process changes
	// them.
	Update(do func(*Day)) error
	// Report adds what a call or an exchange has used since its last report. It passes the totals
	// of the current day to do, with the reservation in Hold, which do may change. If ended is
	// true, it ends the reservation instead of calling do.
	Report(key string, more Use, ended bool, do func(*Day)) error
	// Adopt returns the use of an exchange that an earlier process of the run has stored. The
	// exchange then belongs to this process.
	Adopt(key string) (Use, error)
	// DropOthers ends the reservations of earlier processes of the run.
	DropOthers() error
}

// daily contains the limits of the day. Days is nil if there is no file.
type daily struct {
	Amount
	Days
	keys atomic.Int64
}

// SetDay sets the file of the day and its limits, before the budget is used.
func (b *Budget) SetDay(days Days, limit Amount) { b.day.Days, b.day.Amount = days, limit }

func (d *daily) update(do func(*Day)) error {
	if d.Days == nil {
		do(&Day{})
		return nil
	}
	if err := d.Days.Update(do); err != nil {
		return fmt.Errorf("could not read what the runs of this day have used: %w", err)
	}
	return nil
}

// nextKey returns a key that no other call or exchange of this process has.
func (d *daily) nextKey(kind string) string { return fmt.Sprintf("%s %d", kind, d.keys.Add(1)) }

func (d *daily) exceeds(now Amount) bool {
	return d.Tokens > 0 && now.Tokens > d.Tokens || d.Amount.Cost > 0 && now.Cost > d.Amount.Cost
}

// endDay stores what a call or an exchange has used since its last report, and ends its
// reservation.
func (b *Budget) endDay(key string, more Use) {
	if b.day.Days == nil {
		return
	}
	if err := b.day.Report(key, more, true, nil); err != nil && b.Crossed != nil {
		b.Crossed("could not store what the run has used: " + err.Error())
	}
}

// dayWait is the time after which a waiting caller reads the file of the day again, because other
// processes do not report the end of their calls.
const dayWait = 200 * time.Millisecond

// await waits until wait is closed or ctx ends. With a file of the day it may return earlier.
func (b *Budget) await(ctx context.Context, wait <-chan struct{}) error {
	var later <-chan time.Time
	if b.day.Days != nil {
		t := time.NewTimer(dayWait)
		defer t.Stop()
		later = t.C
	}
	select {
	case <-wait:
	case <-later:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}

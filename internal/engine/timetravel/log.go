package timetravel

import (
	"github.com/concerto-lang/concerto/internal/record/tape"
	"github.com/concerto-lang/concerto/vm"
)

// log contains the results and events of a run, which are enough to replay it.
type log struct {
	effects  []noted // the effect with number n is at index n-1
	exceeded map[vm.Moment]bool
	arrivals []arrival
}

// noted is the recorded outcome of an effect.
type noted struct {
	entry   *tape.Entry // result; nil if the tape has no result
	parked  bool        // the result arrived as an event, while the program waited for it
	waited  bool        // the first attempt returned effect.ErrWaits
	endedBy error       // cause of the end of the run's context, if that ended the effect
}

// arrival is an event that arrived while the run waited or computed.
type arrival struct {
	e   int64 // number of the effect that ended; 0 if the run's context ended
	err error
	at  *vm.Moment // moment of the event in a running task; nil if it arrived when no task could continue
}

func newLog() log { return log{exceeded: map[vm.Moment]bool{}} }

// notedEffect returns the entry of effect e, and adds an empty one if it is missing.
func (l *log) notedEffect(e int64) *noted {
	for int64(len(l.effects)) < e {
		l.effects = append(l.effects, noted{})
	}
	return &l.effects[e-1]
}

func (l *log) addArrival(x arrival) { l.arrivals = append(l.arrivals, x) }

// addEnd stores the result of an effect. If the program waited for it, the result also becomes an
// arrival.
func (l *log) addEnd(x tape.Entry, at *vm.Moment) {
	n := l.notedEffect(x.E)
	n.entry = &x
	if n.parked {
		l.addArrival(arrival{e: x.E, at: at})
	}
}

package timetravel

import (
	"github.com/concerto-lang/concerto/internal/record/tape"
	"github.com/concerto-lang/concerto/vm"
)

// log contains the results of a run in order: enough to replay it.
type log struct {
	effects  []noted // by their numbers less 1
	exceeded map[vm.Moment]bool
	arrivals []arrival
}

// noted is what is known of an effect.
type noted struct {
	entry   *tape.Entry // its result; nil if it is not recorded
	parked  bool        // the program waited for it
	waited  bool        // it could not be performed at once
	endedBy error       // the end of the run's context has ended it
}

// arrival is an event that the run waited for.
type arrival struct {
	e   int64 // 0 for the end of the run's context
	err error
	at  *vm.Moment // in the middle of a turn; nil if no task could continue
}

func newLog() log { return log{exceeded: map[vm.Moment]bool{}} }

// notedEffect returns what is known of an effect.
func (l *log) notedEffect(e int64) *noted {
	for int64(len(l.effects)) < e {
		l.effects = append(l.effects, noted{})
	}
	return &l.effects[e-1]
}

func (l *log) addArrival(x arrival) { l.arrivals = append(l.arrivals, x) }

// addEnd notes the result of an effect.
func (l *log) addEnd(x tape.Entry, at *vm.Moment) {
	n := l.notedEffect(x.E)
	n.entry = &x
	if n.parked {
		l.addArrival(arrival{e: x.E, at: at})
	}
}

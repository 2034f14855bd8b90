package stdlib

import (
	"math"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/memstore"
	"github.com/concerto-lang/concerto/internal/data/schema"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/stdlib/native"
	"github.com/concerto-lang/concerto/stdlib/times"
	"github.com/concerto-lang/concerto/vm"
)

// The natives for queues create requests. The request to a queue in a file is an effect. The
// request to a queue in memory is performed here, at the time of the run's clock.
var queueNatives = native.Table{
	{"Queue.add", queueAdd},
	{"Queue.complete", queueComplete},
	{"Queue.fail", func(a *vm.Args) (value.Slot, error) {
		r := claimOf(a, effect.QueueFail)
		r.Reason, r.Final = a.String(2), !a.Bool(3)
		return askQueue(a, r, nothingOf)
	}},
	{"Queue.extend", func(a *vm.Args) (value.Slot, error) {
		r := claimOf(a, effect.QueueExtend)
		r.LeaseMS = milliseconds(a, 2, "seconds", true)
		return askQueue(a, r, nothingOf)
	}},
	{"Queue.release", func(a *vm.Args) (value.Slot, error) { return askQueue(a, claimOf(a, effect.QueueRelease), nothingOf) }},
	{"Queue.retry", updateItem(effect.QueueRetry)},
	{"Queue.remove", updateItem(effect.QueueRemove)},
	{"Queue.counts", queueCounts},
	{"Queue.__claim", queueClaim},
	{"Queue.__get", func(a *vm.Args) (value.Slot, error) {
		q, id := queue(a), a.String(1)
		return askQueue(a, &effect.QueueGet{Queue: q.Request(), ID: &id}, func(d itemDecoder, r effect.Result) (value.Slot, error) {
			for _, x := range r.(*effect.QueueItems).Items {
				return d.decodeSome(&x)
			}
			return value.Nil, nil
		})
	}},
	{"Queue.__list", queueList},
	{"queue.wait", func(a *vm.Args) (value.Slot, error) {
		return a.Ask(&effect.QueueWait{Queue: queue(a).Request(), Until: a.Int(1)}, vm.Nothing)
	}},
}

func queue(a *vm.Args) *memstore.Queue { return object[*memstore.Queue](a, "a Queue") }

// askQueue performs a request to the queue in argument 0, and converts its result.
func askQueue(a *vm.Args, r effect.Request, convert func(itemDecoder, effect.Result) (value.Slot, error)) (value.Slot, error) {
	q, d, args := queue(a), itemDecoder{queue(a), a.Pace()}, a
	changes := r.Kind() == effect.KindQueueAdd || r.Kind() == effect.KindQueueUpdate // a claim makes nothing ready
	of := q.Request()
	if q.Place != nil {
		return a.Ask(r, func(result effect.Result) (value.Slot, error) {
			if changes {
				args.WakeQueue(of)
			}
			return convert(d, result)
		})
	}
	return a.Ask(&effect.Clock{}, func(now effect.Result) (value.Slot, error) {
		result, err := q.Perform(now.(*effect.Time).Unix, r)
		if err != nil {
			return value.Nil, err
		}
		if changes {
			args.WakeQueue(of)
		}
		return convert(d, result)
	})
}

func nothingOf(itemDecoder, effect.Result) (value.Slot, error) { return value.Nil, nil }

// milliseconds returns argument i, a number of seconds, in milliseconds. It faults if the number is
// negative or, if positive is set, 0.
func milliseconds(a *vm.Args, i int, name string, positive bool) int64 {
	s := a.Float(i)
	switch {
	case positive && !(s > 0):
		panic(value.Faultf("%s is %s, it must be positive", name, value.AppendFloat(nil, s)))
	case !(s >= 0):
		panic(value.Faultf("%s is %s, it must not be negative", name, value.AppendFloat(nil, s)))
	}
	return int64(max(math.Round(min(s*1000, math.MaxInt64/2)), 1))
}

var anyType = &value.Type{Kind: value.TypeAny}

// encodeFor encodes a value that a queue stores.
func encodeFor(a *vm.Args, q *memstore.Queue, what string, v value.Slot, t *value.Type) ([]byte, error) {
	raw, err := schema.EncodeStoredIn(a.Pace(), v, t)
	if err != nil {
		return nil, value.Errorf("QueueError", "%s for queue %s cannot be stored: %s", what, q.Name(), err).With("code", value.String("invalid"))
	}
	return raw, nil
}

func queueAdd(a *vm.Args) (value.Slot, error) {
	q := queue(a)
	raw, err := encodeFor(a, q, "the value", a.Slot(1), q.Item)
	if err != nil {
		return value.Nil, err
	}
	r := &effect.QueueAdd{Queue: q.Request(), Value: raw, ID: a.String(2), After: stringsOf(a.Array(3)), Priority: a.Int(4)}
	if a.Float(5) != 0 {
		r.DelayMS = milliseconds(a, 5, "delay", false)
	}
	a.Step(len(r.After))
	return askQueue(a, r, func(_ itemDecoder, r effect.Result) (value.Slot, error) {
		return value.String(r.(*effect.QueueAdded).ID), nil
	})
}

// claimOf returns the request of an operation on the claimed item in argument 1.
func claimOf(a *vm.Args, op string) *effect.QueueUpdate {
	r := &effect.QueueUpdate{Queue: queue(a).Request(), Op: op, Worker: a.Application().Run}
	item := a.Slot(1)
	if id, ok := value.FieldByName(item, "id"); ok && id.Str() != nil {
		r.ID = id.AsString()
	}
	if n, ok := value.FieldByName(item, "attempts"); ok && n.Kind() == value.KindInt {
		r.Attempts = n.AsInt()
	}
	if until, ok := value.FieldByName(item, "lease_until"); ok {
		if text := value.Flatten(value.Unwrap(until)).Str(); text != nil {
			r.LeaseUntil = times.ParseInstant(text.S)
		}
	}
	return r
}

func queueComplete(a *vm.Args) (value.Slot, error) {
	var raw []byte
	if !a.Slot(2).IsNil() {
		var err error
		if raw, err = encodeFor(a, queue(a), "the result", a.Slot(2), anyType); err != nil {
			return value.Nil, err
		}
	}
	r := claimOf(a, effect.QueueComplete)
	r.Result = raw
	return askQueue(a, r, nothingOf)
}

// updateItem returns the native of an operation on the item whose id is argument 1.
func updateItem(op string) vm.Native {
	return func(a *vm.Args) (value.Slot, error) {
		return askQueue(a, &effect.QueueUpdate{Queue: queue(a).Request(), Op: op, ID: a.String(1)}, nothingOf)
	}
}

// queueClaim returns (item, until): the claimed item as in __list, or None and the time until which
// a worker should wait, or 0 if no item can become ready.
func queueClaim(a *vm.Args) (value.Slot, error) {
	r := &effect.QueueClaim{Queue: queue(a).Request(), Worker: a.Application().Run, LeaseMS: milliseconds(a, 1, "lease", true)}
	return askQueue(a, r, func(d itemDecoder, r effect.Result) (value.Slot, error) {
		claimed, item := r.(*effect.QueueClaimed), value.Nil
		if claimed.Item != nil {
			var err error
			if item, err = d.decodeSome(claimed.Item); err != nil {
				return value.Nil, err
			}
		}
		return value.Tuple(item, value.Int(claimed.Until)), nil
	})
}

func queueList(a *vm.Args) (value.Slot, error) {
	state := a.String(1)
	if state != "" {
		if err := memstore.CheckItemState(state); err != nil {
			return value.Nil, value.Faultf("%s", err)
		}
	}
	pace := a.Pace()
	if q := queue(a); q.Place == nil {
		a.Step(8 * q.Len())
	}
	return askQueue(a, &effect.QueueGet{Queue: queue(a).Request(), State: state}, func(d itemDecoder, r effect.Result) (value.Slot, error) {
		out := value.NewArray()
		for _, x := range r.(*effect.QueueItems).Items {
			pace.Step(16)
			item, err := d.decode(&x)
			if err != nil {
				return value.Nil, err
			}
			out.Push(item)
		}
		return out.Slot(), nil
	})
}

// queueCounts returns the number of items in each state, in the order of the states.
func queueCounts(a *vm.Args) (value.Slot, error) {
	return askQueue(a, &effect.QueueGet{Queue: queue(a).Request(), Count: true}, func(_ itemDecoder, r effect.Result) (value.Slot, error) {
		out := value.NewMap(len(memstore.ItemStates))
		for _, state := range memstore.ItemStates {
			out.SetString(state, value.Int(0)) // a queue in a file that does not exist has no counts
		}
		for _, x := range r.(*effect.QueueItems).Counts {
			out.SetString(x.State, value.Int(x.Count))
		}
		return out.Slot(), nil
	})
}

// itemDecoder converts items to the form for the program.
type itemDecoder struct {
	queue *memstore.Queue
	pace  *value.Pace
}

// decode returns an item as a tuple of the fields of QueueItem.
func (d itemDecoder) decode(x *effect.QueueItem) (value.Slot, error) {
	v, errs := schema.DecodeStoredIn(d.pace, x.Value, d.queue.Item)
	if len(errs) > 0 {
		where := ""
		if d.queue.Place != nil {
			where = " in " + d.queue.Place.File
		}
		return value.Nil, value.Errorf("QueueError", "item %q of queue %s%s is no %s: %s", x.ID, d.queue.Name(), where, d.queue.Item, schema.Join(errs)).
			With("code", value.String("invalid")).With("id", value.Some(value.String(x.ID)))
	}
	result := value.Nil
	if x.Result != nil {
		result, _ = schema.DecodeStoredIn(d.pace, x.Result, anyType)
	}
	return value.Tuple(value.String(x.ID), v, value.String(x.State), value.Int(x.Priority), value.Int(x.Attempts), value.StringArray(x.After),
		textOrNone(x.Worker), timeOrNone(x.LeaseUntil), textOrNone(x.Error), result, value.String(times.FormatInstant(x.Created))), nil
}

func (d itemDecoder) decodeSome(x *effect.QueueItem) (value.Slot, error) {
	v, err := d.decode(x)
	if err != nil {
		return value.Nil, err
	}
	return value.Some(v), nil
}

func textOrNone(s string) value.Slot {
	if s == "" {
		return value.Nil
	}
	return value.Some(value.String(s))
}

func timeOrNone(ms int64) value.Slot {
	if ms == 0 {
		return value.Nil
	}
	return value.Some(value.String(times.FormatInstant(ms)))
}

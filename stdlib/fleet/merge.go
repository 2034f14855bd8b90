package fleet

import (
	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/stdlib/native"
	"github.com/concerto-lang/concerto/vm"
)

// Merge contains the natives that request effects on merges.
var Merge = native.Table{
	{"merge.find", func(a *vm.Args) (value.Slot, error) { // (name, type of a queue)
		t := a.Type(1)
		return a.Ask(&effect.MergeFind{Queue: a.String(0)}, func(r effect.Result) (value.Slot, error) {
			q := r.(*effect.MergeQueueInfo)
			return native.Record(t, native.Field{"name", value.String(q.Name)}, native.Field{"into", value.String(q.Into)}), nil
		})
	}},
	{"merge.submit", func(a *vm.Args) (value.Slot, error) { // (queue, workspace, id, title, after, priority)
		return a.Ask(&effect.MergeSubmit{Queue: a.String(0), Name: a.String(1), ID: a.String(2), Title: a.String(3), After: vm.Texts(a, 4), Priority: a.Int(5)}, func(r effect.Result) (value.Slot, error) {
			return value.String(r.(*effect.MergeSubmitted).ID), nil
		})
	}},
	{"merge.list", func(a *vm.Args) (value.Slot, error) {
		return a.Ask(&effect.MergeList{Queue: a.String(0)}, func(r effect.Result) (value.Slot, error) {
			return value.String(string(r.(*effect.MergeChanges).Changes)), nil
		})
	}},
	{"merge.finish", func(a *vm.Args) (value.Slot, error) {
		return a.Ask(&effect.MergeFinish{Queue: a.String(0)}, vm.Nothing)
	}},
	{"merge.open", func(a *vm.Args) (value.Slot, error) { // (queue, resolve, watch, workspace, into, title, gate, time in ms)
		q := &effect.MergeOpen{Queue: a.String(0), Resolve: a.Bool(1), Watch: a.Bool(2), Name: a.String(3), Into: a.String(4), Title: a.String(5), Gate: a.Bool(6), Time: a.Int(7)}
		return a.AskToOpen(q, func(r effect.Result) (value.Slot, error) {
			return value.Int(r.(*effect.MergeOpened).ID), nil
		}, func(r effect.Result) (int64, effect.Request) {
			id := r.(*effect.MergeOpened).ID
			return id, &effect.MergeClose{ID: id}
		})
	}},
	{"merge.next", func(a *vm.Args) (value.Slot, error) { // returns (kind, number, channel, key, data)
		id := a.Int(0)
		return a.Ask(&effect.MergeNext{ID: id}, func(r effect.Result) (value.Slot, error) {
			e := r.(*effect.MergeEvent)
			if e.Kind == effect.MergeEnd {
				a.Release(effect.KindMergeClose, id)
			}
			return value.Tuple(value.String(e.Kind), value.Int(e.Number), value.String(e.Channel), value.String(e.Key), value.String(string(e.Data))), nil
		})
	}},
	{"merge.reply", func(a *vm.Args) (value.Slot, error) { // (id, number, ok, message)
		return a.Ask(&effect.MergeReply{ID: a.Int(0), Answer: a.Int(1), OK: a.Bool(2), Message: a.String(3)}, vm.Nothing)
	}},
}

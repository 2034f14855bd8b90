package vm

import (
	"sync/atomic"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/ir"
)

// Profiling. With Config.Profile the loader puts an opSample before the first instruction of each
// line and after each call, and fuses nothing. This sample point records the position of the run.
// The samples that are pending at a sample point are attributed to the previous one, because the
// time has passed between the two. Without Config.Profile there are none, and only the places where
// tasks wait and natives return check for a profile.

// Profile samples the position of a run. Its functions are called on the run's goroutine. Stacks
// begin with the innermost call, and the callee may retain them.
type Profile struct {
	// Pending is the number of samples that have not been recorded. The profiler's clock increments
	// it from any goroutine.
	Pending atomic.Int32
	// Sample receives a stack to which n samples are attributed.
	Sample func(stack []Place, n int)
	// Now returns the current time in nanoseconds. Waited receives the duration for which a task
	// has waited.
	Now    func() int64
	Waited func(stack []Place, nanoseconds int64)
}

// maxFrames is the maximum number of calls in a stack. The outer calls are omitted.
const maxFrames = 500

// samplePoints returns the indexes of the instructions of a block before which there is a sample
// point.
func (m *loader) samplePoints(b *ir.Block) map[int]bool {
	if m.config.Profile == nil {
		return nil
	}
	at := map[int]bool{0: true}
	line := 0
	for _, p := range b.Positions {
		if p.Line != line {
			at[p.PC] = true
		}
		line = p.Line
	}
	for i, in := range b.Code {
		switch in.Op {
		case ir.OpCall, ir.OpCallClosure, ir.OpCallMethod:
			at[i+1] = true
		}
	}
	return at
}

func doSample(t *task, in *ins) status {
	if p := t.m.config.Profile; t.samples.last.ip != 0 {
		p.Sample(t.stackAtSample(), int(p.Pending.Swap(0)))
	}
	t.samples.last = samplePoint{uintptr(t.ip), uintptr(t.fp)}
	return running
}

// sampling is the profiling state of a task.
type sampling struct {
	pending *atomic.Int32 // number of samples that have not been recorded
	last    samplePoint   // last sample point that the run reached
}

// hasSamples reports whether samples are pending. s is nil without Config.Profile.
func (s *sampling) hasSamples() bool { return s != nil && s.pending.Load() > 0 }

// samplePoint is the position of a sample point that the run reached. The frame is stored as a
// number. If the stack has moved since, at most the innermost line of a sample is wrong.
type samplePoint struct{ ip, fp uintptr }

// stackAtSample returns the stack at the last sample point. That point is in the same call as the
// current one, in its caller, or in a call that has just returned.
func (t *task) stackAtSample() []Place {
	pc := t.pc()
	last := int((t.samples.last.ip-uintptr(t.code))/insSize) - 1
	switch fp := uintptr(t.fp); {
	case t.samples.last.fp == fp && t.m.image.blockAt(last).fn == t.m.image.blockAt(pc).fn:
		return t.frames(nil, last)
	case t.samples.last.fp < fp:
		if all := t.frames(nil, pc); len(all) > 1 {
			return all[1:]
		}
	case t.samples.last.fp > fp:
		return t.frames(t.m.image.placesAt(nil, last), pc)
	}
	return t.frames(nil, pc)
}

// frames appends the calls of the task, which may be parked, the innermost at pc.
func (t *task) frames(all []Place, pc int) []Place {
	for fp := t.frame(); fp != nil && pc > 0 && len(all) < maxFrames; fp, pc = t.caller(fp) {
		all = t.m.image.placesAt(all, pc)
	}
	return all
}

// sample records the pending samples for time that the task spent outside of the program's code: in
// a native or an effect.
func (t *task) sample(what string) {
	p := t.m.config.Profile
	if n := p.Pending.Swap(0); n > 0 {
		p.Sample(t.frames([]Place{{Function: what}}, t.pc()), int(n))
	}
}

// discardSamples discards the pending samples, because the run did not compute.
func (m *VM) discardSamples() {
	if p := m.config.Profile; p != nil {
		p.Pending.Store(0)
	}
}

// recordWait reports how long the task has waited since the time since, and for what.
func (t *task) recordWait(what string, since int64) {
	p := t.m.config.Profile
	p.Waited(t.frames([]Place{{Function: what}}, t.pc()), p.Now()-since)
}

// describe returns a name for what the task waits for.
func (w *wait) describe() string {
	switch w.kind {
	case waitTask, waitGroup:
		return "wait for tasks"
	case waitMessages, waitQuiet:
		return "wait for " + string(effect.KindExchangeNext)
	case waitUnwind:
		return "wait for " + string(effect.KindExchangeClose)
	}
	return "wait for " + string(w.request.Kind())
}

package engine

import (
	"errors"
	"io"
	"time"

	"github.com/concerto-lang/concerto/internal/engine/transcript"
	"github.com/concerto-lang/concerto/internal/record/activity"
	"github.com/concerto-lang/concerto/runtime"
	"github.com/concerto-lang/concerto/runtime/llm"
	"github.com/concerto-lang/concerto/vm"
)

// Steps is the level of detail at which a run logs its use of models.
type Steps uint8

// The levels of detail.
const (
	NoSteps    Steps = iota
	ShortSteps       // at level debug, a line for each request, reply, tool call, repair and retry
	WholeSteps       // the same lines, with the texts of messages
)

// following contains the observers that record and report a run. It is nil if nothing is observed.
type following struct {
	models   bool                 // the run's use of models is observed
	recorder *transcript.Recorder // nil unless models is set
	out      io.WriteCloser       // writer of the transcript; nil without a transcript
	activity *activity.Follower   // nil if Records.OnActivity is nil
}

// newFollowing returns the observers of a run, and registers a listener for model calls in c.
// createRecorder must be called before the first model call.
func (o *Options) newFollowing(c *runtime.Config) *following {
	models := o.Records.Transcript != nil || o.Records.Steps != NoSteps || o.Records.OnShares != nil
	if !models && o.Records.OnActivity == nil {
		return nil
	}
	f := &following{}
	if !models {
		return f
	}
	f.models = true
	c.Listeners.OnModelEvent = func(e llm.Event) { f.recorder.ModelEvent(e) }
	return f
}

// createRecorder creates the observers that depend on the runtime.
func (f *following) createRecorder(world *runtime.Runtime, o *Options, name string) {
	if f == nil {
		return
	}
	if onActivity := o.Records.OnActivity; onActivity != nil {
		began := time.Now()
		f.activity = activity.New(activity.Options{OnEvent: onActivity, Clean: world.Secrets().Text, Since: func() time.Duration { return time.Since(began) }})
	}
	if !f.models {
		return
	}
	t := transcript.Options{Bodies: o.Records.Steps == WholeSteps, Program: name}
	if o.Records.Transcript != nil {
		f.out = world.Secrets().Writer(o.Records.Transcript)
		t.Out = f.out
	}
	if o.Records.Steps != NoSteps {
		t.Log = func(line string) { world.Remark("debug", line) }
	}
	f.recorder = transcript.New(t)
}

// observers appends the run's observers to others.
func (f *following) observers(others vm.Observers) vm.Observers {
	if f != nil && f.activity != nil {
		others = append(others, f.activity)
	}
	if f != nil && f.recorder != nil {
		others = append(others, f.recorder)
	}
	return others
}

// endTranscript closes the observers and passes the usage to Records.OnShares. err is the error of
// the run. The result is an error of writing the transcript.
func (f *following) endTranscript(o *Options, err error) error {
	if f == nil {
		return nil
	}
	// if the run is suspended, its exchanges continue
	if _, left := errors.AsType[*Suspended](err); f.activity != nil && !left {
		f.activity.Close()
	}
	if f.recorder == nil {
		return nil
	}
	err = f.recorder.Close()
	if f.out != nil {
		err = firstError(err, f.out.Close())
	}
	if o.Records.OnShares != nil {
		o.Records.OnShares(f.recorder.Usage())
	}
	return err
}

// observer returns an observer that calls all of the given ones, or nil if there are none.
func observer(all vm.Observers) vm.Observer {
	switch len(all) {
	case 0:
		return nil
	case 1:
		return all[0]
	}
	return all
}

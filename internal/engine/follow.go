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

// Steps is the detail in which a run logs its use of models.
type Steps uint8

// The levels.
const (
	NoSteps    Steps = iota
	ShortSteps       // a line for each request, reply, tool call, repair and retry, at level debug
	WholeSteps       // the same with the texts
)

// following contains the observers of a run for its records, or is nil.
type following struct {
	models   bool                 // calls of models are observed
	recorder *transcript.Recorder // nil if they are not
	out      io.WriteCloser       // nil without a transcript
	activity *activity.Follower   // nil if no listener is set
}

// newFollowing returns the observers of the run, and sets the runtime's listener for calls of
// models. with creates the recorder and must be called before the first request.
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

// createRecorder creates the recorder, before the first request.
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

// observers adds these observers to those of the VM.
func (f *following) observers(others vm.Observers) vm.Observers {
	if f != nil && f.activity != nil {
		others = append(others, f.activity)
	}
	if f != nil && f.recorder != nil {
		others = append(others, f.recorder)
	}
	return others
}

// endTranscript ends the transcript and reports the usage. err is the run's error; end returns that
// of writing.
func (f *following) endTranscript(o *Options, err error) error {
	if f == nil {
		return nil
	}
	// the exchanges of a suspended run continue
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

// observer combines observers, or returns nil for none.
func observer(all vm.Observers) vm.Observer {
	switch len(all) {
	case 0:
		return nil
	case 1:
		return all[0]
	}
	return all
}

package tape

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/models"
	"github.com/concerto-lang/concerto/vm"
)

// SampleOptions configures a Sample.
type SampleOptions struct {
	// Tape is the tape of an earlier run of the sample, whose requests must not contain secrets;
	// nil for none.
	Tape   *Tape
	Header Header
	// Clean replaces secrets in lines and requests.
	Clean func([]byte) []byte
	// IsOwn reports whether the sample itself answers a request, such as by a mock. Such requests
	// are not on the tape. It is called once for each request, when the program makes it.
	IsOwn func(effect.Request) bool
	// IsOutside reports whether the program is not at fault for the failure of an effect. The tape
	// of the next run does not contain it.
	IsOutside func(effect.Kind, *Failure) bool
	// Replayed receives each request whose result is on the tape; nil ignores them.
	Replayed func(effect.Request)
	// Price returns the cost of a reply; see effect.Meter.
	Price func(*effect.AgentReply) (cost int64, ok bool)
	// Edit changes each request before it is looked up and performed; nil changes nothing.
	Edit func(effect.Request)
	// Create creates the file of the tape with its first lines. It is called before the first
	// request that the tape does not contain is performed.
	Create func(start []byte) (io.WriteCloser, error)
	// Offline makes requests that the tape does not contain an error.
	Offline bool
	// Fail stops the program because the tape could not be written.
	Fail func(error)
}

// ErrStartOver means that the program made a request that its tape does not contain while an
// exchange or a stream of the tape was open. The sample must run again without the tape.
var ErrStartOver = errors.New("the tape ends in the middle of an exchange or a stream")

// Sample is the tape of a sample of an eval (spec/49-eval.md). The program receives the recorded
// results of its requests until it makes a request that the tape does not contain. The tape then
// ends before this request, and everything after it is performed and recorded. If the tape was cut
// off, it lacks the requests that were being performed; these begin when nothing else can happen.
// An entry is in the file before the program receives it. Sample is a vm.Durable, and its
// vm.Journal and vm.IdlePast.
type Sample struct {
	vm.NotDurable
	vm.NoJournal
	options  SampleOptions
	player   *Player // nil without a tape
	recorder *Recorder
	file     io.WriteCloser // nil until a request is performed
	lines    []sampleLine
	isOver   bool            // the context of the run has ended; nothing more is recorded
	hasLeft  bool            // the program has left the tape
	outside  map[string]bool // messages of failures for which the program is not at fault
	diverged error
	err      error // error of writing

	effects   map[int64]sampleEffect // running effects
	seen      int64                  // last effect that was classified
	underWay  []int64
	open      map[objectKey]bool // exchanges, streams (nil) and calls (nil) that are open
	acted     bool               // the program may have changed files
	time      effect.Time        // last recorded reading of the clock; zero without one
	used      SampleUsage
	meter     effect.Meter
	exchanges []*effect.Metered
}

// sampleEffect is a running effect.
type sampleEffect struct {
	isOwn bool   // the sample itself answers it
	entry int    // index of its entry on the tape, or -1
	judge string // hash of the judge that makes a call, or ""
}

// sampleLine is a line of the tape after the header.
type sampleLine struct {
	text    []byte
	outside *effect.Error // a failure for which the program is not at fault, and which it did not retry; nil for none
	judge   string
}

// SampleUsage contains what the agents and hosts of a sample used, and its judges. An exchange
// counts as one of unknown price if its host has reported neither a cost nor tokens that have one.
// Calls and JudgeCalls are the numbers of calls that were performed, not read from the tape.
type SampleUsage struct {
	Used, Judged      models.Sum
	Calls, JudgeCalls int64
}

// NewSample starts a sample.
func NewSample(o SampleOptions) *Sample {
	s := &Sample{options: o, outside: map[string]bool{}, effects: map[int64]sampleEffect{}, open: map[objectKey]bool{}}
	if o.Tape != nil {
		s.player = Play(o.Tape)
		s.player.Clean = o.Clean
	}
	s.recorder = Record(s, o.Header, o.Clean)
	s.flush()
	return s
}

// Journal implements vm.Durable.
func (s *Sample) Journal() vm.Journal { return s }

// Past implements vm.Durable. It returns nil if the sample has no tape.
func (s *Sample) Past() vm.Past {
	if s.player == nil {
		return nil
	}
	return s
}

// Write adds a line to the tape. The recorder calls it.
func (s *Sample) Write(line []byte) (int, error) {
	s.lines = append(s.lines, sampleLine{text: slices.Clone(line)})
	if s.file != nil {
		return s.file.Write(line)
	}
	return len(line), nil
}

// flush writes the lines that the recorder has buffered, and stops the program if that fails.
func (s *Sample) flush() {
	if err := s.recorder.Flush(); err != nil {
		s.fail(err)
	}
}

func (s *Sample) fail(err error) {
	if s.err == nil {
		s.err = fmt.Errorf("could not write the tape: %w", err)
		if s.options.Fail != nil {
			s.options.Fail(s.err)
		}
	}
}

// sampleAreas are the areas of effects that the tape of a sample contains, in addition to calls of
// tools. Everything else depends only on the sample itself, or is an input of the program, such as
// a variable of the environment.
var sampleAreas = []effect.Area{effect.Models, effect.Hosts, effect.Servers, effect.Clocks, effect.Timers, effect.Files, effect.Web, effect.Commands, effect.Workspaces, effect.Merges, effect.Output}

// contains reports whether the tape contains requests like r. Files that are read before the
// program has changed anything are inputs.
func (s *Sample) contains(r effect.Request) bool {
	k := r.Kind()
	row := effect.Lookup(k)
	switch {
	case !Recorded(k) || row.By != effect.Applications && !slices.Contains(sampleAreas, row.By):
		return false
	case row.By == effect.Applications:
		return k == effect.KindAppCall
	case row.By == effect.Files && row.Class == effect.ClassRead && !s.acted:
		return false
	}
	return true
}

// changesFiles reports whether a request may change files that the program reads later.
func changesFiles(r effect.Request) bool {
	row := effect.Lookup(r.Kind())
	switch row.By {
	case effect.Files:
		return row.Class != effect.ClassRead || row.Kind == effect.KindTempDir
	case effect.Hosts, effect.Servers, effect.Commands, effect.Workspaces, effect.Merges, effect.Applications:
		return true
	}
	return false
}

// classify decides, once for each request, whether the tape contains requests like it, and finds
// its entry.
func (s *Sample) classify(e int64, r effect.Request) sampleEffect {
	if e == s.seen {
		return s.effects[e]
	}
	s.seen = e
	if s.options.Edit != nil {
		s.options.Edit(r)
	}
	x := sampleEffect{isOwn: !s.contains(r) || s.options.IsOwn(r), entry: -1}
	if !x.isOwn {
		s.acted = s.acted || changesFiles(r)
		x.judge = judgeOf(r)
		if !s.isLive() {
			if text, err := s.player.text(r); err == nil {
				x.entry = s.player.equal(e, s.player.keyOf(r, text))
			}
		}
	}
	if x.entry >= 0 && s.options.Replayed != nil {
		s.options.Replayed(r)
	}
	s.effects[e] = x
	return x
}

// judgeOf returns the hash of the judge that makes a call, or "".
func judgeOf(r effect.Request) string {
	if q, ok := r.(*effect.AgentCall); ok {
		return q.Judge
	}
	return ""
}

// mayBeUnderWay reports whether a missing request may have been in progress when the tape was cut
// off.
func (s *Sample) mayBeUnderWay(r effect.Request) bool {
	return s.options.Tape.Ended == nil && !effect.Inline(r.Kind()) && slices.Contains(s.player.used, false)
}

// OnlyResultsFollow reports whether the program leaves the tape with effect e.
func (s *Sample) OnlyResultsFollow(e int64, r effect.Request) bool {
	x := s.classify(e, r)
	if x.isOwn || x.entry >= 0 || s.mayBeUnderWay(r) || s.options.Offline || len(s.open) > 0 {
		return false
	}
	s.hasLeft = true
	return true
}

// missing returns the error for a request that the tape does not contain.
func (s *Sample) missing(e int64, r effect.Request) error {
	if s.options.Offline {
		text, err := s.player.text(r)
		if err == nil {
			err = s.player.missingError(e, s.player.keyOf(r, text), text)
		}
		s.diverged = err
		return err
	}
	s.diverged = ErrStartOver
	return ErrStartOver
}

// Result returns the recorded result of an effect that does not wait.
func (s *Sample) Result(e int64, r effect.Request) (result effect.Result, known bool, err error) {
	x := s.classify(e, r)
	switch {
	case x.isOwn:
		return nil, false, nil
	case x.entry < 0:
		return nil, true, s.missing(e, r)
	}
	return s.player.resultOf(x.entry, e)
}

// Find returns whether the tape contains the result of an effect for which the program waits.
func (s *Sample) Find(e int64, r effect.Request) (vm.PastResult, error) {
	x := s.classify(e, r)
	switch {
	case x.isOwn:
		return vm.Unrecorded, nil
	case x.entry >= 0:
		s.player.begin(x.entry, e)
		return vm.Recorded, nil
	case s.mayBeUnderWay(r) && !s.options.Offline:
		s.underWay = append(s.underWay, e)
		return vm.UnderWay, nil
	}
	return vm.Unrecorded, s.missing(e, r)
}

// NextEvent returns the next event on the tape.
func (s *Sample) NextEvent() (vm.Event, bool) { return s.player.NextEvent() }

// NextIdle leaves a tape that was cut off, if all its results have been returned.
func (s *Sample) NextIdle() (vm.Event, bool) {
	switch {
	case len(s.underWay) == 0 || s.diverged != nil:
	case len(s.open) > 0:
		s.diverged = ErrStartOver
		return vm.Event{Err: ErrStartOver}, true
	default:
		s.hasLeft = true
	}
	return vm.Event{}, false
}

// EventAt returns the event that was recorded at a moment in the middle of a turn.
func (s *Sample) EventAt(at vm.Moment) (vm.Event, bool) { return s.player.EventAt(at) }

// ExceededMemory returns false, because a sample that exceeds its memory limit has no tape.
func (s *Sample) ExceededMemory(vm.Moment) bool { return false }

// IsComplete reports whether the program has left the tape and has received all of its results.
func (s *Sample) IsComplete() bool { return s.hasLeft && len(s.player.begun) == 0 }

// Pending returns the effects that begin when the program leaves the tape.
func (s *Sample) Pending() []int64 { return s.underWay }

// EffectBegan creates the file of the tape if the effect is the first one that is performed.
func (s *Sample) EffectBegan(e int64, _ vm.Scene, r effect.Request) {
	if !s.classify(e, r).isOwn && s.isLive() && s.file == nil && s.err == nil {
		s.create()
	}
}

// isLive reports whether requests are performed.
func (s *Sample) isLive() bool { return s.player == nil || s.hasLeft }

// IsCached reports whether the tape contained every request of the program.
func (s *Sample) IsCached() bool { return s.player != nil && !s.hasLeft && s.diverged == nil }

// Diverged returns ErrStartOver, or the reason why a sample without requests could not continue, or
// nil.
func (s *Sample) Diverged() error { return s.diverged }

// create creates the file with the lines so far.
func (s *Sample) create() {
	var start []byte
	for _, line := range s.lines {
		start = append(start, line.text...)
	}
	var err error
	if s.file, err = s.options.Create(start); err != nil {
		s.file = nil
		s.fail(err)
	}
}

// ContinueTime returns the time of a sample for a reading of the clock. The time since the start of
// this run of the sample is added to the last recorded time, so that durations are not negative.
func (s *Sample) ContinueTime(now effect.Time) effect.Time {
	return effect.Time{Unix: max(now.Unix, s.time.Unix), Monotonic: s.time.Monotonic + now.Monotonic}
}

// EffectEnded records the result of an effect.
func (s *Sample) EffectEnded(e int64, r effect.Request, result effect.Result, err error, at *vm.Moment) {
	x := s.effects[e]
	delete(s.effects, e)
	failed, _ := errors.AsType[*effect.Error](err)
	if failed != nil && (failed.IsDenied || s.options.IsOutside(r.Kind(), FailureOf(err))) {
		s.outside[failed.Message] = true
	} else {
		failed = nil
	}
	if step, ok := r.(*effect.Step); ok && step.What == effect.StepRetry {
		s.retried(step.Text)
	}
	if !s.records(x) {
		return
	}
	s.count(r, result, err, x)
	s.follow(r, result, err)
	if t, ok := result.(*effect.Time); ok && x.entry >= 0 {
		s.time = *t
	}
	if x.entry < 0 && s.file == nil { // the effect began before the program left the tape
		s.create()
	}
	s.recorder.EffectEnded(e, r, result, err, at)
	s.flush()
	last := &s.lines[len(s.lines)-1]
	last.outside, last.judge = failed, x.judge
}

// retried lets a failure outside the program stay on the tape, because a decorator calls again what
// has failed with this message: only the last attempt can be why the sample ends as it does.
func (s *Sample) retried(message string) {
	for i := len(s.lines) - 1; i >= 0; i-- {
		if x := &s.lines[i]; x.outside != nil && x.outside.Message == message {
			x.outside = nil
			return
		}
	}
}

// records reports whether the end of an effect is recorded.
func (s *Sample) records(x sampleEffect) bool {
	return !x.isOwn && !s.isOver && s.diverged == nil && s.err == nil
}

// wasRefused reports whether a call was not made because of the run's own settings.
func wasRefused(err error) bool {
	failed, _ := errors.AsType[*effect.Error](err)
	return failed != nil && slices.Contains([]any{"limit", "permission", "config"}, failed.Fields["reason"])
}

// count adds what a call or an exchange used. A call that was refused before it was made, such as
// by a limit, is none.
func (s *Sample) count(r effect.Request, result effect.Result, err error, x sampleEffect) {
	isCall := r.Kind() == effect.KindAgentCall || r.Kind() == effect.KindStreamOpen
	switch {
	case !isCall || x.entry >= 0 || wasRefused(err):
	case x.judge != "":
		s.used.JudgeCalls++
	default:
		s.used.Calls++
	}
	s.meter.Add(r, result, err, func(more effect.Use) {
		if x.judge != "" {
			s.used.Judged.Add(more.Sum)
		} else {
			s.used.Used.Add(more.Sum)
		}
	})
	if opened, ok := result.(*effect.ExchangeOpened); ok && err == nil {
		s.exchanges = append(s.exchanges, s.meter.Exchange(opened.ID))
	}
}

// IsOutside reports whether a request failed with this message and the program is not at fault.
func (s *Sample) IsOutside(message string) bool { return s.outside[message] }

// HasOutside reports whether the tape contains a failure that the next run must not use.
func (s *Sample) HasOutside() bool { return s.firstOutside() < len(s.lines) }

// firstOutside returns the index of the first failure that the next run must not use, or the number
// of lines.
func (s *Sample) firstOutside() int {
	if i := slices.IndexFunc(s.lines, func(x sampleLine) bool { return x.outside != nil }); i >= 0 {
		return i
	}
	return len(s.lines)
}

// Usage returns what the sample used.
func (s *Sample) Usage() SampleUsage {
	u := s.used
	for _, x := range s.exchanges {
		if use := x.Use(); use.Cost == 0 && !x.Priced {
			u.Used.Unpriced++
		}
	}
	return u
}

// follow records which exchanges, streams and calls are open.
func (s *Sample) follow(r effect.Request, result effect.Result, err error) {
	if n, ok := result.(effect.Numbered); ok && err == nil {
		s.open[objectKey{r.Kind().Family(), *n.Number()}] = true
	}
	n, ok := r.(effect.Numbered)
	if !ok {
		return
	}
	isClosed := err != nil
	switch x := result.(type) {
	case *effect.StreamPiece:
		isClosed = isClosed || x.Reply != nil
	case *effect.MCPEvent:
		isClosed = isClosed || x.Kind == "result"
	}
	switch r.Kind() {
	case effect.KindExchangeClose, effect.KindStreamClose:
		isClosed = true
	case effect.KindExchangeNext, effect.KindExchangeReply, effect.KindExchangeSteer, effect.KindExchangeContinue, effect.KindExchangeGate:
		isClosed = false // until it is closed
	}
	if isClosed {
		delete(s.open, objectKey{r.Kind().Family(), *n.Number()})
	}
}

// EffectDeferred records that an effect could not be performed at once.
func (s *Sample) EffectDeferred(e int64, r effect.Request, at vm.Moment) {
	x := s.effects[e]
	delete(s.effects, e)
	if s.records(x) {
		s.recorder.EffectDeferred(e, r, at)
		s.flush()
	}
}

// MemoryExceeded does nothing: the sample fails, and runs again.
func (s *Sample) MemoryExceeded(vm.Moment) { s.isOver = true }

// ContextEnded ends the recording. The tape does not contain the effects that were in progress, so
// the next run of the sample performs them again.
func (s *Sample) ContextEnded(error, *vm.Moment) { s.isOver = true }

// End completes the tape of a sample that took ms milliseconds. A tape that contained every request
// of the program does not change.
func (s *Sample) End(ms float64) error {
	if s.err == nil && (s.isLive() || s.options.Tape.Ended == nil) {
		if s.file == nil {
			s.create()
		}
		if s.err == nil {
			s.recorder.write(struct {
				End End `json:"end"`
			}{End{MS: ms}})
			s.flush()
		}
	}
	return s.close()
}

// Leave ends the recording of a sample that did not end, or must run again.
func (s *Sample) Leave() error { return s.close() }

func (s *Sample) close() error {
	if s.file != nil {
		if err := s.file.Close(); err != nil {
			s.fail(err)
		}
		s.file = nil
	}
	return s.err
}

// Refused removes the entries that the next run of the sample must not use, because the program was
// not at fault: the first failure outside the program that it did not retry, or the last answers of
// a judge if judgeFailed is set, and all entries after them.
func (s *Sample) Refused(judgeFailed bool) error {
	cut := s.firstOutside()
	if judgeFailed {
		last := len(s.lines) - 1
		for last > 0 && s.lines[last].judge == "" {
			last--
		}
		for judge := s.lines[max(last, 0)].judge; last > 0 && s.lines[last].judge == judge; last-- {
			cut = min(cut, last)
		}
	}
	if err := s.close(); err != nil || cut == len(s.lines) {
		return err
	}
	s.lines = s.lines[:max(cut, 1)]
	s.create()
	return s.close()
}

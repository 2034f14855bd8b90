package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/models"
	"github.com/concerto-lang/concerto/internal/data/schema"
	"github.com/concerto-lang/concerto/internal/data/secret"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/internal/process/procgroup"
	"github.com/concerto-lang/concerto/internal/record/tape"
	"github.com/concerto-lang/concerto/ir"
	world "github.com/concerto-lang/concerto/runtime"
	"github.com/concerto-lang/concerto/runtime/budget"
	"github.com/concerto-lang/concerto/runtime/llm"
	"github.com/concerto-lang/concerto/runtime/mock"
	"github.com/concerto-lang/concerto/runtime/workspace"
	"github.com/concerto-lang/concerto/stdlib"
	"github.com/concerto-lang/concerto/vm"
)

// ModelChange replaces the model of an agent in a variant of an eval.
type ModelChange = tape.ModelChange

// Sampler runs samples of evals (spec/49-eval.md). All samples share the limits of the program's
// manifest and the rate limits of its connections. A Sampler is safe for concurrent use.
type Sampler struct {
	program *Program
	ir      *ir.Program // the program whose agents have the full names of their models
	of      Options
	config  world.Config
	hosts   map[string]mock.Host
	timeout time.Duration
	day     func() error   // closes the file of the day's use
	release func() error   // releases the audit log
	secrets *secret.Record // those that are known before a sample runs

	mu     sync.Mutex
	images []*vm.VM        // loaded programs that no sample uses
	called map[string]bool // agents that samples have called, except as judges
}

// NewSampler prepares samples. timeout limits each sample. maxCost limits the cost of all samples
// in US dollars, in addition to [limits]; 0 means no limit.
func (p *Program) NewSampler(o Options, timeout time.Duration, maxCost float64) (*Sampler, error) {
	o.Args, o.Inputs, o.Output = nil, nil, Output{}
	o.Answers.Stdin = strings.NewReader("")
	s := &Sampler{program: p, hosts: map[string]mock.Host{}, timeout: timeout, called: map[string]bool{}}
	var err error
	if o.Records.Audit, s.release, err = p.openSharedAudit(&o); err != nil {
		return nil, err
	}
	s.of = o
	if s.config, err = p.runtimeConfig(&o); err != nil {
		return nil, joined(err, s.release())
	}
	c := &s.config
	c.Audit, c.Stores.InMemory = o.Records.Audit, true
	if limit := narrower(c.Bounds.MaxCost, maxCost); limit != c.Bounds.MaxCost {
		c.Bounds.MaxCost, c.Bounds.CostLimit = limit, "--max-cost or [eval] max_cost_usd"
	}
	if c.Bounds.Day, err = p.openDay(&o, c); err != nil {
		return nil, joined(err, s.release())
	}
	if c.Bounds.Day.File != nil {
		s.day = c.Bounds.Day.File.Close
	}
	c.Connections = withFullNames(c.Connections)
	c.Shared = world.NewShared(c)
	c.Bounds.Day = world.DayLimits{} // the shared budget has it, and a sample must not close its file
	s.secrets = c.Recorded()
	s.ir = withModels(p.ir, c.Connections)
	for _, h := range c.Hosts {
		s.hosts[h.Name] = mock.Host{Timeout: h.Timeout, Instances: h.Instances, Recorded: h.Recorded()}
	}
	return s, nil
}

// Close releases what all samples share.
func (s *Sampler) Close() error {
	s.config.Shared.Close()
	var err error
	if s.day != nil {
		err = s.day()
	}
	return joined(err, s.release())
}

// Limit returns a context that ends when the samples have run for as long as the manifest allows
// for a run.
func (s *Sampler) Limit(ctx context.Context) (context.Context, context.CancelFunc) {
	return budget.Run(ctx, nil, s.program.ir.Limits.MaxRunSeconds)
}

// IsUsedUp reports whether a call was refused because of a limit on tokens or costs.
func (s *Sampler) IsUsedUp() bool {
	_, all := s.config.Shared.Budget.Usage()
	return all.Refused > 0
}

// Used returns the cost of the calls that the samples made so far, in US dollars.
func (s *Sampler) Used() float64 {
	return budget.Money(s.config.Shared.Budget.Used().Cost).USD()
}

// CleanText replaces the secrets that are known before a sample runs in a text.
func (s *Sampler) CleanText(text string) string { return s.secrets.Text(text) }

// Connections returns the names of the program's connections.
func (s *Sampler) Connections() []string {
	var names []string
	for i := range s.config.Connections {
		names = append(names, s.config.Connections[i].Name)
	}
	return names
}

// SampleRequest describes a sample.
type SampleRequest struct {
	Eval   Eval
	Row    []byte // JSON of the row, which its type accepts
	Seed   int64  // of the sample's random numbers
	Models []ModelChange
	// Tape is the tape of the sample as text; nil for none.
	Tape []byte
	// Create creates the file of the tape with its first lines.
	Create func(start []byte) (io.WriteCloser, error)
	// Offline makes requests that are not on the tape an error.
	Offline bool
	// Whole, if not nil, receives a tape that also contains the requests which the sample itself
	// answers. It has no end.
	Whole io.Writer
}

// SampleOutcome is the outcome of a sample.
type SampleOutcome struct {
	Metrics []SampleMetric // in the order of Eval.Metrics; nil for a sample that has failed
	Failure *SampleFailure // nil for none
	Cached  bool           // the tape contained every request
	MS      float64        // duration when the requests were performed, in milliseconds
	Usage   tape.SampleUsage
	// Cost and JudgeCost are in US dollars; nil if a price is unknown.
	Cost, JudgeCost *float64
	// Missing is the reason why a sample with Offline could not continue, or nil.
	Missing error
	// Secrets replaces the secrets of the sample.
	Secrets *secret.Record
	// TapeError is the reason why the tape could not be used, or nil.
	TapeError error
}

// SampleMetric is the value of a metric.
type SampleMetric struct {
	Name      string
	IsNone    bool       // the metric is not applicable
	Value     float64    // 0 or 1 for a Bool and for an agreement
	Why       string     // reason of a score
	Judge     string     // hash of the judge of a score or an agreement, or ""
	Agreement *Agreement // nil if the metric is no agreement
}

// Agreement is the score of a judge as a Bool, and the label by a person.
type Agreement struct{ Judge, Label bool }

var errSampleLate = errors.New("the sample timed out")

// Run runs a sample. The error is the cause of ctx's end, or the reason why no further samples can
// be run, such as a tape that cannot be written.
func (s *Sampler) Run(ctx context.Context, q SampleRequest) (*SampleOutcome, error) {
	recorded, secrets, tapeError := s.readTape(q.Tape)
	out, err := s.run(ctx, &q, recorded, secrets)
	if err == nil && errors.Is(out.Missing, tape.ErrStartOver) {
		out, err = s.run(ctx, &q, nil, secrets)
	}
	if err != nil {
		return nil, err
	}
	out.TapeError = tapeError
	return out, nil
}

// readTape parses a tape. A last line without its end, which a killed process has left, is ignored.
func (s *Sampler) readTape(text []byte) (*tape.Tape, *tape.Secrets, error) {
	secrets := tape.NewSecrets(s.of.Environ)
	if text == nil {
		return nil, secrets, nil
	}
	t, err := tape.ReadCutOff(text)
	if err == nil {
		t, err = t.Restore(secrets.Value)
	}
	if err != nil {
		return nil, tape.NewSecrets(s.of.Environ), err
	}
	return t, secrets, nil
}

// image returns a loaded program that nothing else uses until release is called.
func (s *Sampler) image() (image *vm.VM, release func(), err error) {
	release = func() {
		s.mu.Lock()
		s.images = append(s.images, image)
		s.mu.Unlock()
	}
	s.mu.Lock()
	if n := len(s.images); n > 0 {
		image, s.images = s.images[n-1], s.images[:n-1]
	}
	s.mu.Unlock()
	if image == nil {
		if image, err = vm.New(vm.Config{Program: s.ir, Natives: stdlib.Native}); err != nil {
			return nil, nil, fmt.Errorf("could not load the program: %w", err)
		}
	}
	return image, release, nil
}

// sampleRun is a sample that is being run.
type sampleRun struct {
	request  *SampleRequest
	recorded *tape.Tape // nil without a tape
	outside  *world.Runtime
	sample   *tape.Sample
	machine  *vm.VM
	row      value.Slot
	secrets  *secret.Record
}

// world returns the configuration of a runtime with these random numbers, and the mocks in it.
func (s *Sampler) world(seed *int64) (*mock.World, world.Config) {
	scene := mock.New(mock.Options{Live: true, Sample: true, Hosts: s.hosts, Seed: *seed})
	config := s.config
	config.Layers = append([]effect.Layer{scene.Layer}, config.Layers...)
	config.Seed = seed
	return scene, config
}

// newRun prepares a run of a sample. stop ends it with an error.
func (s *Sampler) newRun(q *SampleRequest, image *vm.VM, recorded *tape.Tape, secrets *tape.Secrets, stop func(error)) (*sampleRun, error) {
	scene, config := s.world(&q.Seed)
	config.Session.ID = procgroup.NewID()
	if recorded != nil && recorded.Run != "" {
		config.Session.ID = recorded.Run // recorded requests may contain it
	}
	// The guardian of a process that was killed may still be killing the hosts of this run.
	config.Process = procgroup.NewID()
	r := &sampleRun{request: q, recorded: recorded}
	config.Layers = append(config.Layers, r.continueTime)
	r.outside = world.New(config)
	r.secrets = r.outside.Recorded()
	secrets.AddTo(r.outside.Secrets(), r.secrets)
	if r.recorded == nil && q.Offline {
		r.recorded = &tape.Tape{Ended: &tape.End{}}
	}
	if r.recorded != nil {
		r.recorded.Clean(r.secrets.JSON)
	}
	mocked := map[string]bool{}
	r.sample = tape.NewSample(tape.SampleOptions{
		Tape: r.recorded, Clean: r.secrets.JSON, Create: q.Create, Offline: q.Offline, Fail: stop,
		Header: tape.Header{Run: r.outside.ID(), Program: q.Eval.File, Seed: fmt.Sprint(q.Seed), Eval: &tape.EvalCall{Function: q.Eval.Function, Row: q.Row, Models: q.Models}},
		IsOwn: func(x effect.Request) bool {
			switch x := x.(type) {
			case *effect.AppMock:
				mocked[x.Name] = true
			case *effect.AppCall:
				return mocked[x.Tool]
			}
			return scene.Answers(x)
		},
		IsOutside: isOutside,
		Price:     r.outside.Price,
		Replayed:  scene.Note,
		Edit:      func(x effect.Request) { s.changeModel(x, q.Models) },
	})
	var err error
	r.machine, err = image.Fresh(func(c *vm.Config) {
		c.Performer, c.Durable = r.outside, r.sample
		if q.Whole != nil {
			c.Durable = &teeJournal{r.sample, tape.Record(q.Whole, tape.Header{Run: r.outside.ID(), Program: q.Eval.File, Seed: fmt.Sprint(q.Seed)}, r.secrets.JSON)}
		}
	})
	if err != nil {
		return nil, fmt.Errorf("could not load the program: %w", err)
	}
	row, errs := schema.Decode(q.Row, vm.TypeOf(r.machine, q.Eval.eval.Row))
	if len(errs) > 0 {
		return nil, fmt.Errorf("could not read the row: %s", schema.Join(errs))
	}
	r.row = row
	return r, nil
}

// continueTime makes the time of a sample that leaves its tape continue at the last recorded time.
func (r *sampleRun) continueTime(next effect.Performer) effect.Performer {
	return effect.PerformerFunc(func(ctx context.Context, q effect.Request) (effect.Result, error) {
		result, err := next.Perform(ctx, q)
		if now, ok := result.(*effect.Time); ok && err == nil {
			t := r.sample.ContinueTime(*now)
			return &t, nil
		}
		return result, err
	})
}

func (s *Sampler) run(ctx context.Context, q *SampleRequest, recorded *tape.Tape, secrets *tape.Secrets) (out *SampleOutcome, err error) {
	image, release, err := s.image()
	if err != nil {
		return nil, err
	}
	defer release()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	r, err := s.newRun(q, image, recorded, secrets, stop)
	if err != nil {
		return nil, err
	}
	endTools, err := s.program.testTools(ctx, r.outside, &s.of)
	if err != nil {
		return nil, firstError(err, firstError(r.outside.Close(ctx), endTools()))
	}
	r.machine.SetApplication(vm.Application{Run: r.outside.ID(), Tools: r.outside.HasTools(), Audited: s.config.Audit != nil})
	bounded, done := context.WithTimeoutCause(ctx, s.timeout, errSampleLate)
	began := time.Now()
	outcome, err := r.machine.Call(bounded, q.Eval.eval.Function, r.row)
	took := time.Since(began)
	isLate := err != nil && errors.Is(context.Cause(bounded), errSampleLate)
	done()
	closing := firstError(closeRuntime(ctx, r.outside, s.of.Kill), endTools())
	if ctx.Err() != nil {
		return nil, firstError(context.Cause(ctx), r.sample.Leave())
	}
	failure := s.failureOf(cleanError(r.outside, firstError(err, closing)), isLate, r)
	return s.end(r, outcome, failure, took, isLate)
}

// end returns the outcome of a sample, and completes its tape.
func (s *Sampler) end(r *sampleRun, outcome *vm.Outcome, failure *SampleFailure, took time.Duration, isLate bool) (out *SampleOutcome, err error) {
	out = &SampleOutcome{Failure: failure, Cached: r.sample.IsCached(), Usage: r.sample.Usage(), Missing: r.sample.Diverged(), Secrets: r.secrets}
	out.MS = float64(took.Microseconds()) / 1000
	if out.Cached && r.recorded.Ended != nil && r.recorded.Ended.MS > 0 {
		out.MS = r.recorded.Ended.MS
	}
	out.Cost, out.JudgeCost = costOf(out.Usage.Used), costOf(out.Usage.Judged)
	if out.Failure == nil {
		out.Metrics, out.Failure = r.request.Eval.metricsOf(outcome.Value)
	}
	switch f := out.Failure; {
	case out.Missing != nil || isLate:
		err = r.sample.Leave()
	case f != nil && f.IsOutside, r.sample.HasOutside():
		err = r.sample.Refused(f != nil && f.Kind == kindJudgeError)
	default:
		err = r.sample.End(out.MS)
	}
	return out, err
}

// SampleFailure is the reason why a sample has no metrics. Place is zero if the failure has no
// position in the program.
type SampleFailure struct {
	Kind    string // error type or "panic"; "" if the failure is not an error of the program
	Message string
	Place   vm.Place
	// IsOutside means that the program is not at fault; see outside.
	IsOutside bool
}

// Error returns the message with its place.
func (f *SampleFailure) Error() string {
	if at := f.At(); at != "" {
		return at + ": " + f.Message
	}
	return f.Message
}

// At returns the place as FILE:LINE:COLUMN, or "".
func (f *SampleFailure) At() string {
	switch {
	case f.Place.File == "":
		return ""
	case f.Place.Column == 0:
		return fmt.Sprintf("%s:%d", f.Place.File, f.Place.Line)
	}
	return fmt.Sprintf("%s:%d:%d", f.Place.File, f.Place.Line, f.Place.Column)
}

const kindJudgeError = "JudgeError"

// failureOf converts the error of a sample. It returns nil for nil.
func (s *Sampler) failureOf(err error, isLate bool, r *sampleRun) *SampleFailure {
	if isLate {
		f := &SampleFailure{Message: fmt.Sprintf("the sample ran longer than %s and was stopped (--timeout allows another time)", effect.Seconds(s.timeout.Seconds()))}
		if at := r.machine.CutAt(); at != nil {
			f.Place = at.Place
		}
		return f
	}
	t := failureOf(err)
	if t == nil {
		return nil
	}
	f := &SampleFailure{Kind: t.Kind, Message: t.Message, Place: t.Place}
	if e, ok := errors.AsType[*vm.Uncaught](err); ok && !e.Panic {
		f.IsOutside = r.sample.IsOutside(e.Message) || isOutside("", &tape.Failure{Kind: e.Kind, Fields: map[string]any{"reason": textField(e.Value, "reason"), "code": textField(e.Value, "code")}})
	}
	return f
}

// textField returns a text in a field of an error value, or "".
func textField(v value.Slot, name string) string {
	t := v.Type()
	if t == nil {
		return ""
	}
	i := t.FieldIndex(name)
	if i < 0 || v.Fields()[i].Kind() != value.KindString {
		return ""
	}
	return v.Fields()[i].AsString()
}

// outside lists the failures for which the program is not at fault. The tape of a sample contains
// none of them, and neither does it contain a request for which a permission was missing.
var outside = []struct {
	kind   string
	during effect.Kind // "" for any effect, and for an error that the program ends with
	field  string
	values []string // of the field; nil means any that is not in except
	except []string
}{
	{kind: kindJudgeError},
	{kind: "AgentError", field: "reason", values: texts(llm.ClassAuth, llm.ClassQuota, llm.ClassRate, llm.ClassOverloaded, llm.ClassServer, llm.ClassNotFound, llm.ClassConnection,
		llm.ClassTimeout, llm.ClassLimit, llm.ClassConfig, llm.ClassPermission)},
	// A host that cannot be started, isolated, confined or initialised. The program may have
	// requested a session that the host cannot resume.
	{kind: "HostError", during: effect.KindExchangeOpen, field: "code", except: []string{"resume"}},
	{kind: "HostError", field: "code", values: []string{"lost", "plan_limit", "limit_cost", "limit_tokens"}},
	{kind: "GitError", field: "code", values: texts(workspace.Busy, workspace.Locked, workspace.GitMissing, workspace.GitOld, workspace.Permission, workspace.Disk, workspace.OtherGit)},
	{kind: "HttpError"},                             // no response
	{kind: "ToolError", during: effect.KindMCPOpen}, // the server cannot be reached
}

// texts returns constants as texts.
func texts[T ~string](all ...T) (out []string) {
	for _, x := range all {
		out = append(out, string(x))
	}
	return out
}

// isOutside reports whether the program is not at fault for the failure of an effect.
func isOutside(during effect.Kind, f *tape.Failure) bool {
	for _, row := range outside {
		if row.kind != f.Kind || row.during != "" && row.during != during {
			continue
		}
		v, _ := f.Fields[row.field].(string)
		if slices.Contains(row.values, v) || row.values == nil && !slices.Contains(row.except, v) {
			return true
		}
	}
	return false
}

// costOf returns a cost in US dollars, or nil if a price is unknown.
func costOf(u models.Sum) *float64 {
	if u.Unpriced > 0 {
		return nil
	}
	return new(budget.Money(u.Cost).USD())
}

// metricsOf returns the values of the metrics that an eval has returned. The failure is that of a
// metric that is NaN, infinite or too large.
func (e *Eval) metricsOf(v value.Slot) ([]SampleMetric, *SampleFailure) {
	if v.IsResult() {
		v = v.Fields()[0]
	}
	values := []value.Slot{v}
	if e.eval.Fields {
		values = v.Fields()
	}
	var out []SampleMetric
	for i, m := range e.Metrics {
		x := metricOf(m, values[i])
		text := ""
		switch {
		case math.IsNaN(x.Value):
			text = "NaN"
		case math.IsInf(x.Value, 0):
			text = "infinite"
		case math.Abs(x.Value) > ir.MaxMetric:
			text = fmt.Sprintf("%g: its absolute value may be at most %g", x.Value, float64(ir.MaxMetric))
		}
		if text != "" {
			return nil, &SampleFailure{Message: fmt.Sprintf("metric %q is %s", m.Name, text), Place: vm.Place{Function: e.Function, File: e.File, Line: e.Line}}
		}
		out = append(out, x)
	}
	return out, nil
}

// metricOf returns the value of a metric.
func metricOf(m ir.Metric, v value.Slot) SampleMetric {
	x := SampleMetric{Name: m.Name}
	if v.IsNil() {
		x.IsNone = true
		return x
	}
	v = value.Unwrap(v)
	switch m.Type {
	case "score":
		x.Value, x.Why, x.Judge = v.Fields()[0].AsFloat(), v.Fields()[1].AsString(), value.Origin(v)
	case "agreement":
		a := &Agreement{v.Fields()[0].AsBool(), v.Fields()[1].AsBool()}
		x.Agreement, x.Judge = a, value.Origin(v)
		if a.Judge == a.Label {
			x.Value = 1
		}
	default:
		x.Value, _ = v.Number()
		if v.Kind() == value.KindBool && v.AsBool() {
			x.Value = 1
		}
	}
	return x
}

// services are the areas of requests to models, hosts and other services.
var services = []effect.Area{effect.Models, effect.Hosts, effect.Servers, effect.Web, effect.Commands, effect.Workspaces, effect.Merges}

// stayOffline fails all requests to models, hosts and other services.
func stayOffline(next effect.Performer) effect.Performer {
	return effect.PerformerFunc(func(ctx context.Context, q effect.Request) (effect.Result, error) {
		if slices.Contains(services, effect.Lookup(q.Kind()).By) {
			return nil, fmt.Errorf("it requests %s, which is on no tape", q.Kind())
		}
		return next.Perform(ctx, q)
	})
}

// Rows calls the function that returns an eval's rows, and returns them as JSON. The function may
// use everything that a sample may use. Its results are not recorded. If offline is true, requests
// to models, hosts and other services end it. If it fails, the error is a *SampleFailure.
func (s *Sampler) Rows(ctx context.Context, e *Eval, seed int64, offline bool) ([][]byte, error) {
	image, release, err := s.image()
	if err != nil {
		return nil, err
	}
	defer release()
	_, config := s.world(&seed)
	if offline {
		config.Layers = append(config.Layers, stayOffline)
	}
	outside := world.New(config)
	machine, err := image.Fresh(func(c *vm.Config) { c.Performer = outside })
	if err != nil {
		return nil, fmt.Errorf("could not load the program: %w", err)
	}
	outcome, err := machine.Call(ctx, e.eval.DataFunction)
	if closing := closeRuntime(ctx, outside, s.of.Kill); err == nil {
		err = closing
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		f := failureOf(cleanError(outside, err))
		return nil, &SampleFailure{Kind: f.Kind, Message: f.Message, Place: f.Place}
	}
	v := outcome.Value
	if v.IsResult() {
		v = v.Fields()[0]
	}
	var rows [][]byte
	for i := range v.Array().Len {
		rows = append(rows, value.AppendJSON(nil, v.Array().At(i)))
	}
	return rows, nil
}

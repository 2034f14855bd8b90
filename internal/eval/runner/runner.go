// Package runner runs the samples of evals and writes their results (spec/49-eval.md). Each sample
// has a tape: what is on it is not requested again, so running an eval again continues it.
package runner

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/internal/data/secret"
	"github.com/concerto-lang/concerto/internal/engine"
	"github.com/concerto-lang/concerto/internal/eval/dataset"
	"github.com/concerto-lang/concerto/internal/eval/result"
	"github.com/concerto-lang/concerto/internal/process/userfile"
	"github.com/concerto-lang/concerto/internal/record/tape"
)

// Options configures Run.
type Options struct {
	Dir      string // directory of results and tapes
	Program  string // path of the program, for results
	Seed     int64
	Parallel int  // number of samples at a time
	Fresh    bool // ignore existing tapes
	Cached   bool // make no requests
	// DryRun makes no requests and writes no files. Run then only counts the samples whose tapes
	// contain all of their requests.
	DryRun bool
	// OnSample receives each sample that has ended; it may be nil. Calls are never concurrent.
	OnSample func(*Plan, *result.Sample)
	// Warn receives warnings. Calls are never concurrent.
	Warn func(text string)
}

// Plan is an eval, or a variant of it, with the cases to run.
type Plan struct {
	Eval    engine.Eval
	Variant string
	Models  []engine.ModelChange
	Source  string // of the dataset
	Dataset *dataset.Dataset
	Cases   []dataset.Case
	Repeat  int
}

// Stem returns the name of the plan's result without its extension, and of its directory of tapes:
// the function and the variant, in which characters other than letters, digits, `.`, `-` and `_`
// are written as %XX.
func (p *Plan) Stem() string {
	if p.Variant == "" {
		return escape(p.Eval.Function)
	}
	return escape(p.Eval.Function) + "@" + escape(p.Variant)
}

// ResultPath returns the path of the plan's result.
func (p *Plan) ResultPath(dir string) string { return filepath.Join(dir, p.Stem()+result.Ext) }

// Samples returns the number of samples.
func (p *Plan) Samples() int { return len(p.Cases) * p.Repeat }

func escape(name string) string {
	var b strings.Builder
	for _, c := range []byte(name) {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte(".-_", c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// maxTapeName limits the part of a case's id in the name of a tape, in bytes.
const maxTapeName = 60

// tapePath returns the path of a sample's tape, relative to the directory of the results. clean
// replaces secrets in the case's id. The hash of the row distinguishes rows with the same id and
// another content.
func (p *Plan) tapePath(c *dataset.Case, rep int, clean func(string) string) string {
	id := escape(clean(c.ID))
	if len(id) > maxTapeName {
		id = strings.TrimRight(id[:maxTapeName], "%")
	}
	return filepath.Join("tapes", p.Stem(), fmt.Sprintf("%s-%s-%d.tape", id, c.Hash[:12], rep))
}

// seedOf returns the seed of a sample's random numbers.
func seedOf(seed int64, c *dataset.Case, rep int) int64 {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d\x00%s\x00%d", seed, c.Hash, rep))
	return int64(binary.LittleEndian.Uint64(sum[:]) >> 1)
}

// Outcome is the outcome of a plan. Its result contains the samples that were not skipped.
type Outcome struct {
	Plan   *Plan
	Result *result.Result
	// Skipped is the number of samples that were not started because a budget was used up. Calls
	// and JudgeCalls count the calls that were made.
	Skipped           int
	Calls, JudgeCalls int64
}

// run is one call of Run.
type run struct {
	options Options
	sampler *engine.Sampler
	plans   []*Plan
	began   time.Time

	mu      sync.Mutex
	next    int
	samples [][]*result.Sample // by plan, then case and repetition; nil if the sample has not ended
	out     []*Outcome
	err     error
}

// Run runs all samples of the plans. The error is the cause of ctx's end, or the reason why no
// further samples could be run. The outcomes then contain the samples that have ended.
func Run(ctx context.Context, sampler *engine.Sampler, plans []*Plan, o Options) ([]*Outcome, error) {
	r := &run{options: o, sampler: sampler, plans: plans, began: time.Now()}
	total := 0
	for _, p := range plans {
		r.samples = append(r.samples, make([]*result.Sample, p.Samples()))
		r.out = append(r.out, &Outcome{Plan: p})
		total += p.Samples()
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	limited, done := sampler.Limit(ctx)
	defer done()
	var workers sync.WaitGroup
	for range min(max(o.Parallel, 1), total) {
		workers.Go(func() {
			for r.runNext(ctx, limited, stop) {
			}
		})
	}
	workers.Wait()
	if r.err == nil {
		r.err = context.Cause(ctx) // no sample noticed its end
	}
	for i, p := range plans {
		x := p.NewResult()
		x.Program, x.Seed, x.Started = o.Program, o.Seed, r.began.UTC().Format(time.RFC3339)
		for _, s := range r.samples[i] {
			if s != nil {
				x.Samples = append(x.Samples, s)
			}
		}
		r.out[i].Result = x
	}
	return r.out, r.err
}

// runNext runs the next sample. It returns false if there is none.
func (r *run) runNext(ctx, limited context.Context, stop context.CancelCauseFunc) bool {
	r.mu.Lock()
	i := r.next
	r.next++
	r.mu.Unlock()
	n := 0
	for n < len(r.plans) && i >= r.plans[n].Samples() {
		i -= r.plans[n].Samples()
		n++
	}
	if n == len(r.plans) || ctx.Err() != nil {
		return false
	}
	p := r.plans[n]
	s, out, err := r.sample(ctx, limited, p, &p.Cases[i/p.Repeat], i%p.Repeat+1)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		if r.err == nil {
			r.err = err
		}
		stop(err)
		return false
	}
	r.samples[n][i] = s
	if out != nil {
		r.out[n].Calls += out.Usage.Calls
		r.out[n].JudgeCalls += out.Usage.JudgeCalls
	}
	if s == nil {
		r.out[n].Skipped++
	} else if r.options.OnSample != nil {
		r.options.OnSample(p, s)
	}
	return true
}

// sample runs a sample. It returns nil for a sample that is skipped.
func (r *run) sample(ctx, limited context.Context, p *Plan, c *dataset.Case, rep int) (*result.Sample, *engine.SampleOutcome, error) {
	o := &r.options
	path := p.tapePath(c, rep, r.sampler.CleanText)
	file := filepath.Join(o.Dir, path)
	q := engine.SampleRequest{Eval: p.Eval, Row: c.Row, Seed: seedOf(o.Seed, c, rep), Models: p.Models,
		Create: func(start []byte) (io.WriteCloser, error) { return create(file, filepath.ToSlash(path), start) }}
	if o.DryRun {
		q.Create = func([]byte) (io.WriteCloser, error) { return discard{}, nil }
	}
	if !o.Fresh {
		text, err := userfile.Read(file, userfile.MaxRecording)
		if err == nil {
			q.Tape = text
		} else if !errors.Is(err, fs.ErrNotExist) {
			r.warn(path, userfile.Cause(err))
		}
	}
	isUsedUp := limited.Err() != nil || r.sampler.IsUsedUp()
	q.Offline = o.Cached || o.DryRun || isUsedUp
	in := limited
	if q.Offline {
		in = ctx
	}
	out, err := r.sampler.Run(in, q)
	switch {
	case err != nil && ctx.Err() == nil && limited.Err() != nil && !q.Offline:
		return nil, nil, nil // all samples together have used their time
	case err != nil:
		return nil, nil, err
	}
	if out.TapeError != nil {
		r.warn(path, out.TapeError)
	}
	if out.Missing != nil && !o.Cached {
		return nil, out, nil
	}
	s := r.describe(p, c, rep, out)
	s.Tape = filepath.ToSlash(path)
	return s, out, nil
}

func (r *run) warn(path string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.options.Warn != nil {
		r.options.Warn(fmt.Sprintf("the tape %s cannot be used, so its sample runs again: %v", filepath.ToSlash(path), err))
	}
}

// discard is a file without content.
type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }
func (discard) Close() error                { return nil }

// tapeFile is the file of a tape. Its errors contain name, because the file has another name while
// it is being created.
type tapeFile struct {
	*os.File
	name string
}

func (f *tapeFile) Write(b []byte) (int, error) {
	n, err := f.File.Write(b)
	return n, f.named(err)
}

func (f *tapeFile) Close() error { return f.named(f.File.Close()) }

func (f *tapeFile) named(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", f.name, userfile.Cause(err))
}

// create creates a tape with its first lines, readable by its owner only. Until it has them, an
// existing tape is not replaced. name is used in errors.
func create(file, name string, start []byte) (io.WriteCloser, error) {
	f := &tapeFile{name: name}
	err := os.MkdirAll(filepath.Dir(file), 0o700)
	if err == nil {
		_ = os.Remove(file + ".new") // of a command that was killed; the next line reports what remains
		f.File, err = os.OpenFile(file+".new", os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	}
	if err != nil {
		return nil, f.named(err)
	}
	if _, err = f.File.Write(start); err == nil {
		err = userfile.Rename(f.Name(), file)
	}
	if err != nil {
		f.Close()
		os.Remove(f.Name())
		return nil, f.named(err)
	}
	return f, nil
}

// CaseID returns the id of a case in results. clean replaces secrets. If the id contained something
// that clean does not name, a part of the row's hash distinguishes it from other such ids.
func CaseID(c *dataset.Case, clean func(string) string) string {
	id := clean(c.ID)
	if id != c.ID && strings.Contains(id, secret.Redacted) {
		id += "-" + c.Hash[:12]
	}
	return id
}

// describe returns the line of a sample in the result.
func (r *run) describe(p *Plan, c *dataset.Case, rep int, out *engine.SampleOutcome) *result.Sample {
	text, clean := out.Secrets.Text, out.Secrets.JSON
	s := &result.Sample{Case: CaseID(c, text), Rep: rep, Row: clean(c.Row), Scores: map[string]result.Score{}, Cached: out.Cached, MS: &out.MS,
		Calls: out.Usage.Used.Calls - out.Usage.Used.FailedCalls, CostUSD: out.Cost}
	if c.Cluster != nil {
		s.Cluster = clean(c.Cluster)
		if bytes.Contains(s.Cluster, []byte(secret.Redacted)) && !bytes.Equal(s.Cluster, c.Cluster) {
			s.Cluster = fmt.Appendf(nil, `"%s-%d"`, secret.Redacted, c.ClusterNumber) // not equal to other such clusters
		}
	}
	u := out.Usage.Used
	s.TokensIn, s.TokensOut, s.Parts = &u.TokensIn, &u.TokensOut, u.Parts
	if out.Usage.Judged.Calls > 0 {
		s.JudgeCostUSD = out.JudgeCost
	}
	switch f := out.Failure; {
	case out.Missing != nil:
		s.Status = result.StatusError
		s.Error = &result.SampleError{Kind: "NotCached", Message: text(notCached(out.Missing))}
		if f != nil {
			s.Error.At = f.At()
		}
	case f != nil:
		s.Status = result.StatusFailed
		if f.IsOutside {
			s.Status = result.StatusError
		}
		s.Error = &result.SampleError{Kind: f.Kind, Message: text(f.Message), At: f.At()}
	default:
		s.Status = result.StatusScored
	}
	for _, m := range p.Eval.Metrics {
		if s.Status == result.StatusFailed && kindOf(m.Type) == result.KindBool {
			s.Scores[m.Name] = result.BoolScore(false)
		}
	}
	if s.Status == result.StatusScored {
		for i := range out.Metrics {
			addMetric(s, kindOf(p.Eval.Metrics[i].Type), &out.Metrics[i], text)
		}
	}
	return s
}

// notCached describes a request that a sample without requests would have made.
func notCached(err error) string {
	if d, ok := errors.AsType[*tape.DivergedError](err); ok {
		return fmt.Sprintf("%s is not on the tape of the sample, and --cached makes no requests", d.Kind)
	}
	return err.Error()
}

// kindOf returns the kind of metrics of a type in ir.Metric.
func kindOf(typ string) string {
	if typ == "bool" || typ == "agreement" {
		return result.KindBool
	}
	return result.KindNumber
}

// addMetric adds the value of a metric to a sample. kind is that of the metric.
func addMetric(s *result.Sample, kind string, m *engine.SampleMetric, text func(string) string) {
	if m.IsNone {
		s.Scores[m.Name] = result.Score{}
		return
	}
	s.Scores[m.Name] = result.Score{Kind: kind, Value: m.Value}
	if m.Why != "" {
		if s.Why == nil {
			s.Why = map[string]string{}
		}
		s.Why[m.Name] = text(m.Why)
	}
	if m.Judge != "" {
		if s.Judges == nil {
			s.Judges = map[string]string{}
		}
		s.Judges[m.Name] = m.Judge
	}
	if a := m.Agreement; a != nil {
		if s.Agreements == nil {
			s.Agreements = map[string]result.Agreement{}
		}
		s.Agreements[m.Name] = result.Agreement(*a)
	}
}

// NewResult returns the result of the plan without samples.
func (p *Plan) NewResult() *result.Result {
	e := &p.Eval
	h := result.Header{Eval: result.Version, Name: e.Name, Variant: p.Variant, Function: e.Function, File: e.File, Line: e.Line,
		Data: &result.Data{Source: p.Source, SHA256: p.Dataset.SHA256, Cases: len(p.Dataset.Cases)}, Repeat: p.Repeat}
	margin := result.DefaultMargin
	if e.Margin != nil {
		margin = *e.Margin
	}
	for _, m := range e.Metrics {
		better := result.Higher
		if m.Lower {
			better = result.Lower
		}
		h.Metrics = append(h.Metrics, result.Metric{Name: m.Name, Kind: kindOf(m.Type), Better: better, Gate: m.Gate, Margin: margin})
	}
	for _, name := range e.GateBuiltins {
		h.Metrics = append(h.Metrics, result.Metric{Name: name, Kind: result.KindNumber, Better: result.Lower, Gate: true, Margin: result.DefaultMargin})
	}
	return &result.Result{Header: h}
}

// Write writes the result of a plan as a whole. exit is the exit code of the command, or nil if it
// was interrupted.
func (o *Outcome) Write(dir string, exit *int) error {
	r := *o.Result
	if exit != nil {
		r.End = &result.End{Exit: *exit}
	}
	text, err := r.Encode()
	if err == nil {
		err = os.MkdirAll(dir, 0o755)
	}
	if err == nil {
		err = userfile.Replace(o.Plan.ResultPath(dir), text, 0o600)
	}
	return err
}

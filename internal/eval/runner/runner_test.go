package runner

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/engine"
	"github.com/concerto-lang/concerto/internal/engine/driver"
	"github.com/concerto-lang/concerto/internal/eval/dataset"
	"github.com/concerto-lang/concerto/internal/eval/result"
	"github.com/concerto-lang/concerto/internal/testkit/evalprogram"
	"github.com/concerto-lang/concerto/internal/testkit/randtest"
	"github.com/concerto-lang/concerto/runtime/llm"
)

// model answers each prompt with a number that depends on the prompt, and a number that no other
// answer has.
type model struct {
	mu    sync.Mutex
	calls int
}

func (m *model) answer(_ context.Context, q *llm.Request) (*effect.AgentReply, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls++
	h := fnv.New32()
	fmt.Fprint(h, q.Model, q.Prompt())
	return &effect.AgentReply{Text: fmt.Sprintf("%04d #%d", h.Sum32()%10_000, m.calls), TokensIn: 1, TokensOut: 2}, nil
}

// randomProgram returns a program with an eval. Without races, its metrics do not depend on the
// order in which answers arrive.
func randomProgram(random *rand.Rand, hasRaces bool) string {
	o := evalprogram.Options{Connection: "scripted"}
	if hasRaces {
		o.Statements = []string{`x = race (ask("#.1 ${x}"), { std::time::sleep(1); check("#.2 ${x}") });`}
	}
	return evalprogram.Random(random, o)
}

// evalOf runs the eval of a program and returns its result.
func evalOf(t *testing.T, dir, program string, m *model, o Options) *Outcome {
	t.Helper()
	o.Parallel = 3
	all, err := runEval(t.Context(), t, dir, program, m, o)
	if err != nil {
		t.Fatal(err)
	}
	return all[0]
}

// runEval calls Run for the eval of a program.
func runEval(ctx context.Context, t *testing.T, dir, program string, m *model, o Options) ([]*Outcome, error) {
	t.Helper()
	p, found, err := engine.CompileSource(driver.Request{Dir: dir, Inline: &driver.Inline{Name: "main.conc", Text: []byte(program)}, Evals: true})
	if err != nil || found.HasErrors() {
		for _, d := range found.Sorted() {
			t.Error(d.Message)
		}
		t.Fatalf("%v\n%s", err, program)
	}
	sampler, err := p.NewSampler(engine.Options{Dir: dir, WorkDir: dir, Models: engine.Models{Function: m.answer}}, time.Minute, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer sampler.Close()
	evals, err := p.Evals(dir)
	if err != nil {
		t.Fatal(err)
	}
	e := evals[0]
	rowTypes, err := p.RowTypes(evals)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := sampler.Rows(t.Context(), &e, 0, false)
	if err != nil {
		t.Fatal(err)
	}
	data, err := dataset.FromRows("rows", rows, rowTypes[0], "")
	if err != nil {
		t.Fatal(err)
	}
	o.Dir = filepath.Join(dir, "evals")
	return Run(ctx, sampler, []*Plan{{Eval: e, Source: "rows", Dataset: data, Cases: data.Cases, Repeat: e.Repeat}}, o)
}

// TestInterruptedBetweenSamples checks that Run returns an error if its context ends while no
// sample runs.
func TestInterruptedBetweenSamples(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	program := "fn rows() -> Array<Int> { [1, 2] }\n@eval(data: rows) fn scored(n: Int) -> Bool { n > 0 }\n"
	all, err := runEval(ctx, t, t.TempDir(), program, &model{}, Options{Parallel: 1, OnSample: func(*Plan, *result.Sample) { cancel() }})
	if !errors.Is(err, context.Canceled) || len(all[0].Result.Samples) != 1 {
		t.Errorf("error %v with %d samples, want %v with one", err, len(all[0].Result.Samples), context.Canceled)
	}
}

// lasting returns the samples without the members that depend on time and on the tapes.
func lasting(x *Outcome) []result.Sample {
	var all []result.Sample
	for _, s := range x.Result.Samples {
		plain := *s
		plain.MS, plain.Cached = nil, false
		all = append(all, plain)
	}
	return all
}

func tapesOf(t *testing.T, dir string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "evals", "tapes", "*", "*.tape"))
	if err != nil {
		t.Fatal(err)
	}
	return names
}

var callLine = regexp.MustCompile(`"q":"agent\.call".*"text":"\d{4} #(\d+)"`)

// answersOn returns the answers on the complete lines of a tape.
func answersOn(text []byte) []string {
	var all []string
	for _, m := range callLine.FindAllSubmatch(text[:bytes.LastIndexByte(text, '\n')+1], -1) {
		all = append(all, string(m[1]))
	}
	return all
}

// TestContinue runs evals of random programs, cuts their tapes at random bytes as a killed process
// leaves them, and runs them again. The results must be those of the first run, each answer on the
// tapes must be used, and no answer may be on two tapes.
func TestContinue(t *testing.T) {
	show := func(seed uint64) string { return randomProgram(rand.New(rand.NewPCG(seed, 1)), false) }
	randtest.Run(t, "internal/eval/runner", 48, show, func(t *testing.T, seed uint64) {
		continueOnce(t, rand.New(rand.NewPCG(seed, 1)))
	})
}

func continueOnce(t *testing.T, random *rand.Rand) {
	program := randomProgram(random, false)
	dir, m := t.TempDir(), &model{}
	first := evalOf(t, dir, program, m, Options{})
	total := m.calls
	kept := 0
	for _, name := range tapesOf(t, dir) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		switch random.IntN(4) {
		case 0:
			err = os.Remove(name)
			text = nil
		case 1, 2:
			header := bytes.IndexByte(text, '\n') + 1
			text = text[:header+random.IntN(len(text)-header)]
			err = os.WriteFile(name, text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		kept += len(answersOn(text))
	}
	again := evalOf(t, dir, program, m, Options{})
	if diff := cmp.Diff(lasting(first), lasting(again)); diff != "" {
		t.Fatalf("results (-first +again):\n%s\n%s", diff, program)
	}
	if got, want := m.calls-total, total-kept; got != want {
		t.Fatalf("the second run made %d calls, want %d: the tapes had %d of %d answers\n%s", got, want, kept, total, program)
	}
	owner := map[string]string{}
	for _, name := range tapesOf(t, dir) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, answer := range answersOn(text) {
			if other := owner[answer]; other != "" {
				t.Fatalf("answer %s is on %s and %s\n%s", answer, other, name, program)
			}
			owner[answer] = name
		}
	}
	m.calls = 0
	cached := evalOf(t, dir, program, m, Options{Cached: true})
	if diff := cmp.Diff(lasting(first), lasting(cached)); diff != "" || m.calls > 0 {
		t.Fatalf("%d calls; results (-first +cached):\n%s\n%s", m.calls, diff, program)
	}
}

// TestCachedRaces checks that a sample from its tape has the results of the recorded one, also if
// they depend on the order in which answers arrived.
func TestCachedRaces(t *testing.T) {
	show := func(seed uint64) string { return randomProgram(rand.New(rand.NewPCG(seed, 2)), true) }
	randtest.Run(t, "internal/eval/runner", 32, show, func(t *testing.T, seed uint64) {
		program := show(seed)
		dir, m := t.TempDir(), &model{}
		first := evalOf(t, dir, program, m, Options{})
		calls := m.calls
		again := evalOf(t, dir, program, m, Options{})
		if diff := cmp.Diff(lasting(first), lasting(again)); diff != "" || m.calls > calls {
			t.Fatalf("%d calls; results (-first +again):\n%s\n%s", m.calls-calls, diff, program)
		}
		for _, s := range again.Result.Samples {
			if !s.Cached {
				t.Fatalf("sample %s is not cached\n%s", s.Tape, program)
			}
		}
	})
}

package merge

import (
	"context"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/testkit/randtest"
	"github.com/concerto-lang/concerto/runtime/workspace"
)

// planted is a random set of changes: red ones, and pairs that fail together.
type planted struct {
	n     int
	red   map[int]bool
	clash map[[2]int]bool // the first of a pair is the smaller one
}

func random(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }

func plant(r *rand.Rand) planted {
	x := planted{1 + r.IntN(9), map[int]bool{}, map[[2]int]bool{}}
	for range r.IntN(3) {
		x.red[r.IntN(x.n)] = true
	}
	for range r.IntN(3) {
		if a, b := r.IntN(x.n), r.IntN(x.n); a < b {
			x.clash[[2]int{a, b}] = true
		}
	}
	return x
}

// fails reports whether the gate fails for a set of files.
func (x planted) fails(files []string) bool {
	has := func(i int) bool { return slices.Contains(files, name(i)) }
	for i := range x.red {
		if has(i) {
			return true
		}
	}
	for p := range x.clash {
		if has(p[0]) && has(p[1]) {
			return true
		}
	}
	return false
}

// culprits returns the changes that must fail if they are tried in order.
func (x planted) culprits() (all []string) {
	var landed []int
	for i := range x.n {
		fails := x.red[i] || slices.ContainsFunc(landed, func(j int) bool { return x.clash[[2]int{j, i}] })
		if fails {
			all = append(all, name(i))
		} else {
			landed = append(landed, i)
		}
	}
	return all
}

func name(i int) string { return fmt.Sprintf("c%d", i) }

// TestCulprits plants red and clashing changes. A run must find exactly these, each within ⌈log₂
// n⌉ + 1 gates, and every value of the branch must pass.
func TestCulprits(t *testing.T) {
	show := func(seed uint64) string { return fmt.Sprintf("%+v", plant(random(seed))) }
	randtest.Run(t, "runtime/merge", 12, show, func(t *testing.T, seed uint64) {
		r := random(seed)
		x := plant(r)
		p := newProject(t)
		config := p.queues["main"]
		config.Batch = 1 + r.IntN(9)
		p.queues["main"] = config
		q := p.queue(func(_ context.Context, w *workspace.Workspace) error {
			if x.fails(filesOf(w.Dir)) {
				return fmt.Errorf("it fails")
			}
			return nil
		})
		for i := range x.n {
			p.commit(name(i), "main", "Add "+name(i), map[string]string{name(i): "x\n"})
			if _, err := q.SubmitBranch(t.Context(), name(i), Submission{}); err != nil {
				t.Fatal(err)
			}
		}
		before := p.state()
		var gates [][]string
		report, err := q.Run(t.Context(), Run{Observer: Observer{Gate: func(e GateEvent) { gates = append(gates, e.Changes) }}})
		if err != nil {
			t.Fatal(err)
		}
		var failed []string
		for _, c := range report.Failed {
			failed = append(failed, c.ID)
			switch number := slices.Index(x.names(), c.ID); {
			case c.State == Red:
			case c.State != Semantic || len(c.ConflictsWith) != 1:
				t.Errorf("%s is %s with %v", c.ID, c.State, c.ConflictsWith)
			case !x.clash[[2]int{slices.Index(x.names(), c.ConflictsWith[0]), number}] || x.red[number]:
				t.Errorf("%s conflicts with %v", c.ID, c.ConflictsWith)
			}
		}
		slices.Sort(failed)
		if want := x.culprits(); !slices.Equal(failed, want) {
			t.Errorf("batch %d, %+v: culprits %v, want %v", config.Batch, x, failed, want)
		}
		if len(report.Merged)+len(report.Failed) != x.n {
			t.Errorf("%d merged, %d failed of %d", len(report.Merged), len(report.Failed), x.n)
		}
		checkSearches(t, gates)
		for _, commit := range slices.Concat(strings.Fields(p.git("", "reflog", "--format=%H", "main")), strings.Fields(p.git("", "rev-list", "--first-parent", "main"))) {
			if x.fails(p.files(commit)) {
				t.Errorf("%s of the branch does not pass", commit)
			}
		}
		if after := p.state(); after != before {
			t.Errorf("the checkout was\n%s\nand is\n%s", before, after)
		}
		if left := p.git("", "for-each-ref", "--format=%(refname)", "refs/concerto/changes"); len(strings.Fields(left)) != len(failed) {
			t.Errorf("pins %s, want those of %v", left, failed)
		}
	})
}

func (x planted) names() (all []string) {
	for i := range x.n {
		all = append(all, name(i))
	}
	return all
}

// checkSearches checks the number of gates of each batch with its search. The gates of a search
// test a part of the batch from its beginning.
func checkSearches(t *testing.T, gates [][]string) {
	t.Helper()
	for i := 0; i < len(gates); {
		n := len(gates[i])
		last := i + 1
		for last < len(gates) && len(gates[last]) > 0 && len(gates[last]) < n && slices.Equal(gates[i][:len(gates[last])], gates[last]) {
			last++
		}
		if used, most := last-i, bits.Len(uint(max(n-1, 0)))+1; used > most {
			t.Errorf("%d gates for a batch of %d, more than %d: %v", used, n, most, gates)
		}
		i = last
	}
}

// TestSearch compares the search with all results.
func TestSearch(t *testing.T) {
	for n := 1; n <= 40; n++ {
		for want := 1; want <= n; want++ {
			calls := 0
			got, err := search(0, n, func(k int) (bool, error) { calls++; return k >= want, nil })
			if err != nil || got != want || calls > bits.Len(uint(n-1)) {
				t.Errorf("search in %d for %d = %d with %d calls, %v", n, want, got, calls, err)
			}
		}
	}
}

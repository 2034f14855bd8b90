package main

import (
	"fmt"
	"slices"

	"github.com/concerto-lang/concerto/internal/compile/optimize"
)

// measure is a row of the second table. It compares Concerto's result with a target: a share of the
// result of a peer, which is another program for the same task, or a fixed value.
type measure struct {
	name   string
	title  string
	ours   func(*lab) (float64, error)
	peer   func(*lab) (float64, error)
	peers  string // name of the peer; "" if there is none
	unit   string
	rate   bool    // larger results are better
	target float64 // maximum ratio of the results (for rates: minimum); 0 means no target
	fixed  float64 // target in unit; 0 means no target
	pairs  int     // minimum number of pairs of runs, of which the median counts; 0 means that the best result of each side counts
}

// measures returns all measures except the workloads.
func measures() []measure {
	return append(slices.Concat(stores(), library(), durable(), packageMeasures(), evalMeasures(), shownListens()), []measure{
		{name: "start", title: "start of a one-line program", unit: "ms", ours: starting(wallTime, runOne), peer: starting(wallTime, runEmpty), peers: "an empty Go program", target: 2.5},
		{name: "start-cpu", title: "the same, CPU time", unit: "ms", ours: starting(cpuTime, runOne), peer: starting(cpuTime, runEmpty), peers: "an empty Go program", target: 2.5},
		{name: "version", title: "`concerto version`, CPU time", unit: "ms", ours: starting(cpuTime, printVersion), peer: starting(cpuTime, runEmpty), peers: "an empty Go program", target: 2},
		calling("trait", "a call through a trait", "trait"),
		calling("any", "a method of an Any", "any"),
		calling("function", "a function in an Any", "function"),
		waiting("waiting", 10_000, "10,000 tasks waiting", 30),
		waiting("crowd", 100_000, "100,000 tasks waiting", 250),
		{name: "push", title: "1M push with a peek each turn, times 100k's time", unit: "×", ours: growth("push", "1000000", "100000"), fixed: 12},
		{name: "check", title: "check a 5,000-line program, with process start", unit: "ms", ours: checkFile(5_000), fixed: 15},
		drawing("graph", 500, 1000),
		reporting(),
		exporting(),
		opening(),
		comparing(),
		merging(),
		queueing(),
		listening("listen", "listen, one-way messages", "flood", "", 1.5),
		listening("lines", "listen, one-way messages of 64 KB", "large", "", 1),
		listening("questions", "listen, a question and its answer", "ask", "question", 0.75),
		crowded("listens", "1,000 listens at once, 100 questions each", "MB", 300, func(p outcome) float64 { return float64(p.memory) / (1 << 20) }),
		asking(),
		askingCost(),
		askingAtOnce("agents", "1,000 agents' calls at once, 100 ms each, with process start", "ms", 250, func(p outcome) float64 { return p.wall }),
		askingAtOnce("agents-memory", "the process that makes 1,000 agents' calls at once", "MB", 60, func(p outcome) float64 { return float64(p.memory) / (1 << 20) }),
		// The measurements in this process come last, because they increase the memory that is
		// measured for processes started after them.
		{name: "parse", title: "parse 10k lines", unit: "lines/s", rate: true, ours: parseRate(10_000), fixed: 400_000},
		{name: "compile", title: "compile 20k lines: parse, check, generate", unit: "lines/s", rate: true, ours: compileRate(20_000, optimize.None), fixed: 300_000},
		{name: "optimized", title: "the same with all optimisations, and verified", unit: "lines/s", rate: true, ours: compileRate(20_000, optimize.All), fixed: 300_000},
		{name: "linear", title: "compile 100k lines, times 10k's time", unit: "×", ours: compileGrowth(10_000), fixed: 10.5},
		{name: "million", title: "compile 1M lines, times 100k's time", unit: "×", ours: compileGrowth(100_000), fixed: 10.5},
	}...)
}

// reading is the result of a measure.
type reading struct {
	measure
	mine, other float64
	ratio       float64 // Concerto's result divided by the peer's
}

// measure runs the chosen measures and prints the results as they arrive.
func (r *report) measure(l *lab, chosen map[string]bool) error {
	for _, m := range measures() {
		if !chosen[m.name] {
			continue
		}
		found, err := m.read(l, r.rounds)
		if err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
		r.readings = append(r.readings, found)
		fmt.Println(found)
		if err := r.write(); err != nil {
			return err
		}
	}
	return nil
}

// read measures Concerto and the peer alternately. It returns the best result of each. If pairs is
// set, it returns the medians and the median of the ratios.
func (m measure) read(l *lab, rounds int) (reading, error) {
	if m.pairs > 0 {
		return m.paired(l, max(rounds, m.pairs))
	}
	out := reading{measure: m}
	better := func(a, b float64) bool { return b == 0 || m.rate && a > b || !m.rate && a < b }
	for range rounds {
		v, err := m.ours(l)
		if err != nil {
			return out, err
		}
		if better(v, out.mine) {
			out.mine = v
		}
		if m.peer == nil {
			continue
		}
		if v, err = m.peer(l); err != nil {
			return out, err
		}
		if better(v, out.other) {
			out.other = v
		}
	}
	out.ratio = out.mine / out.other
	return out, nil
}

func (m measure) paired(l *lab, rounds int) (reading, error) {
	var mine, other, ratios []float64
	for range rounds {
		a, err := m.ours(l)
		if err != nil {
			return reading{}, err
		}
		b, err := m.peer(l)
		if err != nil {
			return reading{}, err
		}
		mine, other, ratios = append(mine, a), append(other, b), append(ratios, a/b)
	}
	return reading{measure: m, mine: median(mine), other: median(other), ratio: median(ratios)}, nil
}

// median sorts all and returns the middle value. For an even number of values it returns the larger
// of the two middle values.
func median(all []float64) float64 {
	slices.Sort(all)
	return all[len(all)/2]
}

// met reports whether the result reaches the target.
func (r reading) met() bool {
	v, want := r.mine, r.fixed
	if r.target > 0 {
		v, want = r.ratio, r.target
	}
	if r.rate {
		return v >= want
	}
	return v <= want
}

// String formats the reading on one line for the terminal.
func (r reading) String() string {
	s := fmt.Sprintf("%-10s %s %s", r.name, number(r.mine), r.unit)
	if r.peer != nil {
		s += fmt.Sprintf(" · %s %s %s · %.2f", r.peers, number(r.other), r.unit, r.ratio)
	}
	return s + " (" + r.aim() + ")" + mark(r.met())
}

// aim returns the target as text.
func (r reading) aim() string {
	word := "at most"
	if r.rate {
		word = "at least"
	}
	if r.target > 0 {
		return fmt.Sprintf("%s %.2f", word, r.target)
	}
	return fmt.Sprintf("%s %s %s", word, number(r.fixed), r.unit)
}

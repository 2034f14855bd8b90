package codegen_test

import (
	"context"
	"testing"

	"github.com/concerto-lang/concerto/internal/testkit/compiletest"
)

// TestNumberOfCopies checks how often programs copy a container. A container that a program only
// reads, moves or builds up in place is never copied, no matter how many iterations the loop has.
func TestNumberOfCopies(t *testing.T) {
	for _, c := range []struct {
		name, code string
		most       int64
	}{
		{"push", `let mut xs = []; for i in 0..1000 { xs.push(i); } emit("n", xs.len());`, 0},
		{"push after an assignment", `let a = [1]; let mut b = a; for i in 0..1000 { b.push(i); } emit("n", (a, b.len()));`, 1},
		{"push beside readers", `let mut xs = [0]; for i in 0..1000 { if total(xs) > i && last(xs) != i { xs.push(i); } } emit("n", xs.len());`, 0},
		{"push beside methods", `let mut b = Bag { xs: [], n: 0 }; for i in 0..1000 { if b.size() == b.n { b.add(i); } } emit("n", b.n);`, 0},
		{"nested push", `let mut m = { "k": [0] }; for i in 0..1000 { m["k"].push(i); } emit("n", m["k"].len());`, 0},
		{"x = f(x)", `let mut xs = [0]; for i in 0..1000 { xs = grown(xs, i); } emit("n", xs.len());`, 0},
		{"x = f(x)?", `let mut b = Bag { xs: [], n: 0 }; for i in 0..1000 { b = b.with(i); } emit("n", b.n);`, 0},
		{"elements", `let mut xs = [[1], [2]]; let mut n = 0; for i in 0..1000 { for x in xs { n += x.len(); } xs[0].push(i); } emit("n", n);`, 0},
		{"a let of a part", `let mut b = Bag { xs: [1], n: 0 }; for i in 0..1000 { { let xs = b.xs; if xs.len() == 0 { break; } } b.xs.push(i); } emit("n", b.xs.len());`, 0},
		{"a let used before the change", `let mut xs = [[1]]; let mut n = 0; for i in 0..1000 { let x = xs[0]; n += x.len(); xs[0].push(i); } emit("n", n);`, 0},
		{"a let whose part is used after it", `let mut b = Bag { xs: [1], n: 0 }; for i in 0..9 { let c = b; let xs = c.xs; b.xs.push(i); if xs.len() > b.xs.len() { break; } } emit("n", b.xs.len());`, 18},
		{"match", `let mut o = Some([1]); let mut n = 0; for i in 0..1000 { match o { Some(xs) => { n += xs.len(); }, None => {} } } emit("n", n);`, 0},
		{"fold", `emit("n", (0..1000).to_array().fold([], |acc: Array<Int>, x| acc + [x]).len());`, 0},
		{"map and filter", `let xs = (0..1000).to_array(); emit("n", xs.map(|x| [x]).filter(|x| x[0] > 5).len());`, 0},
		{"the last use of a parameter", `let mut b = Bag { xs: [], n: 0 }; for i in 0..1000 { b = changed(b, i); } emit("n", b.n);`, 0},
		{"values passed on", `let mut q = [Bag { xs: [0], n: 0 }]; for i in 0..1000 { let mut b = q.remove(0); b.xs[0] = i; q.push(changed(b, i)); } emit("n", q.len());`, 0},
		{"an Option taken apart", `let mut q = [Bag { xs: [0], n: 0 }]; let mut n = 0; while let Some(b) = q.pop() { n += 1; if n < 1000 { q.push(changed(b, n)); } } emit("n", n);`, 0},
		{"a state changed and stored again", `let mut m = Machine { s: State::Idle, n: 0 }; for i in 0..1000 { m.step(); } emit("n", m.n);`, 0},
		{"a state changed by a method that another one calls", `let mut w = World { all: [Machine { s: State::Full([0], 1), n: 0 }], n: 0 }; for i in 0..1000 { w.step(0); } emit("n", w.all[0].n);`, 0},
		{"a state changed beside a reader", `let mut m = Machine { s: State::Full([0], 1), n: 0 }; for i in 0..10 { let old = m; m.step(); if old.n == m.n { break; } } emit("n", m.n);`, 39},
		{"an error on the way", `let mut xs = [0]; for i in 0..100 { try { xs = grown(xs, i); if i % 2 == 0 { throw "x"; } } catch {} } emit("n", xs.len());`, 100},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := compiletest.Compile(t, `struct Bag { xs: Array<Int>, n: Int }
impl Bag {
    fn size(self) -> Int { self.xs.len() }
    fn add(mut self, x: Int) { self.xs.push(x); self.n += 1; }
    fn with(mut self, x: Int) -> Bag { let mut b = Bag { xs: self.xs, n: self.n }; b.n += 1; b }
}
enum State { Idle, Busy(Array<Int>), Full(Array<Int>, Int) }
struct Machine { s: State, n: Int }
struct World { all: Array<Machine>, n: Int }
impl Machine {
    fn step(mut self) {
        self.n += 1;
        match self.s {
            State::Idle => { self.s = State::Busy([]); }
            State::Busy(xs) => { let mut ys = xs; ys.push(self.n); self.s = if ys.len() > 5 { State::Full(ys, 0) } else { State::Busy(ys) }; }
            State::Full(xs, n) => { let mut ys = xs; ys[0] = n; self.s = State::Full(ys, n + 1); }
        }
    }
}
impl World {
    fn step(mut self, i: Int) {
        match self.all[i].s {
            State::Full(xs, n) => self.full(i, xs, n),
            _ => {}
        }
    }
    fn full(mut self, i: Int, xs: Array<Int>, n: Int) {
        let mut ys = xs;
        ys[0] = n;
        self.all[i].n += 1;
        self.all[i].s = State::Full(ys, n + 1);
    }
}
fn changed(b: Bag, i: Int) -> Bag { let mut c = b; c.xs.push(i); if i > 5 { return same(c); } c }
fn same(b: Bag) -> Bag { let mut c = b; c.n += 1; c }
fn total(xs: Array<Int>) -> Int { let mut s = 1000; for x in xs { s += x; } s + last(xs) }
fn last(xs: Array<Int>) -> Int { xs[xs.len() - 1] }
fn grown(mut xs: Array<Int>, i: Int) -> Array<Int> { xs.push(i); xs }
fn main() { `+c.code+" }\n")
			out, failed, err := compiletest.Run(context.Background(), compiletest.Config(p, &world{}, false))
			if err != nil || failed != nil {
				t.Fatal(err, failed)
			}
			if out.Stats.Copied > c.most {
				t.Errorf("the program copies %d containers, want at most %d", out.Stats.Copied, c.most)
			}
		})
	}
}

package codegen_test

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto/internal/compile/optimize"
	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/internal/testkit/compiletest"
	"github.com/concerto-lang/concerto/internal/testkit/golden"
	"github.com/concerto-lang/concerto/ir"
	"github.com/concerto-lang/concerto/vm"
)

// onlooker records the state of a run at each effect.
type onlooker struct {
	vm.NotDurable
	vm.NoJournal
	seen map[int64][]scene // effects of each task; the order of effects in different tasks is not deterministic
}

// scene is the state of the frames at an effect. Frames and values are texts.
type scene struct {
	kind   string
	frames []string
	locals []map[string]string
}

func (o *onlooker) Journal() vm.Journal { return o }

func (o *onlooker) EffectBegan(_ int64, at vm.Scene, r effect.Request) {
	if r.Kind() == effect.KindExchangeNext {
		return // requested when the previous message has arrived; the position of the task at that time is not deterministic
	}
	s := scene{kind: string(r.Kind())}
	for _, f := range at.Frames(false) {
		locals := map[string]string{}
		for _, v := range f.Locals {
			locals[v.Name] = string(value.AppendJSON(nil, v.Value))
		}
		s.frames = append(s.frames, fmt.Sprintf("%s %s:%d:%d", f.Function, f.File, f.Line, f.Column))
		s.locals = append(s.locals, locals)
	}
	o.seen[at.Task()] = append(o.seen[at.Task()], s)
}

// recordScenes runs a program that is optimised with the given passes, and returns its scenes by
// task.
func recordScenes(t *testing.T, text, script string, on optimize.Set) map[int64][]scene {
	t.Helper()
	p := compiletest.Compile(t, text)
	if p.Entry < 0 {
		return nil
	}
	optimize.Program(p, on)
	if err := ir.Verify(p); err != nil {
		t.Fatal(err)
	}
	w := &world{}
	for _, part := range strings.Split(script, "---\n") {
		w.script = append(w.script, strings.Split(strings.TrimSuffix(part, "\n"), "\n"))
	}
	c := compiletest.Config(p, w, false)
	o := &onlooker{seen: map[int64][]scene{}}
	c.Durable = o
	if _, _, err := compiletest.Run(context.Background(), c); err != nil {
		t.Fatal(err)
	}
	return o.seen
}

// TestLocalsSurvivePasses checks that a debugger reads the same values of variables with and
// without the optimisation passes, and that it can read most variables.
func TestLocalsSurvivePasses(t *testing.T) {
	readable, all := 0, 0
	golden.Run(t, filepath.Join("testdata", "*.txtar"), func(t *testing.T, a *golden.Archive) {
		text, script := a.Input("main.conc"), ""
		if a.Has("host") {
			script = a.Input("host")
		}
		plain := recordScenes(t, text, script, optimize.None)
		for name, on := range map[string]optimize.Set{"all": optimize.All, "everywhere": optimize.All &^ mustParse(t, "hot")} {
			seen := recordScenes(t, text, script, on)
			if got, want := tasks(seen), tasks(plain); !slices.Equal(got, want) {
				t.Fatalf("with the passes %s, the tasks with effects are %v, want %v", name, got, want)
			}
			for _, task := range tasks(plain) {
				in := fmt.Sprintf("%s: task %d", name, task)
				if len(seen[task]) != len(plain[task]) {
					t.Fatalf("%s: %d effects, want %d", in, len(seen[task]), len(plain[task]))
				}
				for i := range seen[task] {
					got, want := seen[task][i].compare(t, fmt.Sprintf("%s: effect %d", in, i+1), plain[task][i])
					readable, all = readable+got, all+want
				}
			}
		}
	})
	if all == 0 || readable*20 < all*19 {
		t.Errorf("the debugger can read %d of %d variables, want at least 95%%", readable, all)
	}
	t.Logf("the debugger can read %d of %d variables", readable, all)
}

func tasks(of map[int64][]scene) []int64 { return slices.Sorted(maps.Keys(of)) }

// compare compares a scene with the same scene without passes. compared is the number of variables
// that the debugger can read, and all is the number of variables without passes.
func (s scene) compare(t *testing.T, where string, plain scene) (compared, all int) {
	t.Helper()
	if d := cmp.Diff(plain.frames, s.frames); d != "" {
		t.Errorf("%s, %s: frames differ (-want +got):\n%s", where, s.kind, d)
		return 0, 0
	}
	for k, locals := range s.locals {
		was := plain.locals[k]
		compared, all = compared+len(locals), all+len(was)
		for _, v := range slices.Sorted(maps.Keys(locals)) {
			if locals[v] != was[v] {
				t.Errorf("%s, %s, at %s: variable %s = %s, want %s", where, s.kind, s.frames[k], v, locals[v], was[v])
			}
		}
		for v := range was {
			if _, ok := locals[v]; !ok {
				t.Logf("%s, %s, at %s: variable %s is not readable", where, s.kind, s.frames[k], v)
			}
		}
	}
	return compared, all
}

func mustParse(t *testing.T, name string) optimize.Set {
	t.Helper()
	s, err := optimize.Parse(name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestLocals checks the names and values that a debugger reads at an effect. It covers all kinds of
// variables: parameters, bindings of patterns and loops, captures of closures, messages in
// handlers, and variables of inlined calls.
func TestLocals(t *testing.T) {
	const text = `host Worker { connector: "worker", output_format: "json" }
struct Point { x: Int, y: Int }
fn small(n: Int) -> Int { emit("small", n); n + 1 }
fn main() {
  let limit = 2;
  let mut total = 0;
  let p = Point { x: 1, y: 2 };
  let unset: Int;
  for i in 0..limit { let d = small(i * 10); total = total + d; }
  if let Some(first) = ["a", "b"].first() { emit("first", first); }
  match p { Point { x, y: height } => { emit("point", x + height); } }
  let add = |k: Int| { total = total + k; emit("add", total); };
  add(5);
  for (n, name) in ["u"].enumerate() { emit("pair", name + to_string(n)); }
  let limit = "shadow";
  let r = listen Worker.execute("go") { "question" => |q: HostQuestion| { let reply = q.question + "!"; emit("asked", reply); reply } };
  unset = 1;
  emit("end", limit);
}
`
	script := `{"type":"question","id":"1","question":"why"}` + "\n" + `{"type":"result","text":"done"}` + "\n"
	want := `0 small main.conc:3:27: n=0
1 main main.conc:9:31: i=0 limit=2 p={"x":1,"y":2} total=0
2 small main.conc:3:27: n=10
3 main main.conc:9:31: i=1 limit=2 p={"x":1,"y":2} total=1
4 main main.conc:10:45: first="a" limit=2 p={"x":1,"y":2} total=12
5 main main.conc:11:41: height=2 limit=2 p={"x":1,"y":2} total=12 x=1
6 main closure 1 main.conc:12:43: k=5 total=17
7 main main.conc:13:3: add="<fn main closure 1>" limit=2 p={"x":1,"y":2} total=17
8 main main.conc:14:40: limit=2 n=0 name="u" p={"x":1,"y":2} total=17
9 main main.conc:16:11: limit="shadow" p={"x":1,"y":2} total=17
10 listen Worker "question" main.conc:16:105: q={"id":"1","question":"why"} reply="why!"
11 main main.conc:16:11: limit="shadow" p={"x":1,"y":2} total=17
12 main main.conc:16:11: limit="shadow" p={"x":1,"y":2} total=17
13 main main.conc:18:3: limit="shadow" p={"x":1,"y":2} r={"ok":{"text":"done"}} total=17 unset=1`
	for name, on := range map[string]optimize.Set{"none": optimize.None, "all": optimize.All} {
		var got []string
		for _, s := range recordScenes(t, text, script, on)[1] {
			if s.kind != "emit" {
				continue
			}
			for k, f := range s.frames {
				var vars []string
				for _, v := range slices.Sorted(maps.Keys(s.locals[k])) {
					if len(got) > 7 && v == "add" {
						continue // the optimisation may have removed a closure after its last call
					}
					vars = append(vars, v+"="+s.locals[k][v])
				}
				got = append(got, fmt.Sprintf("%d %s: %s", len(got), f, strings.Join(vars, " ")))
			}
		}
		if d := cmp.Diff(strings.Split(want, "\n"), got); d != "" {
			t.Errorf("variables with the passes %s differ (-want +got):\n%s", name, d)
		}
	}
}

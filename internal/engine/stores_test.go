package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/runtime/world/sqlitestore"
	"github.com/concerto-lang/concerto/stdlib"
	"github.com/concerto-lang/concerto/vm"
)

// emits is a performer that adds each emit to a log and passes other requests to rest.
type emits struct {
	log  []string
	rest func(ctx context.Context, r effect.Request) (effect.Result, error)
}

func (e *emits) Perform(ctx context.Context, r effect.Request) (effect.Result, error) {
	if x, ok := r.(*effect.Emit); ok {
		e.log = append(e.log, x.Channel+" "+string(x.Payload))
		return nil, nil
	}
	return e.rest(ctx, r)
}

func runWith(t *testing.T, p *Program, world effect.Performer) {
	t.Helper()
	machine, err := vm.New(vm.Config{Program: p.ir, Natives: stdlib.Native, Performer: world})
	if err == nil {
		_, err = machine.Run(context.Background())
	}
	if err != nil {
		t.Fatal(err)
	}
}

const keeping = `
struct P { x: Float, note: Option<String> }
hashmap counts: HashMap<String, Int> = HashMap::new().with_persistence("s.db");
hashmap points: HashMap<Int, P> = HashMap::new().with_persistence("s.db");
ledger notes: Ledger = Ledger::new().with_persistence("s.db");
memory talk: Memory = Memory::new(2).with_persistence("s.db");
fn main() {
    counts.on_any_change(|k, before, after| emit("changed", "${k} ${to_string(before)} ${to_string(after)}"));
    emit("n", [counts.increment("n"), counts.increment("n", by: 4)]);
    counts.set_many({"a": 1, "b": 2});
    emit("many", counts.get_many(["b", "z"]));
    emit("deleted", [counts.delete("a"), counts.delete("a"), counts.has("b")]);
    points.set(1, P { x: 0.5, note: nil });
    points.scope("in").set(1, P { x: 1.0, note: "n" });
    for (k, p) in points { emit("point", "${k} ${p.x}"); }
    emit("scope", points.scope("in").to_map());
    emit("lists", [counts.keys().len(), counts.values().len(), counts.entries().len(), counts.len()]);
    notes.insert("A note", ["K"], "v");
    emit("updated", [notes.update("A note", "w"), notes.update_keys("A note", ["L"]), notes.update("none", "w"), notes.delete("none")]);
    emit("found", notes.query().from_identifier("NOTE"));
    emit("by key", [notes.query().from_key("l").len(), notes.query().from_any_keys(["k"]).len(), notes.query().from_exact_keys(["L"]).len(), notes.len()]);
    for n in 0..3 { talk.append("user", "m${n}"); }
    emit("talk", [talk.messages().map(|m| m.content), talk.last().map(|m| m.content)]);
    emit("talk", talk.len());
    let any: Any = points;
    for p in any { emit("any", p); }
    counts.clear(); notes.clear(); talk.clear();
    emit("empty", [counts.is_empty(), notes.is_empty(), talk.is_empty()]);
    try { counts.set("n", 9223372036854775807); counts.increment("n"); } catch RuntimeError(e) { emit("fault", e.message); }
}
`

// TestStoresAreTheSame runs a program with stores in a file and in memory. Both runs must have the
// same output.
func TestStoresAreTheSame(t *testing.T) {
	var logs []string
	for _, text := range []string{keeping, strings.ReplaceAll(keeping, `.with_persistence("s.db")`, "")} {
		s := sqlitestore.New(sqlitestore.Options{InMemory: true})
		world := &emits{rest: s.Perform}
		runWith(t, compileText(t, text), world)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		logs = append(logs, strings.Join(world.log, "\n"))
	}
	if logs[0] != logs[1] || strings.Count(logs[0], "\n") < 20 {
		t.Errorf("output with a store in a file:\n%s\noutput with a store in memory:\n%s", logs[0], logs[1])
	}
}

// TestStoresReplay records the requests of a program to its stores with their results as JSON.
// Replaying the results without a store must produce the same output.
func TestStoresReplay(t *testing.T) {
	p := compileText(t, keeping)
	s := sqlitestore.New(sqlitestore.Options{InMemory: true})
	type step struct{ request, result, kind, problem string }
	var journal []step
	types := map[string]reflect.Type{}
	first := &emits{rest: func(ctx context.Context, r effect.Request) (effect.Result, error) {
		result, err := s.Perform(ctx, r)
		request, _ := json.Marshal(r)
		text, _ := json.Marshal(result)
		x := step{request: string(request), result: string(text), kind: fmt.Sprintf("%T", result)}
		if result != nil {
			types[x.kind] = reflect.TypeOf(result).Elem()
		}
		var e *effect.Error
		if errors.As(err, &e) {
			x.problem = e.Kind + ":" + e.Message
		}
		journal = append(journal, x)
		return result, err
	}}
	runWith(t, p, first)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	at := 0
	recorder := &emits{rest: func(_ context.Context, r effect.Request) (effect.Result, error) {
		x := journal[at]
		at++
		if request, _ := json.Marshal(r); string(request) != x.request {
			t.Fatalf("request %d = %s, want the recorded request %s", at, request, x.request)
		}
		if kind, message, failed := strings.Cut(x.problem, ":"); failed {
			return nil, effect.Errorf(kind, "%s", message)
		}
		if types[x.kind] == nil {
			return nil, nil
		}
		result := reflect.New(types[x.kind]).Interface()
		return result, json.Unmarshal([]byte(x.result), result)
	}}
	runWith(t, p, recorder)
	if at != len(journal) || strings.Join(first.log, "\n") != strings.Join(recorder.log, "\n") {
		t.Errorf("replayed %d of %d requests; recorded output:\n%q\nreplayed output:\n%q", at, len(journal), first.log, recorder.log)
	}
}

// TestStoreYieldsToOtherTasks checks that other tasks continue while a request to a store waits,
// for example because another process writes to the store's file.
func TestStoreYieldsToOtherTasks(t *testing.T) {
	p := compileText(t, `
hashmap counts: HashMap<String, Int> = HashMap::new().with_persistence("s.db");
async fn count() -> Int { emit("count", "begins"); let n = counts.increment("n"); emit("count", n); n }
async fn other() -> Int { emit("other", "runs"); 1 }
fn main() {
    let (a, b) = await (count(), other());
    emit("sum", a + b);
    for (k, v) in counts { emit(k, v); }
}
`)
	s := sqlitestore.New(sqlitestore.Options{InMemory: true})
	world := &emits{}
	waits := 0
	world.rest = func(ctx context.Context, r effect.Request) (effect.Result, error) {
		if effect.IsNoWait(ctx) {
			waits++
			return nil, effect.ErrWaits
		}
		return s.Perform(ctx, r)
	}
	runWith(t, p, world)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	want := `count "begins", other "runs", count 1, sum 2, n 1`
	if got := strings.Join(world.log, ", "); got != want || waits != 1 {
		t.Errorf("output = %s after %d waits, want %s after 1", got, waits, want)
	}
}

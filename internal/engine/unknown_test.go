package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/stdlib"
	"github.com/concerto-lang/concerto/vm"
)

// policies is a journal that notes the policy of each HTTP request.
type policies struct {
	vm.NotDurable
	vm.NoJournal
	of map[string]string // policy by the name in the request's URL
}

func (p *policies) Journal() vm.Journal { return p }
func (p *policies) EffectBegan(_ int64, at vm.Scene, r effect.Request) {
	if q, ok := r.(*effect.HTTP); ok {
		p.of[strings.TrimPrefix(q.URL, "http://x/")], _ = at.OnUnknown(r)
	}
}

const marked = `
use std::{http, time};
fn post(name: String) { let _ = http::post("http://x/${name}", "b"); }
@idempotent fn tiny() { post("tiny") }
@on_unknown("fail") fn outer(name: String) { post(name); tiny(); post("${name}_after") }
@on_unknown("ask") @timeout(5) fn bounded() { post("bounded") }
@on_unknown("ask") fn many() {
    let _ = await (post("left"), tiny());
    parallel for i in [1, 2] { post("round${i}"); };
    [1].each(|_| post("closure"));
    let _ = http::get("http://x/get");
}
@on_unknown("retry") async fn apart() { post("apart"); time::sleep(1); post("apart_later") }
tool Till {
    description: "Books.",
    @describe("Books.") @on_unknown("fail") pub fn book(self) -> Int { post("tool"); 1 }
    @describe("Books.") pub fn plain(self) -> Int { post("plain_tool"); 1 }
}
@on_unknown("ask") agent Clerk uses scripted { tools: [Till] }
trait Sends { fn send(self); }
struct Box {}
impl Sends for Box { @idempotent fn send(self) { post("method") } }
fn main() {
    post("bare");
    outer("outer");
    bounded();
    many();
    await apart();
    Box {}.send();
    for _ in 0..2 { tiny(); }
    let _ = Clerk.execute("go");
    post("last");
}`

// TestOnUnknown checks which @on_unknown policy applies to an effect. It is the policy of the
// innermost annotated function in the stack of the task and of the tasks that wait for it.
// Annotated functions must not be inlined.
func TestOnUnknown(t *testing.T) {
	p := compileText(t, marked)
	calls := 0
	world := effect.PerformerFunc(func(ctx context.Context, r effect.Request) (effect.Result, error) {
		switch r := r.(type) {
		case *effect.AgentCall:
			if calls++; calls > 1 {
				return &effect.AgentReply{Text: "done"}, nil
			}
			return &effect.AgentReply{ToolCalls: []effect.ToolCall{{ID: "1", Name: "Till_book", Args: "{}"}, {ID: "2", Name: "Till_plain", Args: "{}"}}}, nil
		case *effect.HTTP:
			return &effect.HTTPResponse{Status: 200}, nil
		case *effect.Sleep:
			if r.Milliseconds > 100 { // the timer of @timeout
				<-ctx.Done()
				return nil, context.Cause(ctx)
			}
			return nil, nil
		case *effect.Emit, *effect.Step:
			return nil, nil
		case *effect.Clock:
			return &effect.Time{}, nil
		}
		return nil, fmt.Errorf("no %s here", r.Kind())
	})
	j := &policies{of: map[string]string{}}
	machine, err := vm.New(vm.Config{Program: p.ir, Natives: stdlib.Native, Performer: world, Durable: j})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := machine.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"bare": "", "outer": "fail", "tiny": "retry", "outer_after": "fail", "bounded": "ask", "left": "ask", "round1": "ask", "round2": "ask", "closure": "ask",
		"get": "", "apart": "retry", "apart_later": "retry", "method": "retry", "tool": "fail", "plain_tool": "ask", "last": ""}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		got, made := j.of[name]
		if got != want[name] || !made {
			t.Errorf("policy of request %s = %q (performed: %t), want %q", name, got, made, want[name])
		}
	}
}

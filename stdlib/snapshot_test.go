package stdlib_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/testkit/compiletest"
)

// heldProgram is a program that refers to a value of every kind while it waits.
const heldProgram = `
struct City { name: String, sights: Array<String> }
enum Mood { Calm, Loud(Int), Odd { why: String } }
agent Poet uses scripted { memory: talk }
host Worker { connector: worker, output_format: "json", question_default: "skip" }
memory talk: Memory = Memory::new(5);
hashmap seen: HashMap<String, Any> = HashMap::new();
ledger facts: Ledger = Ledger::new();

@cache(60)
fn slow(n: Int) -> Int { wait(); println("computed", n); n * 2 }

fn wait() { std::time::sleep(1); }

async fn later(n: Int) -> Int { wait(); if n == 3 { throw ToolError::new("three"); } n }

async fn pieces(all: Array<Any>) -> Int {
    for p in Poet.stream_with_schema<City>("a city") { wait(); println("so far", p); }
    all.len()
}

fn talks() {
    let s = Worker.stream("asks");
    let early = s.next();
    println("early", early?.type);
    let other = later(1);
    for m in s {
        wait();
        println(m.type, m.id, s.respond(m, "yes").is_ok());
    }
    println(other.await);
    let left = Worker.stream("asks");
    println(left.next()?.type);
    wait();
}

fn stores() {
    let mine = seen.scope("mine").scope("deep");
    let mut told: Array<String> = [];
    seen.on_change("k", |old, new| { told.push("${old} ${new}"); });
    seen.set("k", [1, 2]);
    wait();
    seen.set("k", Mood::Loud(3));
    mine.set("k", 1.5);
    facts.insert("the first fact", ["a", "b"], "it is so");
    facts.scope("x").insert("other", [], "y");
    talk.append("user", "hello");
    wait();
    seen.set("k", nil);
    mine.set("l", mine.get("k"));
    println(told, seen.get("k"), mine.get("l"), facts.entries(), facts.scope("x").identifiers(), talk.messages());
}

fn values() -> Result<Int, Error> {
    let mut total = 0;
    let mut add = |n: Int| { total += n; wait(); total };
    let mood: Any = (Mood::Odd { why: "x" }, Mood::Calm, Some(Some(1)), 0..5, City { name: "Rome", sights: ["a"] }, add);
    let grid = [[1, 2], [3]];
    let same = [grid, grid];
    let floats = [1.5, 2.0];
    let bools = [true, false];
    let text = "long enough to be an object of its own ${total}";
    println(add(1), add(2), mood, same, floats, bools, text);
    let p = Poet.with_context({ "k": [1] });
    wait();
    println(p.execute("again")?.text);
    let r = try { later(3).await };
    wait();
    println(r);
    let n = await (later(4), { wait(); 5 });
    println(n);
    later(3).await;
    Ok(total)
}

fn main() {
    println(slow(1), slow(1));
    stores();
    talks();
    println(pieces([1, "a", nil]).await);
    println(slow(1));
    println(values());
}
`

// holder performs the requests of heldProgram. The stream of a model has three parts.
type holder struct {
	*world
	pieces map[int64][]string
}

func (h *holder) Perform(ctx context.Context, r effect.Request) (effect.Result, error) {
	switch r := r.(type) {
	case *effect.StreamOpen:
		id := int64(len(h.pieces) + 1)
		h.pieces[id] = []string{`{"name": "Par`, `is", "sights": ["to`, `wer", "river"]}`}
		return &effect.StreamOpened{ID: id}, nil
	case *effect.StreamNext:
		if left := h.pieces[r.ID]; len(left) > 0 {
			h.pieces[r.ID] = left[1:]
			return &effect.StreamPiece{Text: left[0]}, nil
		}
		return &effect.StreamPiece{Reply: &effect.AgentReply{Text: `{"name": "Paris", "sights": ["tower", "river"]}`, Model: "m", StopReason: "end"}}, nil
	case *effect.StreamClose:
		return nil, nil
	}
	return h.world.Perform(ctx, r)
}

// TestSnapshotsOfAllValues compares two runs of heldProgram: one without snapshots, and one that
// continues from its snapshots. Both must print the same.
func TestSnapshotsOfAllValues(t *testing.T) {
	play := func(renew bool) ([]string, string) {
		h := &holder{newWorld(t), map[int64][]string{}}
		c := compiletest.Config(compiletest.Compile(t, heldProgram), h, false)
		all := compiletest.Renew(t, &c)
		if !renew {
			c.Boundary = nil
		}
		_, failed, err := compiletest.Run(context.Background(), c)
		if err != nil {
			t.Fatal(err)
		}
		if renew && (all.Renewed < 30 || len(all.Refused) > 0) {
			t.Errorf("restored %d snapshots, failed snapshots: %v", all.Renewed, all.Refused)
		}
		return append(h.lines, h.replies...), compiletest.Failure(failed) + compiletest.Trace(failed)
	}
	want, failure := play(false)
	got, resumed := play(true)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("output of the run (-without snapshots +from snapshots):\n%s", diff)
	}
	if failure != resumed {
		t.Errorf("failure without snapshots:\n%s\nfailure from snapshots:\n%s", failure, resumed)
	}
	if len(want) < 20 || !strings.Contains(failure, "three") {
		t.Errorf("the program printed %q and failed with\n%s", want, failure)
	}
}

package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/internal/testkit/memory"
	"github.com/concerto-lang/concerto/internal/testkit/randtest"
)

// randomAnswer returns a text that is JSON, or almost.
func randomAnswer(r *rand.Rand, depth int) string {
	if depth > 3 {
		return "null"
	}
	switch r.IntN(10) {
	case 0:
		return []string{"1e400", "-1e999", "1e-400", "9223372036854775808", "-0", "01", "NaN", "1e40"}[r.IntN(8)]
	case 1:
		return []string{`"\ud83d"`, `"\udd1e\ud834"`, "\"\xff\"", `"\u0000"`, `"x`, `"\u{1f600}"`, "\"\u202e\""}[r.IntN(7)]
	case 2:
		n := []int{3, 9_930, 9_999, 10_001}[r.IntN(4)]
		return strings.Repeat("[", n) + strings.Repeat("]", n)
	case 3:
		name := []string{"a", "b", "decision", ""}[r.IntN(4)]
		return fmt.Sprintf("{%q:%s,%q:%s}", name, randomAnswer(r, depth+1), []string{name, "c"}[r.IntN(2)], randomAnswer(r, depth+1))
	case 4:
		return fmt.Sprintf("[%s,%s]", randomAnswer(r, depth+1), randomAnswer(r, depth+1))
	case 5:
		return ""
	}
	return []string{"true", "false", `"yes"`, "12", "null"}[r.IntN(5)]
}

// TestAnyAnswerCanBeRecorded passes random answers to a durable run. Most of them are not values of
// the question's type, or not JSON. The run must end in any case, and the program receives a value
// or an EmitError.
func TestAnyAnswerCanBeRecorded(t *testing.T) {
	p := compile(t, map[string]string{"main.conc": `fn main() {
    match await emit<Any>("any") { Ok(v) => emit("got", v), Err(e) => emit("refused", e.message) }
    match await emit<Bool>("bool") { Ok(v) => emit("got", v), Err(e) => emit("refused", e.message) }
}`})
	text := func(seed uint64) string { return randomAnswer(rand.New(rand.NewPCG(seed, 54)), 0) }
	randtest.Run(t, "internal/engine", 150, text, func(t *testing.T, seed uint64) {
		dir, run := t.TempDir(), new(memory.Store).Run("answers")
		sharedRuns.Store(dir, run)
		o := Options{Dir: dir, Records: Records{Durable: &Durable{Dir: dir}},
			OnAwait: func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
				return json.RawMessage(text(seed)), nil
			}}
		o.Session.SessionID = "answers"
		if err := p.Run(t.Context(), o); err != nil {
			t.Fatalf("the answer %.80q: %v", text(seed), err)
		}
		h, err := run.Read()
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range h.Records {
			if r.Result != nil {
				if _, err := value.Parse(r.Result); err != nil {
					t.Errorf("record of the answer %.80q: %v", text(seed), err)
				}
			}
		}
	})
}

package policy

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto/internal/engine"
	"github.com/concerto-lang/concerto/internal/testkit/randtest"
)

// rules are the rules of a generated handler. They are tried in order.
type rules struct {
	limit     int    // longer requests are denied
	allowed   string // requests with this word are allowed
	denied    string // requests with this word are denied
	denyFirst bool   // denied is tried before allowed
	otherwise bool
	style     string // answer to questions
	prompt    string
}

var words = []string{"read", "write", "remove", "push", "build"}

func newRules(r *rand.Rand) rules {
	return rules{limit: 12 + r.IntN(12), allowed: words[r.IntN(len(words))], denied: words[r.IntN(len(words))], denyFirst: r.IntN(2) == 0,
		otherwise: r.IntN(2) == 0, style: []string{"tabs", "spaces"}[r.IntN(2)], prompt: "work"}
}

// approve is a second implementation of the generated handler.
func (u rules) approve(text string) bool {
	if len(text) > u.limit {
		return false
	}
	first, second, result := u.allowed, u.denied, true
	if u.denyFirst {
		first, second, result = u.denied, u.allowed, false
	}
	switch {
	case strings.Contains(text, first):
		return result
	case strings.Contains(text, second):
		return !result
	}
	return u.otherwise
}

// layout is what a program may have in another form without another effect.
type layout struct {
	name           string // of the handlers' parameters
	comment        string
	questionsFirst bool
}

// source returns the program, and the lines of its prompt and its handlers.
func (u rules) source(l layout) (text string, lines map[string]int) {
	first, second, result := u.allowed, u.denied, true
	if u.denyFirst {
		first, second, result = u.denied, u.allowed, false
	}
	approval := strings.NewReplacer("NAME", l.name, "LIMIT", fmt.Sprint(u.limit), "FIRST", first, "SECOND", second, "YES", fmt.Sprint(result), "NO", fmt.Sprint(!result), "ELSE", fmt.Sprint(u.otherwise)).Replace(
		`        "approval" => |NAME: HostApproval| {
            if NAME.description.len() > LIMIT { false }
            else if NAME.description.contains("FIRST") { YES }
            else if NAME.description.contains("SECOND") { NO }
            else { ELSE }
        },
`)
	question := fmt.Sprintf("        \"question\" => |%s: HostQuestion| %q,\n", l.name, u.style)
	handlers := approval + question
	if l.questionsFirst {
		handlers = question + approval
	}
	text = "host Coder { connector: coder, output_format: \"json\" }\n" + l.comment + fmt.Sprintf("fn main() {\n    for _ in 0..2 {\n    let _ = listen Coder.execute(%q) {\n%s    };\n    }\n}\n", u.prompt, handlers)
	lines = map[string]int{}
	for i, line := range strings.Split(text, "\n") {
		for mark, kind := range map[string]string{"Coder.execute": "prompt", `"approval" =>`: "approval", `"question" =>`: "question"} {
			if strings.Contains(line, mark) {
				lines[kind] = i + 1
			}
		}
	}
	return text, lines
}

// request is a message of the host.
type request struct{ kind, id, text string }

// conversation generates the messages of the host in two exchanges.
func conversation(r *rand.Rand) (all [2][]request) {
	for x := range all {
		for i := range 4 + r.IntN(8) {
			q := request{"approval", fmt.Sprintf("%d-%d", x, i), words[r.IntN(len(words))] + " " + words[r.IntN(len(words))] + strings.Repeat("x", r.IntN(12))}
			if r.IntN(4) == 0 {
				q.kind, q.text = "question", "tabs or spaces?"
			}
			all[x] = append(all[x], q)
		}
	}
	return all
}

func (u rules) answer(q request) string {
	if q.kind == "question" {
		return fmt.Sprintf("%q", u.style)
	}
	return fmt.Sprint(u.approve(q.text))
}

// record returns the tape of a conversation with a program, as if it had been recorded. Half of the
// tapes are written by hand: without numbers.
func (u rules) record(r *rand.Rand, all [2][]request) string {
	var b strings.Builder
	b.WriteString(`{"tape":1,"program":"main.conc","seed":"1"}` + "\n" + `{"q":"clock","v":{"unix_ms":1,"monotonic_ms":0}}` + "\n")
	numbered, e, of := r.IntN(2) == 0, 1, 0
	add := func(kind, rest string) {
		numbers := ""
		if e++; numbered {
			numbers = fmt.Sprintf(`"e":%d,"of":%d,`, e, of)
		}
		fmt.Fprintf(&b, "{%s\"q\":%q%s}\n", numbers, kind, rest)
	}
	for _, messages := range all {
		of = 0
		add("exchange.open", fmt.Sprintf(`,"r":{"host":"Coder","prompt":%q},"v":{}`, u.prompt))
		of = e
		for _, q := range messages {
			member := map[string]string{"approval": "description", "question": "question"}[q.kind]
			line := fmt.Sprintf(`{"type":%q,"id":%q,%q:%q}`, q.kind, q.id, member, q.text)
			add("exchange.next", fmt.Sprintf(`,"lines":[%q]`, line))
			add("exchange.reply", fmt.Sprintf(`,"r":{"answer_to":%q,"by":"handler","in_reply_to":%q,"value":%s}`, `"`+q.id+`"`, q.kind, u.answer(q)))
		}
		add("exchange.next", `,"lines":["{\"type\":\"result\",\"text\":\"done\"}"]`)
		add("exchange.close", "")
	}
	b.WriteString(`{"end":{"code":0}}` + "\n")
	return b.String()
}

// change changes one rule.
func (u rules) change(r *rand.Rand) rules {
	switch r.IntN(5) {
	case 0:
		u.limit += r.IntN(9) - 4
	case 1:
		u.allowed, u.denied = u.denied, words[r.IntN(len(words))]
	case 2:
		u.denyFirst = !u.denyFirst
	case 3:
		u.style = map[string]string{"tabs": "spaces", "spaces": "tabs"}[u.style]
	default:
		u.prompt = "work hard"
	}
	return u
}

// expected returns the differences between two programs in a conversation.
func expected(was, is rules, all [2][]request, lines map[string]int) (out []string) {
	for _, messages := range all {
		state := Differs
		note := func(kind, id, recorded, current string) {
			if recorded != current {
				out = append(out, fmt.Sprintf("%s %s %s line %d %s %s", kind, id, state, lines[kind], recorded, current))
				state = Downstream
			}
		}
		note("prompt", "", fmt.Sprintf("%q", was.prompt), fmt.Sprintf("%q", is.prompt))
		for _, q := range messages {
			note(q.kind, fmt.Sprintf("%q", q.id), was.answer(q), is.answer(q))
		}
	}
	return out
}

const manifest = "[project]\nname = \"p\"\nentry = \"main.conc\"\n[hosts.coder]\ncommand = \"nowhere\"\nmessage_types = [\"question\", \"approval\"]\n"

func load(t testing.TB, text string) *engine.Program {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"main.conc": text, "Concerto.toml": manifest} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p, found, err := engine.Compile("", dir)
	if err != nil || p == nil {
		for _, d := range found.Sorted() {
			t.Log(d.Message)
		}
		t.Fatalf("compile: %v\n%s", err, text)
	}
	return p
}

func replay(t *testing.T, p *engine.Program, text string) *Session {
	t.Helper()
	recorded, err := engine.ReadTape(strings.NewReader(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	r, err := p.ReplayPolicy(t.Context(), recorded, true, engine.Options{WorkDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	return Compare("s", r)
}

// changes is the number of changes that TestPlantedChanges makes.
const changes = 300

// TestPlantedChanges changes a rule of a random handler, or its prompt, and compares the decisions
// over recorded sessions: exactly those that a second implementation of the rules expects differ,
// at their line. Changes without an effect make no difference.
func TestPlantedChanges(t *testing.T) {
	var ran, effective atomic.Int64
	show := func(seed uint64) string { return fmt.Sprint(seed) }
	randtest.Run(t, "internal/eval/policy", changes, show, func(t *testing.T, seed uint64) {
		ran.Add(1)
		r := rand.New(rand.NewPCG(seed, 1))
		was := newRules(r)
		all := conversation(r)
		text := was.record(r, all)
		is := was.change(r)
		plain := layout{name: "q"}
		other := layout{name: "asked", comment: "// Who decides?\n\n", questionsFirst: true}
		same, _ := was.source(other)
		if s := replay(t, load(t, same), text); s.State != Same || len(s.Differences) > 0 {
			t.Errorf("a change without an effect has %d differences\n%s\n%s", len(s.Differences), same, text)
		}
		source, lines := is.source(plain)
		s := replay(t, load(t, source), text)
		var got []string
		for _, d := range s.Differences {
			got = append(got, fmt.Sprintf("%s %s %s line %s %s %s", d.Kind, d.ID, d.State, strings.Split(*d.At, ":")[1], d.Recorded, d.Current))
		}
		if d := cmp.Diff(expected(was, is, all, lines), got); d != "" {
			t.Errorf("differences (-want +got):\n%s\n%s\n%s", d, source, text)
		}
		total := 0
		for _, n := range s.Decisions {
			total += n
		}
		if want := 2 + len(all[0]) + len(all[1]); total != want || s.Unused != 0 {
			t.Errorf("%d decisions and %d unused entries, want %d and 0", total, s.Unused, want)
		}
		if len(got) > 0 {
			effective.Add(1)
		}
	})
	if n := effective.Load(); n < 200 && ran.Load() >= changes { // not with -short, -seed or the race detector
		t.Errorf("%d of %d changes had an effect, want 200", n, ran.Load())
	}
}

// TestNewAndRemoved compares a program with a tape that lacks an answer, and a program that opens
// one of two exchanges.
func TestNewAndRemoved(t *testing.T) {
	u := rules{limit: 100, allowed: "read", denied: "write", style: "tabs", prompt: "work"}
	all := [2][]request{{{"question", "0-0", "tabs or spaces?"}, {"approval", "0-1", "read a"}}, {{"approval", "1-0", "write a"}}}
	text := u.record(rand.New(rand.NewPCG(1, 1)), all)
	source, _ := u.source(layout{name: "q"})
	lines := strings.SplitAfter(text, "\n")
	first := slices.IndexFunc(lines, func(line string) bool { return strings.Contains(line, "exchange.reply") })
	u.limit = 0 // denies everything, after the first difference
	strict, _ := u.source(layout{name: "q"})
	for _, c := range []struct {
		name, tape, source string
		want               []string
	}{
		{"new", strings.Join(slices.Delete(slices.Clone(lines), first, first+1), ""), strict, []string{
			`question "tabs or spaces?" from Coder: "tabs" (recorded: no answer)`,
			`approval "read a" from Coder: no (recorded: yes), downstream`,
		}},
		{"removed", text, strings.Replace(source, "0..2", "0..1", 1), []string{
			`prompt of Coder: no answer (recorded: "work")`,
			`approval "write a" from Coder: no answer (recorded: no)`,
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := replay(t, load(t, c.source), c.tape)
			var got []string
			for _, d := range s.Differences {
				d.At = nil
				got = append(got, d.Text())
			}
			if d := cmp.Diff(c.want, got); d != "" || s.State != Differs {
				t.Errorf("the state is %s, the differences (-want +got):\n%s", s.State, d)
			}
		})
	}
}

// TestUnrecordedSteer replays a program that sends a message to its host, which the recorded one
// did not: all decisions are compared.
func TestUnrecordedSteer(t *testing.T) {
	u := rules{limit: 100, allowed: "read", denied: "write", style: "tabs", prompt: "work"}
	all := [2][]request{{{"question", "0-0", "tabs or spaces?"}}, {{"approval", "1-0", "read a"}}}
	source, _ := u.source(layout{name: "q"})
	steers := strings.Replace(source, `|q: HostQuestion| "tabs"`, `|q: HostQuestion| { Coder.steer("hurry")?; "tabs" }`, 1)
	if steers == source {
		t.Fatal("the program sends no message")
	}
	s := replay(t, load(t, steers), u.record(rand.New(rand.NewPCG(1, 1)), all))
	if s.State != Same || s.Decisions[Same] != 4 {
		t.Errorf("the state is %s, the decisions %v, the problem %+v, want 4 decisions that are the same", s.State, s.Decisions, s.Problem)
	}
}

package prompt

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto/internal/data/decision"
	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/term/screen"
)

// typist is a Terminal that types prepared answers and records the prompts.
type typist struct {
	types   []string
	asked   []screen.Prompt
	printed []string
	turns   int
	views   int
	cut     int // number of lines of each body that are not shown
	within  int // number of callers that have the turn
}

func (x *typist) Join(ctx context.Context) (context.Context, func()) { return ctx, func() {} }

func (x *typist) Turn(ctx context.Context) (func(), error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	x.turns++
	x.within++
	return func() { x.within-- }, nil
}

func (x *typist) Ask(ctx context.Context, p screen.Prompt) (string, error) {
	if x.within != 1 {
		panic("asked out of turn")
	}
	x.asked = append(x.asked, p)
	if p.Cut != nil {
		*p.Cut = x.cut
	}
	if len(x.types) == 0 {
		return "", io.EOF
	}
	text := x.types[0]
	x.types = x.types[1:]
	return text, nil
}

func (x *typist) View(context.Context, []screen.Row) error {
	x.views++
	return nil
}

// shown returns the text of a prompt.
func shown(p screen.Prompt) string {
	all := []string{p.Text}
	for _, r := range p.Body {
		all = append(all, r.Lead+r.Text)
	}
	if p.After != "" {
		all = append(all, p.After)
	}
	return strings.Join(all, "\n")
}

func (x *typist) PrintAbove(text string) { x.printed = append(x.printed, text) }

func now() time.Time { return time.Unix(100, 0) }

func TestApprovals(t *testing.T) {
	const edited = `{"decision":"allow","input":{"a":2},"scope":"once"}`
	for _, c := range []struct {
		message, typed string // typed contains the input lines, separated by |
		answer         string
		last           string // end of the last prompt
	}{
		{`{"description":"rm","agent":{"id":"a1","name":"helper"}}`, "a", `"yes"`, "H › helper requests approval: rm\n[a]llow once [s]ession a[l]ways [d]eny [v]iew"},
		{`{"description":"rm"}`, "a", `"yes"`, "H requests approval: rm\n[a]llow once [s]ession a[l]ways [d]eny [v]iew"},
		{`{"tool":"rm"}`, "Yes", `"yes"`, "H asks to call the tool rm\n[a]llow once [s]ession a[l]ways [d]eny [v]iew"},
		{`{"description":"rm","kind":"execute","risk_level":"high","args":{"a": 1},"reason":"be\u0007cause"}`, "s", `"session"`,
			"H requests approval: rm\n  a: 1\n  reason: be\\u{7}cause\n  risk: high\n[a]llow once [s]ession a[l]ways [d]eny [e]dit [v]iew"},
		{`{"description":"rm"}`, "|maybe|wat|l", `"always"`, "enter one of the letters in brackets\n[a]llow once [s]ession a[l]ways [d]eny [v]iew"},
		{`{"description":"rm","options":["once","deny"]}`, "s|l|e|y", `"yes"`, "enter one of the letters in brackets\n[a]llow once [d]eny [v]iew"},
		{`{"description":"rm","options":["a","b"]}`, "l", `"always"`, "[a]llow once [s]ession a[l]ways [d]eny [v]iew"},
		{`{"description":"rm","default":"no","args":{"a":1}}`, "a|yes|y|s|e|Allow", `"yes"`, "enter the word allow, d or v\ntype \"allow\" [d]eny [v]iew"},
		{`{"description":"rm","default":"no"}`, "n|", `"no"`, "enter a reason for the host, or nothing"},
		{`{"description":"rm","args":null}`, "e|d|", `"no"`, "enter a reason for the host, or nothing"},
		{`{"description":"rm"}`, "deny| use git clean ", `"use git clean"`, "enter a reason for the host, or nothing"},
		{`{"description":"rm"}`, "n|Okay!", `{"decision":"deny","reason":"Okay!"}`, "enter a reason for the host, or nothing"},
		{`{"description":"rm"}`, "d|always", `{"decision":"deny","reason":"always"}`, "enter a reason for the host, or nothing"},
		{`{"description":"rm"}`, "d", `"no"`, "enter a reason for the host, or nothing"}, // and nothing more can be typed
		{`{"args":{"a":1}}`, `e|{"a":2|7|{"a":2}`, edited, "or enter nothing to go back\nenter an object, like the original arguments"},
		{`{"args":{"a":1}}`, `e||e|{"a":2}`, edited, "edit the arguments, or enter nothing to go back"},
		{`{"args":[1]}`, `e|[2]`, `{"decision":"allow","input":[2],"scope":"once"}`, "edit the arguments, or enter nothing to go back"},
		{`[1]`, "a", `"yes"`, "H asks to take an action\n  [\n    1\n  ]\n[a]llow once [s]ession a[l]ways [d]eny [v]iew"},
	} {
		x := &typist{types: strings.Split(c.typed, "|")}
		p := &Person{Terminal: x, Now: now}
		answer, err := p.AskHost(t.Context(), effect.Asking{Host: "H", Type: "approval"}, json.RawMessage(c.message))
		if err != nil || string(answer) != c.answer || !strings.HasSuffix(shown(x.asked[len(x.asked)-1]), c.last) {
			t.Errorf("message %s, input %s: answer %s, error %v; last prompt %q", c.message, c.typed, answer, err, shown(x.asked[len(x.asked)-1]))
		}
		// The decision must be parsed as a denial exactly if the user was prompted for a reason.
		denied := strings.Contains(c.last, "enter a reason")
		if decision.Parse(answer).Allow == denied || x.within != 0 || x.turns != 1 || len(x.printed) != 1 {
			t.Errorf("message %s, input %s: answer %s, printed %q", c.message, c.typed, answer, x.printed)
		}
	}
}

// TestHidden checks that a request of which a part is hidden can be denied, and otherwise be
// allowed or edited only after the user has viewed the whole.
func TestHidden(t *testing.T) {
	for typed, want := range map[string]string{"a|v|a": `"yes"`, "s|e|l|view|s": `"session"`, "d|": `"no"`, "a|d|": `"no"`} {
		x := &typist{types: strings.Split(typed, "|"), cut: 93}
		p := &Person{Terminal: x, Now: now}
		answer, err := p.AskHost(t.Context(), effect.Asking{Host: "H", Type: "approval"}, json.RawMessage(`{"tool":"Bash","kind":"execute","args":{"command":"ls"}}`))
		if err != nil || string(answer) != want {
			t.Errorf("input %s: answer %s, error %v", typed, answer, err)
		}
		if views := strings.Count(typed, "v"); x.views != views {
			t.Errorf("input %s: %d views, want %d", typed, x.views, views)
		}
		if second := shown(x.asked[1]); typed[0] != 'd' && !strings.Contains(second, "press v first: 93 lines are hidden") {
			t.Errorf("input %s: %s", typed, second)
		}
	}
}

// TestNoEdits checks that editing is not offered for a host that cannot execute a modified request.
func TestNoEdits(t *testing.T) {
	x := &typist{types: []string{"e", "a"}}
	p := &Person{Terminal: x, Now: now, Edits: func(host string) bool { return host != "H" }}
	answer, err := p.AskHost(t.Context(), effect.Asking{Host: "H", Type: "approval"}, json.RawMessage(`{"args":{"a":1}}`))
	if string(answer) != `"yes"` || err != nil || strings.Contains(shown(x.asked[0]), "[e]dit") {
		t.Errorf("answer %s, error %v, prompts %+v", answer, err, x.asked)
	}
}

// TestTools checks prompts for the approval of tool calls. They have the same options as requests
// of hosts, except permanent approval. The arguments can be edited for every caller.
func TestTools(t *testing.T) {
	const message = `{"tool":"x","description":"x: Pays","args":{"a":1},"options":["once","session","deny"]}`
	for typed, want := range map[string]string{"y": `"yes"`, "a": `"yes"`, "s": `"session"`, "l|n|": `"no"`, "d|not today": `"not today"`, `e|{"a":2}`: `{"decision":"allow","input":{"a":2},"scope":"once"}`} {
		x := &typist{types: strings.Split(typed, "|")}
		p := &Person{Terminal: x, Now: now, Edits: func(string) bool { return false }}
		answer, err := p.AskHost(t.Context(), effect.Asking{Host: "Clerk", Type: effect.ToolApproval, Within: 1000}, json.RawMessage(message))
		if err != nil || string(answer) != want {
			t.Errorf("input %s: answer %s, error %v", typed, answer, err)
		}
		if got := x.asked[0]; shown(got) != "Clerk asks to call the tool x\n  Pays\n  a: 1\n[a]llow once [s]ession [d]eny [e]dit [v]iew" || !got.Until.Equal(now().Add(time.Second)) {
			t.Errorf("input %s: prompt %+v", typed, got)
		}
	}
}

func TestQuestions(t *testing.T) {
	for _, c := range []struct {
		message, typed, answer, first string
	}{
		{`{"question":"Name?"}`, " Zoë <z> ", `"Zoë <z>"`, "H asks: Name?"},
		{`{"question":"Name?"}`, "", `""`, "H asks: Name?"},
		{`{"question":"Keep it?","context":"It is used\nby a.go"}`, "v", `"v"`, "H asks: Keep it?\n  It is used\n  by a.go"},
		{`{"question":"Which?","options":["tabs",{"label":"spaces","description":"four"},7]}`, "2", `"spaces"`, "H asks: Which?\n  1) tabs\n  2) spaces: four\n  3) 7\n1-3, or your own words"},
		{`{"question":"Which?","options":["tabs","spaces"]}`, "SPACES", `"spaces"`, "H asks: Which?\n  1) tabs\n  2) spaces\n1-2, or your own words"},
		{`{"question":"Which?","options":["tabs","spaces"]}`, "0|3||none of them", `"none of them"`, "H asks: Which?\n  1) tabs\n  2) spaces\n1-2, or your own words"},
		{`{"question":"Which?","multi":true,"options":["a","b","c"]}`, "3, a,,own", `["c","a","own"]`, "H asks: Which?\n  1) a\n  2) b\n  3) c\n1-3, or your own words; separate several answers by commas"},
		{`{"question":"Which?","multi":true}`, "", `[]`, "H asks: Which?\nseparate several answers by commas"},
		{`{"questions":[{"id":"x","header":"Style","question":"Which?","options":["a"]}]}`, "1", `"a"`, "H asks: [Style] Which?\n  1) a"},
		{`{"questions":[{"id":"x","question":"One?"},{"id":7,"question":"Two?"},{"id":null,"question":"Three?"}]}`, "1|2|3", `{"7":"2","Three?":"3","x":"1"}`, "H asks (1 of 3): One?"},
		{`{"question":7}`, "ok", `"ok"`, `H asks: {"question":7}`},
	} {
		x := &typist{types: strings.Split(c.typed, "|")}
		p := &Person{Terminal: x, Now: now}
		answer, err := p.AskHost(t.Context(), effect.Asking{Host: "H", Type: "question", Within: 1500}, json.RawMessage(c.message))
		if d := cmp.Diff(c.answer, string(answer)); d != "" || err != nil || shown(x.asked[0]) != c.first || x.within != 0 || x.turns != 1 {
			t.Errorf("message %s, input %q: answer (-want +got) %s error %v, first prompt %q", c.message, c.typed, d, err, shown(x.asked[0]))
		}
		for _, a := range x.asked {
			if !a.Until.Equal(now().Add(1500 * time.Millisecond)) {
				t.Errorf("deadline of the prompt = %v, want 1.5 s after now", a.Until)
			}
		}
	}
}

// TestUnansweredQuestion checks that there is no answer if the input ends or the time limit
// expires.
func TestUnansweredQuestion(t *testing.T) {
	for _, message := range []string{`{"question":"?"}`, `{"questions":[{"question":"a"},{"question":"b"}]}`} {
		p := &Person{Terminal: &typist{}, Now: now}
		if v, err := p.AskHost(t.Context(), effect.Asking{Type: "question"}, json.RawMessage(message)); v != nil || !errors.Is(err, io.EOF) {
			t.Errorf("message %s: answer %s, error %v; want io.EOF", message, v, err)
		}
	}
	p := &Person{Terminal: &typist{types: []string{"e"}}, Now: now}
	if v, err := p.AskHost(t.Context(), effect.Asking{Type: "approval"}, json.RawMessage(`{"args":{}}`)); v != nil || !errors.Is(err, io.EOF) {
		t.Errorf("answer %s, error %v; want io.EOF", v, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.AskHost(ctx, effect.Asking{Type: "approval"}, nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := p.Ask(ctx, "c"); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestAwaitedEmit(t *testing.T) {
	x := &typist{types: []string{"4"}}
	p := &Person{Terminal: x, Now: now}
	typed, err := p.Ask(t.Context(), "not an Int\nhow (Int)")
	if typed != "4" || err != nil || !cmp.Equal(x.asked[0], screen.Prompt{Text: "not an Int", Label: "how (Int)> "}) || x.printed[0] != "not an Int\nhow (Int)> 4" {
		t.Errorf("answer %q, error %v, prompts %+v, printed %q", typed, err, x.asked, x.printed)
	}
}

// lineReader is a Reader with prepared lines.
type lineReader struct {
	prompts []string
	types   []string
}

func (r *lineReader) Ask(_ context.Context, prompt string) (string, error) {
	r.prompts = append(r.prompts, prompt)
	text := r.types[0]
	r.types = r.types[1:]
	return text, nil
}

// TestLines checks that a device that can only print lines is prompted line by line.
func TestLines(t *testing.T) {
	r := &lineReader{types: []string{"e", `{"a":2}`}}
	p := &Person{Terminal: NewLines(r), Now: now}
	answer, err := p.AskHost(t.Context(), effect.Asking{Host: "H", Type: "approval"}, json.RawMessage(`{"description":"rm","args":{"a":1}}`))
	if err != nil || string(answer) != `{"decision":"allow","input":{"a":2},"scope":"once"}` {
		t.Errorf("answer %s, error %v", answer, err)
	}
	want := []string{"H requests approval: rm\n  a: 1\n[a]llow once [s]ession a[l]ways [d]eny [e]dit [v]iew\n",
		"H requests approval: rm\n  a: 1\nedit the arguments, or enter nothing to go back\ninput ({\"a\":1})"}
	if d := cmp.Diff(want, r.prompts); d != "" {
		t.Error(d)
	}
}

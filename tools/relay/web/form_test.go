package web_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/web/webtest"
	"github.com/concerto-lang/concerto/tools/browser"
)

// TestForm answers the questions of a program on a phone. If an answer is missing, the page must
// report that at the question. The machine must receive the value of the chosen option, not its
// label.
func TestForm(t *testing.T) {
	browser.Full(t)
	browser.Need(t)
	t.Parallel()
	r := webtest.Start(t)
	machine := r.Machine("laptop")
	run := webtest.Begin(machine, "run_1", webtest.Data{"tool": "concerto", "source": "concerto", "title": "release"})
	b := enter(t, r, webtest.Operator, "#/runs/run_1")
	b.Emulate(browser.Phone, browser.Dark)
	run.Ask("q1", webtest.Data{"reason": "choice", "prompt": "When?", "from": webtest.Data{"kind": "emit", "channel": "when"}, "questions": []webtest.Data{
		{"id": "when", "question": "When does it go out?", "kind": "choice", "required": true, "options": []webtest.Data{{"value": "now", "label": "Now"}, {"value": "tonight", "label": "Tonight"}}},
		{"id": "tag", "question": "Tag it?", "kind": "confirm"}}})
	b.See("When does it go out?")
	awake(b)
	b.Tap("@approve")
	b.Wait("document.activeElement.closest('[data-testid=approval-card]') && document.querySelector('[aria-invalid=true], .form-error')")
	b.Tap("=Tonight")
	b.Tap("@approve")
	msg := machine.Next(protocol.RunApprove)
	d, err := protocol.Decode[protocol.Decide](&msg)
	answers, _ := json.Marshal(d.Answers)
	if err != nil || d.RequestID != "q1" || !strings.Contains(string(answers), `"when":"tonight"`) {
		t.Errorf("the machine receives the decision %s, %v; want the answer tonight", msg.Data, err)
	}
	run.Resolve("q1", "approve", webtest.Operator)
	b.Wait("__see.text('@resolved').includes('by olga')")
	if wide := b.Eval("document.documentElement.scrollWidth - document.documentElement.clientWidth"); wide != 0.0 {
		t.Errorf("the page is %v pixels wider than the phone", wide)
	}
}

// TestReview reviews the changes of a workspace on a phone: it comments on two lines of the diff,
// and removes one of the comments. The machine must receive the remaining one with its file and
// line.
func TestReview(t *testing.T) {
	browser.Full(t)
	browser.Need(t)
	t.Parallel()
	r := webtest.Start(t)
	machine := r.Machine("laptop")
	run := webtest.Begin(machine, "run_1", webtest.Data{"tool": "concerto", "source": "concerto", "title": "fleet"})
	b := enter(t, r, webtest.Operator, "#/runs/run_1")
	b.Emulate(browser.Phone, browser.Light)
	comment := webtest.Data{"type": "object", "properties": webtest.Data{"file": webtest.Data{"type": "string"}, "line": webtest.Data{"type": []string{"integer", "null"}}, "text": webtest.Data{"type": "string"}}}
	run.Ask("q1", webtest.Data{"prompt": "review", "from": webtest.Data{"kind": "emit", "channel": "review"},
		"diff": "diff --git a/old.py b/new.py\nrename from old.py\nrename to new.py\n--- a/old.py\n+++ b/new.py\n@@ -3,3 +3,3 @@ def f():\n one\n-two\n+2\n three\n" +
			"diff --git a/gone.py b/gone.py\n--- a/gone.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-only\n",
		"questions": []webtest.Data{
			{"id": "decision", "question": "decision", "kind": "choice", "required": true, "options": []webtest.Data{{"value": "approve", "label": "approve"}, {"value": "comment", "label": "comment"}}},
			{"id": "comments", "question": "comments", "kind": "json", "schema": webtest.Data{"type": "array", "items": comment}, "default": []any{}}}})
	b.See("gone.py (removed)")
	if n := b.Count("[aria-label='Comment on line 1']"); n != 0 {
		t.Error("a line that only the old file contains has a comment field")
	}
	for _, line := range []string{"3", "4"} {
		b.Click("button[aria-label='Comment on line " + line + "']")
		b.Click("textarea[aria-label='Comment on line " + line + "']")
		b.Type("why " + line + "?")
	}
	for range "why 3?" {
		b.Eval("void document.querySelector(\"textarea[aria-label='Comment on line 3']\").focus()")
		b.Press("Backspace")
	}
	b.Axe()
	b.Tap("=comment")
	decide(b, "@approve")
	msg := machine.Next(protocol.RunApprove)
	d, err := protocol.Decode[protocol.Decide](&msg)
	answers, _ := json.Marshal(d.Answers)
	if want := `{"decision":"comment","comments":[{"file":"new.py","line":4,"text":"why 4?"}]}`; err != nil || string(answers) != want {
		t.Errorf("the machine receives the answers %s, %v; want %s", answers, err, want)
	}
}

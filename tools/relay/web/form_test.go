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
// report that at the question. The host must receive the value of the chosen option, not its label.
func TestForm(t *testing.T) {
	browser.Full(t)
	browser.Need(t)
	t.Parallel()
	r := webtest.Start(t)
	host := r.Host("laptop")
	run := webtest.Begin(host, "run_1", webtest.Data{"tool": "concerto", "source": "concerto", "title": "release"})
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
	msg := host.Next(protocol.RunApprove)
	d, err := protocol.Decode[protocol.Decide](&msg)
	answers, _ := json.Marshal(d.Answers)
	if err != nil || d.RequestID != "q1" || !strings.Contains(string(answers), `"when":"tonight"`) {
		t.Errorf("the host receives the decision %s, %v; want the answer tonight", msg.Data, err)
	}
	run.Resolve("q1", "approve", webtest.Operator)
	b.Wait("__see.text('@resolved').includes('by olga')")
	if wide := b.Eval("document.documentElement.scrollWidth - innerWidth"); wide != 0.0 {
		t.Errorf("the page is %v pixels wider than the phone", wide)
	}
}

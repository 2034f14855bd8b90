package web_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/web/webtest"
	"github.com/concerto-lang/concerto/tools/browser"
)

// TestDrafts types answers and an input and reloads the page. The page must restore the typed text,
// except secrets and text that was already sent. A logout must delete it.
func TestDrafts(t *testing.T) {
	browser.Full(t)
	browser.Need(t)
	t.Parallel()
	r := webtest.Start(t)
	machine := r.Machine("desk")
	run := webtest.Begin(machine, "run_1", webtest.Data{"title": "the release"})
	run.Ask("q1", webtest.Data{"prompt": "How?", "from": webtest.Data{"kind": "emit", "channel": "how"}, "questions": []webtest.Data{
		{"id": "say", "question": "What is said?", "kind": "text", "required": true},
		{"id": "when", "question": "When?", "kind": "choice", "allow_other": true, "options": []webtest.Data{{"value": "now", "label": "Now"}}},
		{"id": "where", "question": "Where?", "kind": "multi", "options": []webtest.Data{{"value": "here", "label": "Here"}, {"value": "there", "label": "There"}}},
		{"id": "tag", "question": "Tag it?", "kind": "confirm", "default": true},
		{"id": "pin", "question": "The PIN?", "kind": "text", "secret": true},
	}})
	b := enter(t, r, webtest.Operator, "#/inbox")
	b.See("What is said?")
	b.Click("[data-testid=approval-card] textarea")
	b.Type("Half a thou")
	b.Click("=Other")
	b.Click("[aria-label='Other answer']")
	b.Type("at noon")
	b.Click("=There")
	b.Click("=No")
	b.Click("[type=password]")
	b.Type("4711")
	b.Eval("location.hash = '#/runs/run_1'") // the same card on another screen
	typed := "[document.querySelector('[data-testid=approval-card] textarea')?.value, document.querySelector(\"[aria-label='Other answer']\")?.value, [...document.querySelectorAll('[data-testid=approval-card] :checked')].map((e) => e.parentElement.innerText.trim()).join(), document.querySelector('[type=password]')?.value].join('|')"
	b.Wait(typed + " === 'Half a thou|at noon|Other,There,No|'")
	b.Click("@composer")
	b.Type("wait for\nme") // sends the first line
	first := machine.Next(protocol.RunSendInput)
	if in, err := protocol.Decode[protocol.SendInput](&first); err != nil || in.Text != "wait for\n" {
		t.Errorf("the machine receives the input %+v, %v; want wait for", in, err)
	}
	b.Reload()
	// While a secret is requested, the text in the composer may be that secret, and is not stored.
	b.Wait(typed + " === 'Half a thou|at noon|Other,There,No|' && document.querySelector('[data-testid=composer]').value === ''")
	if stored, _ := b.Eval("JSON.stringify(sessionStorage) + JSON.stringify(localStorage)").(string); strings.Contains(stored, "4711") || strings.Contains(stored, "wait for") {
		t.Errorf("the browser stores a secret or a text that was sent: %s", stored)
	}
	awake(b)
	b.Click("[data-testid=approval-card] textarea")
	b.Press("End")
	b.Type("ght")
	decide(b, "@approve")
	msg := machine.Next(protocol.RunApprove)
	d, err := protocol.Decode[protocol.Decide](&msg)
	if answers, _ := json.Marshal(d.Answers); err != nil || string(answers) != `{"say":"Half a thought","when":"at noon","where":["there"],"tag":false}` {
		t.Errorf("the machine receives the answers %s, %v", answers, err)
	}
	run.Resolve("q1", "approve", webtest.Operator)
	b.Wait("__see.text('@resolved').includes('by olga')")
	b.Click("@composer")
	b.Type("me")
	if stored, _ := b.Eval("JSON.stringify(sessionStorage)").(string); strings.Contains(stored, "thou") || !strings.Contains(stored, "me") {
		t.Errorf("browser storage after the answers were sent = %s, want only the text in the composer", stored)
	}
	b.Expect("401")
	b.Eval("location.hash = '#/settings'")
	b.Click("@logout")
	b.See("Log in")
	if left := b.Eval("Object.keys(sessionStorage).join()"); left != "" {
		t.Errorf("texts that are stored after the logout: %v", left)
	}
}

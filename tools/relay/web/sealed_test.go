package web_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/seal"
	"github.com/concerto-lang/concerto/relay/server/servertest"
	"github.com/concerto-lang/concerto/relay/web/webtest"
	"github.com/concerto-lang/concerto/tools/browser"
)

// sealedRelay starts a relay in which the machine mbp has an account, with a run and a request.
func sealedRelay(t *testing.T) (*webtest.Relay, *webtest.Account, *servertest.Peer, *webtest.Run, webtest.Data) {
	t.Helper()
	browser.Need(t)
	t.Parallel()
	r := webtest.Start(t)
	a := r.Sealed("mbp")
	machine := r.HelloMachine("mbp")
	run := webtest.Begin(machine, "run_1", webtest.Data{"title": "the release"})
	run.Write("ready\n")
	request := webtest.Data{"prompt": "Run a command", "op_tool": "bash", "args_sha256": strings.Repeat("ab", 32), "op_args": webtest.Data{"command": "git push --tags"}, "risk": "high", "fresh": a.Token()}
	run.Ask("q1", request)
	a.Play(machine)
	return r, a, machine, run, request
}

// picture stores pictures of the current screen if CONCERTO_SCREENSHOTS names a directory.
func picture(t *testing.T, b *browser.Tab, name string) {
	t.Helper()
	b.Axe()
	dir := os.Getenv("CONCERTO_SCREENSHOTS")
	for _, device := range []browser.Device{browser.Desk, browser.Phone} {
		for _, theme := range []browser.Theme{browser.Light, browser.Dark} {
			b.Emulate(device, theme)
			if wide := b.Eval("document.documentElement.scrollWidth - document.documentElement.clientWidth"); wide != 0.0 {
				t.Errorf("%s is wider by %v pixels than the window of a %s", name, wide, device.Name)
			}
			if dir == "" {
				continue
			}
			if err := os.WriteFile(filepath.Join(dir, name+"-"+device.Name+"-"+theme.Name+".png"), b.Screenshot(""), 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	b.Emulate(browser.Desk, browser.Light)
}

// openLink opens a link in a tab that shows the page.
func openLink(b *browser.Tab, link string) {
	b.Eval("location.hash = '" + link[strings.Index(link, "#"):] + "'")
}

// enrol enrols the browser with the page and returns the id of its device.
func enrol(t *testing.T, r *webtest.Relay, a *webtest.Account, b *browser.Tab) string {
	t.Helper()
	link := a.Link(r.URL, time.Minute)
	openLink(b, link.String())
	b.Click("@join")
	id, _ := a.Confirm(link, seal.Operator)
	b.See("is enrolled")
	return id
}

// check fails the test unless the host accepts the signature of a command.
func check(t *testing.T, a *webtest.Account, e protocol.Envelope, kind, id string, request any) {
	t.Helper()
	if _, err := a.Check(&e, kind, id, request); err != nil {
		t.Fatalf("%s: %v\n%s", e.Type, err, e.Data)
	}
}

// TestJoin opens the link of an enrolment before the login, enrols the browser, and approves a
// request. The link's secret must disappear from the address at once.
func TestJoin(t *testing.T) {
	r, a, machine, run, request := sealedRelay(t)
	link := a.Link(r.URL, time.Minute)
	b := browser.Open(t)
	b.Expect("401")
	b.Go(r.URL + "/" + link.String()[strings.Index(link.String(), "#"):])
	b.Wait("location.hash === '#/join'")
	login(b, webtest.Operator)
	b.Wait("__see.text('@join-account') === '" + a.ID + "'")
	b.See(r.URL)
	if name := b.Eval("document.querySelector('[data-testid=join-name]').value"); name != "Chrome on Linux" {
		t.Errorf("proposed name = %v", name)
	}
	secret := strings.Split(link.String(), ".")
	where := "JSON.stringify([location.href, history.state, {...localStorage}, {...sessionStorage}])"
	if found := b.Eval(where).(string); strings.Contains(found, secret[len(secret)-3]) {
		t.Errorf("the page stores the link's secret: %s", found)
	}
	picture(t, b, "join")
	b.Eval("document.querySelector('[data-testid=join-name]').select()")
	b.Type("Olga’s phone")
	b.Press("Enter")
	b.See("Waiting for the owner to confirm on the machine.")
	picture(t, b, "join-waiting")
	id, name := a.Confirm(link, seal.Operator)
	if name != "Olga’s phone" {
		t.Errorf("name of the device = %q", name)
	}
	b.See("Olga’s phone is enrolled.")
	picture(t, b, "join-done")
	b.Click("=Show the inbox")
	decide(b, "@approve")
	check(t, a, a.Next(protocol.RunDecide), seal.KindDecide, "q1", request)
	run.Resolve("q1", "approve", webtest.Operator)
	b.Wait("__see.all('@approval-card').length === 0")

	b.Eval("location.hash = '#/runs/run_1'")
	b.Click("@composer")
	b.Type("go on")
	b.Press("Enter")
	in := a.Next(protocol.RunSendInput)
	check(t, a, in, seal.KindInput, in.ID, nil)

	machine.Send(protocol.RunRefused, "run_1", 5, webtest.Data{"action": "decide", "by_run_id": "run_1", "request_id": "q1", "reason": "replayed: counter 1 was used", "code": "replayed", "device": id})
	b.Wait("__see.text('@refused').startsWith('Refused: replayed decision (this browser, ') && __see.text('@refused').endsWith('The server or someone with its access sent it.')")
	machine.Send(protocol.RunRefused, "run_1", 6, webtest.Data{"action": "input", "by_run_id": "run_1", "reason": "unknown_device: no device", "code": "unknown_device", "device": "d_other"})
	b.See("Refused: input of an unknown device (")
	picture(t, b, "refused")

	b.Eval("location.hash = '#/settings'")
	b.Wait("__see.text('@device').includes('Olga’s phone') && __see.text('@device').includes('" + id + "')")
	loaded(b)
	picture(t, b, "device")
	b.Click("@forget")
	b.Click("@forget-yes")
	b.Wait("__see.all('@device').length === 0")
	b.Eval("location.hash = '#/runs/run_1'")
	b.See("This browser is not enrolled.")
}

// TestNotEnrolled opens the runs of a machine with an account in a browser that has no device of
// it. Nothing can be decided or typed, and the page names the next step.
func TestNotEnrolled(t *testing.T) {
	r, a, _, _, _ := sealedRelay(t)
	b := enter(t, r, webtest.Owner, "#/inbox")
	const why = "This browser is not enrolled. Run concerto-relay devices add on the machine, or use your passkey in the settings."
	b.See(why)
	picture(t, b, "not-enrolled")
	b.Eval("__see.all('@approve')[0].click(); __see.all('@deny')[0].click()")
	b.Press("j", "d", "Enter")
	if disabled := b.Eval("['approve', 'deny'].map((id) => document.querySelector(`[data-testid=${id}]`).ariaDisabled).join()"); disabled != "true,true" {
		t.Errorf("aria-disabled of the buttons = %v", disabled)
	}
	b.Eval("location.hash = '#/runs/run_1'")
	b.Wait("document.querySelector('[data-testid=composer]')?.disabled && __see.text('.composer').includes('" + why + "')")
	picture(t, b, "not-enrolled-run")
	b.Eval("location.hash = '#/runs/run_1/terminal'")
	b.See(why)
	b.Eval("location.hash = '#/hosts/mbp'")
	b.See(why)
	select {
	case e := <-a.Got:
		t.Errorf("the page sent %s %s", e.Type, e.Data)
	default:
	}
}

// TestLinksThatFail opens links that cannot be used. Each message names the next step.
func TestLinksThatFail(t *testing.T) {
	r, a, _, _, _ := sealedRelay(t)
	b := enter(t, r, webtest.Operator, "#/join")
	b.See("Open the link or scan the code again.")
	openLink(b, a.Link(r.URL, -time.Minute).String())
	b.See("The link has expired. Run concerto-relay devices add on the machine again, and open the new link.")
	openLink(b, a.Link("https://relay.example", time.Minute).String())
	b.See("The link is for https://relay.example.")
	openLink(b, strings.TrimSuffix(a.Link(r.URL, time.Minute).String(), "w")[:120])
	b.See("The link is incomplete.")
	picture(t, b, "join-failed")

	link := a.Link(r.URL, time.Minute)
	openLink(b, link.String())
	b.Click("@join")
	a.Refuse(link)
	b.See("The owner did not confirm this device.")
	link = a.Link(r.URL, 8*time.Second)
	openLink(b, link.String())
	b.Click("@join")
	b.See("The link has expired.")
	other := webtest.NewAccount(t, "other")
	link = other.Link(r.URL, time.Minute)
	openLink(b, link.String())
	b.Wait("__see.text('@join-account') === '" + other.ID + "'")
	b.Expect("404")
	b.Click("@join")
	b.See("The server does not know the account yet.")
	if stored := b.Eval("new Promise((done) => { const q = indexedDB.open('concerto-relay'); q.onsuccess = () => { q.result.transaction('devices').objectStore('devices').count().onsuccess = (e) => { done(e.target.result); q.result.close(); }; }; })"); stored != 0.0 {
		t.Errorf("stored devices after failed enrolments = %v", stored)
	}

	b.Eval("void Object.defineProperty(crypto, 'subtle', { value: undefined })") // as over plain http
	openLink(b, a.Link(r.URL, time.Minute).String())
	b.See("Over plain http this page can show runs, but it cannot create keys. Open the relay over https, and then the link again.")
	b.Eval("location.hash = '#/inbox'")
	b.See("This page cannot sign commands over plain http. Open it over https.")
}

// TestTemporaryDevice enrols a browser that stores no keys. The page states that the device is
// temporary, and the device can decide until the tab is closed.
func TestTemporaryDevice(t *testing.T) {
	r, a, _, _, request := sealedRelay(t)
	b := enter(t, r, webtest.Operator, "#/inbox")
	b.Eval(`IDBObjectStore.prototype.put = new Proxy(IDBObjectStore.prototype.put, { apply(put, store, args) {
		if (store.name === "devices") throw new DOMException("not in a private window", "DataCloneError");
		return Reflect.apply(put, store, args);
	} })`)
	enrol(t, r, a, b)
	b.See("This device is temporary")
	picture(t, b, "temporary")
	b.Click("=Show the inbox")
	decide(b, "@deny")
	check(t, a, a.Next(protocol.RunDecide), seal.KindDecide, "q1", request)
	b.Eval("location.hash = '#/runs/run_1'")
	b.Reload()
	b.See("This browser is not enrolled.")
}

// tryApprove approves a request until the page shows why it cannot. The card is open again then, so
// that decide could miss its other states.
func tryApprove(b *browser.Tab, why string) {
	awake(b)
	b.Wait("(document.querySelector('[data-testid=approve]').click(), document.body.innerText.includes('" + why + "'))")
}

// TestRosterFork shows a browser another roster than the one it has verified. The page signs
// nothing then, and names the next step. After the right roster is back, a reload suffices.
func TestRosterFork(t *testing.T) {
	r, a, _, _, request := sealedRelay(t)
	b := enter(t, r, webtest.Operator, "#/inbox")
	enrol(t, r, a, b)
	a.Fork(3)
	b.Eval("location.hash = '#/inbox'")
	b.Reload()
	b.Wait(online)
	tryApprove(b, "two lists")
	b.See("This account has two lists of devices. Run concerto-relay seal status --resolve on the machine, then reload.")
	picture(t, b, "fork")
	b.Eval("location.hash = '#/settings'")
	b.Wait("__see.text('@device').includes('two lists')")
	select {
	case e := <-a.Got:
		t.Errorf("the page sent %s %s", e.Type, e.Data)
	default:
	}
	a.Resolve()
	b.Eval("location.hash = '#/inbox'")
	b.Reload()
	b.Wait(online)
	decide(b, "@approve")
	check(t, a, a.Next(protocol.RunDecide), seal.KindDecide, "q1", request)
}

// TestRemovedDevice removes the device of a browser. The page states it at the next command.
func TestRemovedDevice(t *testing.T) {
	r, a, _, _, _ := sealedRelay(t)
	b := enter(t, r, webtest.Operator, "#/inbox")
	id := enrol(t, r, a, b)
	a.Remove(id)
	b.Eval("location.hash = '#/inbox'")
	b.Reload()
	b.Wait(online)
	tryApprove(b, "no longer enrolled")
	b.See("This browser is no longer enrolled.")
}

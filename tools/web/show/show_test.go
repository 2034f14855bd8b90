package main

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/tools/browser"
	"github.com/concerto-lang/concerto/web"
)

func TestMain(m *testing.M) { os.Exit(browser.Main(m)) }

// parts lists the names of all parts on the page.
const parts = "approval forms elements texts notices diffs json thread source graph terminal lists"

// built returns the page for all tests. It contains additional modules that some tests call
// directly.
var built = sync.OnceValues(func() (*web.Dist, error) {
	return open(os.DirFS("../../../web"), "parts/markdown.js", "parts/approval.js", "parts/base.js")
})

// show opens the page of a part.
func show(t *testing.T, part string) *browser.Tab {
	t.Helper()
	browser.Need(t)
	t.Parallel()
	page, err := built()
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(secured(page))
	t.Cleanup(server.Close)
	b := browser.Open(t)
	b.Go(server.URL + "/components.html#" + part)
	b.Wait("document.querySelector('section.part')")
	return b
}

// turn opens the page of another part in the same tab.
func turn(b *browser.Tab, part string) {
	b.Eval("location.hash = '" + part + "'")
	b.Wait("document.querySelector('#part-" + part + "')")
}

// sample returns the CSS selector for one state of a part.
func sample(name string) string { return `[data-sample="` + name + `"]` }

// TestScreenshots writes pictures of all parts to a directory.
func TestScreenshots(t *testing.T) {
	dir := os.Getenv("CONCERTO_SCREENSHOTS")
	if dir == "" {
		t.Skip("the environment variable CONCERTO_SCREENSHOTS is not set")
	}
	b := show(t, "approval")
	for part := range strings.FieldsSeq(parts) {
		turn(b, part)
		for _, d := range []browser.Device{browser.Desk, browser.Phone} {
			for _, th := range []browser.Theme{browser.Light, browser.Dark, browser.Contrast} {
				b.Emulate(d, th)
				if err := os.WriteFile(filepath.Join(dir, part+"-"+d.Name+"-"+th.Name+".png"), b.Screenshot("main"), 0o666); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// TestPartsAreAccessible runs axe on every part in all its states.
func TestPartsAreAccessible(t *testing.T) {
	browser.Full(t)
	b := show(t, "approval")
	for part := range strings.FieldsSeq(parts) {
		turn(b, part)
		if part == "terminal" {
			b.Wait("document.querySelector('.xterm-rows')")
		}
		b.Axe()
	}
	b.Emulate(browser.Phone, browser.Dark)
	for part := range strings.FieldsSeq(parts) {
		turn(b, part)
		if wide := b.Eval("document.documentElement.scrollWidth - document.documentElement.clientWidth"); wide != 0.0 {
			t.Errorf("the part %s is %v pixels wider than a phone", part, wide)
		}
		if small := b.Eval(tooSmall); small != "" {
			t.Errorf("elements of %s that are too small for a finger: %v", part, small)
		}
	}
	turn(b, "forms")
	b.Axe()
}

// tooSmall is a JavaScript expression. Its value lists the buttons, fields and tabs smaller than 44
// pixels, except those within a line of text.
const tooSmall = `[...document.querySelectorAll("section.part :is(button, select, textarea, input:not([type=checkbox], [type=radio]), [role=tab], [role=option], .form-option)")]
	.filter((e) => e.checkVisibility() && e.getBoundingClientRect().height < 43.9 && getComputedStyle(e).display !== "inline" && !e.closest(".xterm"))
	.map((e) => e.outerHTML.slice(0, 120) + " " + e.getBoundingClientRect().height).slice(0, 5).join("\n")`

// TestHostileTextsAreEscaped checks that foreign text is never HTML and cannot reorder or hide the
// text around it.
func TestHostileTextsAreEscaped(t *testing.T) {
	browser.Full(t)
	b := show(t, "approval")
	for place, part := range map[string]string{
		"approval hostile texts": "approval", "forms hostile texts": "forms", "texts what is hidden": "texts", "texts markdown that is hostile": "texts", "diffs hostile": "diffs", "source hostile": "source", "json an object": "json", "lists list": "lists",
	} {
		turn(b, part)
		text := b.Text(sample(place))
		for _, want := range []string{"<img src=x onerror=alert(1)><script>alert(2)</script> &amp; ", "⟦U+202E⟧gnp.exe⟦U+2066⟧", "⟦U+200B⟧invisible", "⟦BEL⟧"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s does not show %q:\n%s", place, want, text)
			}
		}
		if n := b.Count(sample(place) + " img, " + sample(place) + " script"); n != 0 {
			t.Errorf("%s contains %d elements that were created from the text", place, n)
		}
	}
	turn(b, "texts")
	text := b.Text(sample("texts a terminal's text"))
	for _, want := range []string{"100 %", "backspwards", "red", "orange", "⟦U+202E⟧gnp"} {
		if !strings.Contains(text, want) {
			t.Errorf("the terminal text does not contain %q:\n%s", want, text)
		}
	}
	for _, not := range []string{"50 %", "title", "[31m", "[2J"} {
		if strings.Contains(text, not) {
			t.Errorf("the terminal text contains %q:\n%s", not, text)
		}
	}
}

// TestApprovalIgnoresEarlyInput checks that a card accepts no decision within half a second after
// the card appears, whatever the input device. No element of an appearing card has the focus.
func TestApprovalIgnoresEarlyInput(t *testing.T) {
	b := show(t, "elements")
	took := b.Eval(`(async () => {
		const decided = window.decided;
		decided.value = null;
		location.hash = "approval";
		while (!document.querySelector("[data-testid=approve]")) await new Promise((done) => requestAnimationFrame(done));
		const began = performance.now();
		while (!decided.value) {
			document.querySelector("[data-testid=approve]").click();
			await new Promise((done) => setTimeout(done, 5));
		}
		return [performance.now() - began, document.activeElement === document.body];
	})()`).([]any)
	if took[0].(float64) < 490 {
		t.Errorf("the card was approved after %v ms", took[0])
	}
	if took[1] != true {
		t.Error("an appearing card has the focus")
	}
	first := sample("approval a command")
	b.Eval("window.decided.value = null")
	b.Click(first + " [data-testid=deny]")
	b.Wait("window.decided.value.decision === 'deny'")
	// a card that moves under the pointer ignores clicks too, but keys apply to the focused element
	moved := b.Eval(`(async () => {
		const approve = document.querySelector("[data-testid=approve]");
		const above = document.querySelector("#part-approval");
		const decided = window.decided;
		const click = (detail) => {
			decided.value = null;
			approve.dispatchEvent(new MouseEvent("click", { bubbles: true, detail }));
			return decided.value?.decision ?? "nothing";
		};
		const before = click(1);
		const began = performance.now(); // on a busy machine, time passes between any two lines
		above.style.paddingTop = "200px";
		const pointer = click(1);
		const key = click(0);
		while (click(1) === "nothing") await new Promise((done) => setTimeout(done, 5));
		return [before, pointer, key, performance.now() - began >= 490].join();
	})()`)
	if moved != "approve,nothing,approve,true" {
		t.Errorf("decisions before the move, by pointer, by key, and later = %v", moved)
	}
	if got := b.Spoken(first + " section"); got != "region Run a command" {
		t.Errorf("Spoken of the card = %q", got)
	}
	if got := b.Spoken(first + " [data-testid=approve]"); got != "button Approve: Run a command, git push --force-with-lease origin fix/rounding && gh pr create --fill, Fix the billing rounding" {
		t.Errorf("Spoken of the button = %q", got)
	}
	for state, want := range map[string]string{
		"waiting to send": "Waiting to send: approve.", "applied": "Approved by ann.", "decided by another": "Already decided: denied by bob.",
		"arguments changed": "so nothing was approved. Review it again.", "expired": "Expired without a decision", "withdrawn": "Withdrawn by the run",
		"rejected": "There is no branch next.", "read only": "You are not allowed to decide", "a file": "expires in 42 s", "long arguments": "Show all 60 lines first.",
		"letters from right to left": "The order on the screen can differ",
	} {
		if text := b.Text(sample("approval " + state)); !strings.Contains(text, want) {
			t.Errorf("a card in the state %s does not contain %q:\n%s", state, want, text)
		}
	}
	if n := b.Count(sample("approval applied") + " button[data-testid]"); n != 0 {
		t.Error("a decided request has an approve button")
	}
}

// TestAQuestionIsAnsweredOnTheCard checks that no decision is sent before the question is answered.
// The decision includes the reason and the scope "for the rest of the run".
func TestAQuestionIsAnsweredOnTheCard(t *testing.T) {
	browser.Full(t)
	b := show(t, "approval")
	card := sample("approval a question")
	if n := strings.Count(b.Text(card), "Which branch shall it go to?"); n != 1 {
		t.Errorf("number of prompts on the card = %d", n)
	}
	b.Eval("window.decided.value = null")
	b.Click(card + " [data-testid=approve]")
	b.See("Enter an answer.")
	b.Wait("document.activeElement.type === 'radio'")
	if v := b.Eval("window.decided.value"); v != nil {
		t.Errorf("decision sent without an answer: %v", v)
	}
	b.Press("Space", "ArrowDown")
	b.WaitAbsent("Enter an answer.")
	b.Click(card + " [data-testid=approve]")
	b.Wait("window.decided.value?.answers.branch === 'next'")
	command := sample("approval a command")
	b.Click(command + " summary")
	b.Click(command + " input[type=text]")
	b.Type("seen")
	b.Click(command + " input[type=checkbox]")
	b.Click(command + " [data-testid=approve]")
	b.Wait(`JSON.stringify(window.decided.value) === '{"request":"r1","decision":"approve","text":"seen","scope":"session"}'`)
}

// TestFormAcceptsEveryKind fills in a form with every kind of field by keyboard and mouse. The
// first attempt contains errors.
func TestFormAcceptsEveryKind(t *testing.T) {
	browser.Full(t)
	b := show(t, "forms")
	form := sample("forms every kind")
	in := func(label string) string {
		return form + " [aria-label=\"" + label + "\"]"
	}
	b.Click(form + " [type=submit]")
	b.Wait("document.querySelectorAll('" + form + " .form-error').length === 6")
	b.Wait("document.activeElement.matches('textarea')") // the focus moves one frame later
	if got := b.Spoken(":focus"); got != "textbox Name What is it called? (invalid, required)" && !strings.Contains(got, "invalid") {
		t.Errorf("focused element = %q", got)
	}
	b.Type("a thing")
	b.Click(form + " fieldset:nth-of-type(1) label:nth-of-type(3)")
	b.Click(in("Other answer"))
	b.Type("by rail")
	b.Click("=lint")
	b.Click("=No")
	b.Click("[type=password]")
	b.Type("hunter2")
	b.Click("textarea.json[rows='4']")
	b.Type("{oops")
	field := func(n int) string {
		return form + " form > fieldset:last-of-type > .form-question:nth-of-type(" + string(rune('0'+n)) + ") "
	}
	for n, text := range map[int]string{1: "x", 2: "1.5", 3: "cheap"} {
		b.Click(field(n) + "input, " + field(n) + "textarea")
		b.Type(text)
	}
	b.Click(form + " [type=submit]")
	for _, text := range []string{"Invalid JSON", "Enter at least 2 characters.", "Enter a whole number.", "Enter a number.", "Enter a value."} {
		b.See(text)
	}
	b.Wait("document.activeElement.matches('textarea.json')")
	b.Press("Ctrl+a", "Delete")
	b.Type(`{"deep": [1, null]}`)
	for n, text := range map[int]string{1: "Ada", 2: "12", 3: ""} {
		b.Click(field(n) + "input, " + field(n) + "textarea")
		b.Press("Ctrl+a", "Delete")
		b.Type(text)
	}
	b.Click(field(4) + "select")
	b.Press("Escape", "n")
	b.Click("=It is a gift")
	b.Click(field(6) + "textarea")
	b.Type("one\ntwo")
	b.Click(form + " fieldset fieldset textarea")
	b.Type("Köln")
	b.Click(form + " [type=submit]")
	b.Wait("window.sent.value")
	got, err := json.Marshal(b.Eval("window.sent.value"))
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"choice":"by rail","confirm":false,"json":{"deep":[1,null]},"multi":["test","lint"],"order":{"address":{"city":"Köln"},"count":12,"gift":true,"kind":"new","name":"Ada","tags":["one","two"]},"secret":"hunter2","text":"a thing"}`; string(got) != want {
		t.Errorf("answers:\n%s\nwant\n%s", got, want)
	}
	for _, text := range []string{"This name is used already.", "By air is not possible."} {
		if !strings.Contains(b.Text(sample("forms what the host refused")), text) {
			t.Errorf("the form does not show the host's error: %s", text)
		}
	}
}

// TestTenThousandItems checks a list of 10,000 items. Scrolling causes no long task, and only a few
// items have elements. Items that are inserted earlier or grow do not move the visible items. A
// list that is scrolled to the end stays there when items are added.
func TestTenThousandItems(t *testing.T) {
	browser.Full(t)
	b := show(t, "thread")
	many := sample("thread ten thousand items")
	box := "document.querySelector('" + many + " .thread-scroll')"
	b.Wait(box + ".innerText.includes('item 9999')")
	long := b.Tasks(50*time.Millisecond, func() {
		b.Eval(`(async () => {
			const box = ` + box + `;
			for (const step of [-300, 1500, -20000, 5000, -400000, 60000, -50]) for (let i = 0; i < 12; i++) {
				box.scrollTop += step;
				await new Promise((done) => requestAnimationFrame(done));
			}
		})()`)
	})
	if len(long) > 0 {
		t.Errorf("long tasks while scrolling = %v", long)
	}
	if n := b.Count(many + " .thread-row"); n > 80 {
		t.Errorf("number of rows with elements = %d", n)
	}
	// the visible item must not move
	b.Eval(box + ".scrollTop = 30000")
	first := "[...document.querySelectorAll('" + many + " .thread-row')].find((e) => e.getBoundingClientRect().bottom > " + box + ".getBoundingClientRect().top)"
	settled := "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(done))))"
	place := "(async () => { await " + settled + "; const e = " + first + "; return e.dataset.row + ' ' + Math.round(e.getBoundingClientRect().top) })()"
	b.Wait("(() => { const rows = " + box + ".querySelectorAll('.thread-row'), seen = " + box + ".getBoundingClientRect(); return rows[0].getBoundingClientRect().top < seen.top - 300 && rows[rows.length - 1].getBoundingClientRect().bottom > seen.bottom + 300; })()") // rows near the window are rendered before they are visible
	was := b.Eval(place)
	b.Eval("globalThis.row = " + first)
	for _, change := range []string{"window.thread.before(500)", "window.thread.grow('k3', 'a long text\\n'.repeat(40))", "window.thread.add(100)"} {
		b.Eval("void " + change)
		if is := b.Eval(place); is != was {
			t.Errorf("after %s the first row is %v, not %v", change, is, was)
		}
		if b.Eval("row === "+first) != true {
			t.Errorf("after %s the page replaced the row that the user reads", change)
		}
	}
	b.Click(many + " .thread-end")
	b.Wait(box + ".innerText.includes('item 10599')")
	b.Eval("void window.thread.add(2)")
	b.Wait(box + ".innerText.includes('item 10601')")
	b.Eval("void window.thread.grow('k10601', 'grown\\n'.repeat(30) + 'to its end')")
	b.Wait("Math.abs(" + box + ".scrollHeight - " + box + ".clientHeight - " + box + ".scrollTop) < 2 && " + box + ".innerText.includes('to its end')")
	b.Eval(box + ".focus()")
	b.Press("Home")
	b.Wait("document.activeElement.getAttribute('aria-posinset') === '1'")
	b.Eval("for (const key of 'jjk') document.activeElement.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }))") // faster than a frame
	b.Wait("document.activeElement.getAttribute('aria-posinset') === '2'")
	if got := b.Spoken(":focus"); !strings.HasPrefix(got, "article ") {
		t.Errorf("Spoken of a row = %q", got)
	}
}

// TestThreadStaysAtEnd checks a thread that is scrolled to its end. It stays at the end when its
// window briefly changes size, as for a banner. After the user has scrolled away, it does not
// return to the end.
func TestThreadStaysAtEnd(t *testing.T) {
	browser.Full(t)
	b := show(t, "thread")
	b.Eval("globalThis.box = document.querySelector('" + sample("thread ten thousand items") + " .thread-scroll')")
	b.Wait("box.innerText.includes('item 9999')")
	for _, taller := range []int{53, -80} {
		b.Eval(fmt.Sprintf(`(async () => {
			const frame = () => new Promise((done) => requestAnimationFrame(done)), all = box.closest(".thread").parentElement, was = all.clientHeight;
			all.style.height = was + %d + "px";
			await frame();
			await new Promise((done) => setTimeout(done)); // the page was drawn, and no scroll event was sent
			all.style.height = was + "px";
			for (let i = 0; i < 4; i++) await frame();
		})()`, taller))
		b.Wait("Math.abs(box.scrollHeight - box.clientHeight - box.scrollTop) < 2 && box.innerText.includes('item 9999')")
	}
	b.Eval("void (box.scrollTop -= 300)")
	b.Wait("__see.all('" + sample("thread ten thousand items") + " .thread-end').length === 1")
	if away, _ := b.Eval("box.scrollHeight - box.clientHeight - box.scrollTop").(float64); away < 200 {
		t.Errorf("after scrolling away the thread is %v from the end", away)
	}
}

func TestTreesAndDiffsOpen(t *testing.T) {
	browser.Full(t)
	b := show(t, "json")
	tree := sample("json an object")
	b.Click(tree + " [role=treeitem]")
	b.Click(tree + " [role=treeitem]")
	b.Eval("document.querySelector('" + tree + " [role=treeitem]').focus()")
	b.Press("ArrowDown", "ArrowDown", "ArrowDown", "ArrowRight")
	b.See(`"Ada"`)
	b.Press("ArrowLeft", "ArrowDown", "ArrowDown", "Enter")
	b.See("150 more of 250")
	b.Click(tree + " input")
	b.Type("needle")
	b.Wait("document.querySelectorAll('" + tree + " mark').length === 1")
	if text := b.Text(tree); !strings.Contains(text, "1 hit") || !strings.Contains(text, "200:") || strings.Contains(text, "4711") {
		t.Errorf("text after the search:\n%s", text)
	}
	turn(b, "diffs")
	if text := b.Text(sample("diffs two files")); strings.Contains(text, "memory: 512Mi") || !strings.Contains(text, "−\nremoved\ttag: 2026.11.3") && !strings.Contains(strings.Join(strings.Fields(text), " "), "− removed tag: 2026.11.3") {
		t.Errorf("text of the diff:\n%s", text)
	}
	b.Click("=5 lines without change: show")
	b.See("memory: 512Mi")
}

// TestTerminalSendsKeys checks that typed keys are sent and that queries in the history get no
// reply. The terminal's colours work under the content security policy.
func TestTerminalSendsKeys(t *testing.T) {
	browser.Full(t)
	b := show(t, "terminal")
	b.Wait("document.querySelector('.xterm-rows')?.innerText.includes('make check')")
	b.Wait("/^\\d+x\\d+$/.test(window.terminal.sized.value)")
	if v := b.Eval("window.terminal.typed.value"); v != "" {
		t.Errorf("replies to queries in the history = %q, want none", v)
	}
	b.Wait("[...document.querySelectorAll('.xterm-rows span')].some((e) => e.textContent === 'true colour')")
	if v := b.Eval("getComputedStyle([...document.querySelectorAll('.xterm-rows span')].find((e) => e.textContent === 'true colour')).color"); v != "rgb(255, 120, 40)" {
		t.Errorf("colour of the terminal text = %v", v)
	}
	b.Click("@terminal")
	b.Type("ls\n")
	b.Press("Escape", "Tab", "ArrowUp", "Ctrl+c")
	b.Wait(`window.terminal.typed.value === "ls\r\u001b\t\u001b[A\u0003"`)
	b.Eval("window.terminal.typed.value = ''")
	b.Click("=Ctrl")
	b.Type("dx")
	b.Click("=Left")
	b.Wait(`window.terminal.typed.value === "\u0004x\u001b[D"`)
	b.Eval(`void window.terminal.write("\u001b[6n")`)
	b.Wait(`window.terminal.typed.value.endsWith("R")`)
}

// TestKeysAlone operates lists, tabs, dialogs and the help by keyboard only.
func TestKeysAlone(t *testing.T) {
	browser.Full(t)
	b := show(t, "lists")
	b.Eval("document.querySelector('[role=option][tabindex=\"0\"]').focus()")
	if got := b.Spoken(":focus"); !strings.Contains(got, "build.go") || !strings.Contains(got, "selected") {
		t.Errorf("focused element of the list = %q", got)
	}
	b.Press("ArrowUp", "Enter")
	b.Wait("document.querySelector('output').textContent === 'a'")
	b.Press("b", "Enter")
	b.Wait("document.querySelector('output').textContent === 'b'")
	b.Press("Tab")
	if got := b.Spoken(":focus"); got != "tab Thread (selected)" {
		t.Errorf("focused element after the list = %q", got)
	}
	b.Press("ArrowRight")
	b.See("Shown: two")
	b.Press("ArrowLeft", "ArrowLeft")
	b.See("Shown: three")
	b.Press("Tab", "Enter")
	b.See("It cannot be undone.")
	if got := b.Spoken(":focus"); got != "button No" {
		t.Errorf("focused element of the dialog = %q", got)
	}
	b.Press("Escape")
	b.WaitAbsent("It cannot be undone.")
	if got := b.Spoken(":focus"); got != "button Ask something" {
		t.Errorf("focused element after the dialog = %q", got)
	}
	b.Press("?")
	b.See("the next one")
	if got := b.Spoken(":focus"); got != "button Close" {
		t.Errorf("focused element of the help = %q", got)
	}
	b.Press("Escape")
	b.WaitAbsent("the next one")
}

// TestGraphIsComplete checks that boxes do not overlap, that names are not cut, and that a screen
// reader gets the same information.
func TestGraphIsComplete(t *testing.T) {
	browser.Full(t)
	b := show(t, "graph")
	wrong := b.Eval(`(() => {
		const nodes = [...document.querySelectorAll(".graph .node")].map((n) => ({ name: n.textContent, box: n.querySelector("rect").getBBox(), texts: [...n.querySelectorAll("text")].map((t) => t.getBBox()) }));
		const out = nodes.length === 10 ? [] : [nodes.length + " nodes"];
		nodes.forEach((m, i) => {
			for (const t of m.texts) if (t.x + t.width > m.box.x + m.box.width - 4) out.push(m.name + " is cut");
			for (const n of nodes.slice(i + 1)) if (m.box.x < n.box.x + n.box.width && n.box.x < m.box.x + m.box.width && m.box.y < n.box.y + n.box.height && n.box.y < m.box.y + m.box.height) out.push(m.name + " lies upon " + n.name);
		});
		return out.join("; ");
	})()`)
	if wrong != "" {
		t.Errorf("errors in the graph: %v", wrong)
	}
	if text := b.Eval("document.querySelector('.graph ul').innerText"); !strings.Contains(text.(string), "agent Critic, now at work, to Notes") {
		t.Errorf("text for screen readers:\n%v", text)
	}
}

// TestNoticesAreAnnounced checks that a notification disappears after some time and that an error
// stays. Both are announced to screen readers.
func TestNoticesAreAnnounced(t *testing.T) {
	browser.Full(t)
	b := show(t, "notices")
	b.Click("=Say that it failed")
	b.Click("=Say that it failed")
	b.See("It failed: <img src=x")
	if n := b.Count(".toast"); n != 1 {
		t.Errorf("number of toasts with the same text = %d", n)
	}
	if got := b.Spoken(".toast"); !strings.HasPrefix(got, "alert") {
		t.Errorf("announced error = %q", got)
	}
	b.Click("=Close this notification")
	b.WaitAbsent("It failed")
	b.Click("=Announce")
	b.Wait("document.querySelector('[aria-live=polite]').textContent === 'New request of claude'")
	b.Click("=Announce at once")
	b.Wait("document.querySelector('[aria-live=assertive]').textContent === 'Now'")
}

// TestPictures compares pictures of some states with their goldens.
func TestPictures(t *testing.T) {
	browser.Full(t)
	b := show(t, "approval")
	small, still := browser.Phone, browser.Light
	small.Scale, still.ReducedMotion = 1, true
	for _, p := range []struct {
		name, part, state string
		device            browser.Device
		theme             browser.Theme
	}{
		{"approval-file-phone-light", "approval", "a file", small, still},
		{"approval-waiting-desk-contrast", "approval", "waiting to send", browser.Desk, browser.Contrast},
		{"elements-desk-dark", "elements", "marks", browser.Desk, browser.Dark},
		{"graph-desk-dark", "graph", "a program's structure", browser.Desk, browser.Dark},
		{"source-desk-dark", "source", "a program", browser.Desk, browser.Dark},
	} {
		b.Emulate(p.device, p.theme)
		b.Eval("location.hash = encodeURIComponent(\"" + p.part + "/" + p.state + "\")") // shows the state alone, so that no other part moves it
		b.Wait("document.querySelectorAll('[data-sample]').length === 1 && document.querySelector('[data-sample]').dataset.sample === \"" + p.part + " " + p.state + "\" && !document.querySelector('[data-testid][aria-disabled=true]:not([aria-describedby])')")
		b.Golden(p.name, sample(p.part+" "+p.state))
	}
}

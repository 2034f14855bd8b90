package main

import (
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/tools/browser"
)

// desk is a screen with room for the lists of pages and headings.
var desk = browser.Device{Name: "desk", Width: 1440, Height: 900, Scale: 1}

// TestLists uses the lists of pages and headings on a desk: the theme of the page is open, a theme
// opens by keyboard, and the contents at the right lead to the sections and mark the one that is
// read.
func TestLists(t *testing.T) {
	browser.Need(t)
	b := browser.Open(t)
	b.Emulate(desk, browser.Light)
	b.Go(serve(t, "", siteFiles(t)) + "/manual/08-hosts.html")
	const open = `[...document.querySelectorAll(".side details details[open] > summary")].map((s) => s.textContent).join()`
	if got := b.Eval(open); got != "The language" {
		t.Errorf("the open themes are %v", got)
	}
	if got := b.Text(".side [aria-current=page]"); got != "8. Hosts" {
		t.Errorf("the current page is %q", got)
	}
	if n := b.Count(".side details details"); n < 8 {
		t.Errorf("the manual has %d themes", n)
	}
	if got := b.Eval(`document.querySelector(".contents").getBoundingClientRect().left >= document.querySelector("article").getBoundingClientRect().right`); got != true {
		t.Error("the contents are not at the right of the text")
	}
	b.Axe()
	b.Eval(`[...document.querySelectorAll(".side summary")].find((s) => s.textContent === "Many agents").focus()`)
	b.Press("Enter")
	if got := b.Eval(open); got != "The language,Many agents" {
		t.Errorf("after Enter, the open themes are %v", got)
	}
	b.Axe()
	b.Click(`.contents a[href="#permissions"]`)
	b.Wait(`location.hash === "#permissions" && document.querySelector(".contents [data-current]").textContent === "Permissions"`)
	b.Eval(`scrollTo(0, 0)`)
	b.Wait(`document.querySelector(".contents [data-current]").textContent === document.querySelector(".contents a").textContent`)
	b.Eval(`[...document.querySelectorAll(".side a")].find((a) => a.textContent === "43. Merging").click()`)
	b.Wait(`document.readyState === "complete" && location.pathname.endsWith("/manual/43-merging.html")`)
	if got := b.Eval(open); got != "Many agents" {
		t.Errorf("on the page of another theme, the open themes are %v", got)
	}
}

// TestEveryPageIsInAList checks that the list of each section, and so its sidebar, has all its
// pages, and that chapters have themes.
func TestEveryPageIsInAList(t *testing.T) {
	s, err := read(root, "1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	for _, sec := range s.sections {
		themes := s.themesOf(sec)
		if sec.Name == "more" { // it has no list
			continue
		}
		if n := len(themes[0].pages); themes[0].name != "" || themes[0].pages[0] != sec.Pages[0] || len(themes) > 1 && n > 1 {
			t.Errorf("%s: %d pages have no theme: %v", sec.Name, n, titlesOf(themes[0].pages))
		}
		if (sec.Name == "manual" || sec.Name == "examples" || sec.Name == "cookbook" || sec.Name == "diagnostics") && len(themes) < 5 {
			t.Errorf("%s has %d themes", sec.Name, len(themes))
		}
	}
}

func titlesOf(pages []*page) (all []string) {
	for _, p := range pages {
		all = append(all, p.Title)
	}
	return all
}

// TestPhone uses a page on a phone: the navigation has one row, the lists are closed, nothing is
// wider than the screen, and an entry of the contents closes them.
func TestPhone(t *testing.T) {
	browser.Need(t)
	b := browser.Open(t)
	b.Emulate(browser.Phone, browser.Light)
	address := serve(t, "", siteFiles(t))
	for _, name := range []string{"/index.html", "/manual/08-hosts.html", "/manual/50-agents.html", "/cookbook/index.html"} {
		b.Go(address + name)
		if rows := b.Eval(`new Set([...document.querySelectorAll(".top nav a")].map((a) => a.getBoundingClientRect().top)).size`); rows != 1.0 {
			t.Errorf("%s: the navigation has %v rows", name, rows)
		}
		if got := b.Eval(`document.documentElement.scrollWidth`); got != 390.0 {
			t.Errorf("%s is %v pixels wide", name, got)
		}
		if n := b.Count(".side > details[open], .contents > details[open]"); n > 0 {
			t.Errorf("%s: %d lists are open", name, n)
		}
	}
	b.Eval(`document.querySelector(".top nav a[aria-current]").textContent === "Cookbook" || (() => { throw new Error("another part is current") })()`)
	if got := b.Eval(`(() => { const r = document.querySelector(".top nav a[aria-current]").getBoundingClientRect(); return r.left >= 0 && r.right <= innerWidth })()`); got != true {
		t.Error("the current part of the site is not visible in the navigation")
	}
	b.Go(address + "/manual/08-hosts.html")
	b.Axe()
	b.Tap(".contents summary")
	b.Wait(`document.querySelector(".contents > details").open`)
	b.Axe()
	b.Tap(`.contents a[href="#permissions"]`)
	b.Wait(`location.hash === "#permissions" && !document.querySelector(".contents > details").open`)
}

// TestCopy copies code by keyboard. Of a terminal, only the commands are copied, and output has no
// button.
func TestCopy(t *testing.T) {
	browser.Need(t)
	b := browser.Open(t)
	b.Go(serve(t, "", siteFiles(t)) + "/guide/10-deploy.html")
	b.Eval(`navigator.clipboard.writeText = async (text) => { if (window.denied) throw new Error("denied"); window.copied = text; }`)
	b.Eval(`document.querySelector(".code pre[data-word=console] + button").focus()`)
	if got := b.Spoken(":focus"); got != "button Copy this code" {
		t.Errorf("the button is %q", got)
	}
	b.Press("Enter")
	b.Wait(`document.activeElement.getAttribute("aria-label") === "Copied"`)
	shown := b.Text(".code pre[data-word=console]")
	copied := b.Eval("copied").(string)
	if copied == "" || strings.Contains(copied, "$ ") || !strings.Contains(shown, "$ "+strings.SplitN(copied, "\n", 2)[0]) {
		t.Errorf("copied %q from\n%s", copied, shown)
	}
	b.Eval(`window.denied = true; document.querySelector(".code pre[data-word=toml] + button, .code pre[data-word=concerto] + button").click()`)
	b.Wait(`document.querySelector('.copy[aria-label="Not copied"]') !== null`)
	if n := b.Eval(`[...document.querySelectorAll(".caption")].filter((c) => c.textContent === "Output" && c.nextElementSibling.matches(".code")).length`); n != 0.0 {
		t.Errorf("%v outputs have a button", n)
	}
	b.Axe()
}

// TestExcerpts checks that results have an excerpt of their passage with the words of the query,
// also in a page that is opened as a file.
func TestExcerpts(t *testing.T) {
	browser.Need(t)
	b := browser.Open(t)
	b.Emulate(desk, browser.Light)
	b.Go(serve(t, "", siteFiles(t)) + "/index.html")
	for query, want := range map[string]string{"merge queue": "merg", "max_cost_usd": "max_cost_usd", "approvals on a phone": "approv"} {
		b.Eval(`document.querySelector("#search").value = ""`)
		b.Click("@search")
		b.Type(query)
		b.Wait(`document.querySelectorAll("[data-testid=search-results] mark").length > 0`)
		marked := b.Eval(`[...document.querySelectorAll("[data-testid=search-results] mark")].map((m) => m.textContent.toLowerCase()).join(" ")`).(string)
		if !strings.Contains(marked, want) {
			t.Errorf("%s: the excerpts mark %q", query, marked)
		}
		if got := b.Eval(`Math.max(...[...document.querySelectorAll(".excerpt")].map((e) => e.textContent.length))`).(float64); got > 200 {
			t.Errorf("%s: an excerpt has %v characters", query, got)
		}
		if got := b.Text("@search-count"); !strings.HasSuffix(got, " results") {
			t.Errorf("%s: the number of results is announced as %q", query, got)
		}
		b.Axe()
		b.Press("Escape")
	}
}

// askingPlayground asks one question, and prints its answer. It downloads something.
const askingPlayground = `<!DOCTYPE html><html lang="en"><head><title>Fake</title></head><body><script>
let view, answered;
const now = { status: { state: "ready" }, output: [], asks: [], loaded: "2.0 of 4.1 MB" };
const set = (change) => { Object.assign(now, change); view?.(now); };
window.playground = {
	ready: new Promise((resolve) => (window.begin = resolve)), put() { set({ output: [] }); }, stop() {},
	watch(f) { view = f; f(now); return () => (view = undefined); },
	answer(number, value) { set({ asks: [], status: { state: "running" } }); answered(value); },
	async run() {
		set({ status: { state: "waiting" }, output: [{ kind: "stdout", text: "tests pass\n" }], asks: [parent.question] });
		const value = await new Promise((resolve) => (answered = resolve));
		return { code: 0, stdout: "tests pass\n" + value, stderr: "" };
	} };
</script></body></html>`

// TestAnswerInPage answers the questions of a sample in the page: an approval by its buttons, and a
// question by a field. Before that, the page shows how much of the playground is loaded.
func TestAnswerInPage(t *testing.T) {
	browser.Need(t)
	files := map[string][]byte{}
	for name, data := range siteFiles(t) {
		files[name] = data
	}
	files["playground/index.html"] = []byte(askingPlayground)
	b := browser.Open(t)
	b.Go(serve(t, "", files) + "/index.html")
	if n := b.Count("iframe"); n != 0 {
		t.Error("the page loads the playground before a sample runs")
	}
	b.Eval(`window.question = { number: 1, prompt: "Coder requests approval: git push", choices: [["yes", "Approve"], ["no", "Deny"]], closed: true }`)
	b.Click("@run-sample")
	b.See("2.0 of 4.1 MB")
	b.Eval(`document.querySelector("iframe").contentWindow.begin()`)
	b.See("The program waits for your answer.")
	b.See("Coder requests approval: git push")
	if out := b.Text("@sample-output"); out != "tests pass\n" {
		t.Errorf("before the answer, the output is %q", out)
	}
	if got := b.Spoken(":focus"); got != "button Deny" {
		t.Errorf("the focus is on %q", got)
	}
	b.Axe()
	b.Press("Shift+Tab")
	b.Press("Enter")
	b.See("Done.")
	if out := b.Text("@sample-output"); out != "tests pass\nyes" {
		t.Errorf("the output is %q", out)
	}
	b.WaitAbsent("Coder requests approval: git push")
	b.Eval(`window.question = { number: 1, prompt: "[who] your name?" }`)
	b.Click("@run-sample")
	b.See("[who] your name?")
	b.Axe()
	b.Type("Ada")
	b.Press("Enter")
	b.See("Done.")
	if out := b.Text("@sample-output"); out != "tests pass\nAda" {
		t.Errorf("the output is %q", out)
	}
}

// TestHome supervises the agent of the first page with the site's playground: rules and an agent
// decide, then the user denies the push, and in a second run approves it.
func TestHome(t *testing.T) {
	browser.Full(t)
	browser.Need(t)
	files, err := buildSite(playgroundDir(t))
	if err != nil {
		t.Fatal(err)
	}
	b := browser.Open(t)
	b.Go(serve(t, "", files) + "/index.html")
	if n := b.Eval(`[...document.querySelectorAll("article img")].filter((i) => i.complete && i.naturalWidth > 300 && i.alt.length > 20).length`); n != 2.0 {
		t.Errorf("%v pictures are shown", n)
	}
	for _, choice := range []struct{ label, result string }{{"Deny", "[result] Fixed the rounding; the branch is not pushed."}, {"Approve", "[result] Fixed the rounding and pushed the branch."}} {
		b.Click("@run-sample")
		b.See("Coder requests approval: Run a command: git push origin fix-rounding")
		out := b.Text("@sample-output") + b.Text("@sample-errors")
		for _, line := range []string{"[host:decided] Coder: allowed: Bash: go test ./invoice", "[host:decided] Coder: denied: Read .env", "[lead] Round half up, or half to even? Half to even, as the tax office does."} {
			if !strings.Contains(out, line) {
				t.Errorf("the output before the approval has no %s:\n%s", line, out)
			}
		}
		b.Eval(`[...document.querySelectorAll(".questions button")].find((x) => x.textContent === "` + choice.label + `").click()`)
		b.See("Done.")
		if out := b.Text("@sample-output"); !strings.Contains(out, choice.result) {
			t.Errorf("after %s, the output is\n%s", choice.label, out)
		}
	}
}

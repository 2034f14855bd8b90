package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/playground/server"
	"github.com/concerto-lang/concerto/tools/browser"
	"github.com/concerto-lang/concerto/tools/playground/samples"
)

// half sends half of a file, and the rest after release.
type half struct {
	http.ResponseWriter
	size    int
	release chan struct{}
}

func (h *half) Write(b []byte) (int, error) {
	if h.size -= len(b); h.size > 0 {
		return h.ResponseWriter.Write(b)
	}
	http.NewResponseController(h.ResponseWriter).Flush()
	<-h.release
	h.size = 1 << 40
	return h.ResponseWriter.Write(b)
}

// TestProgress shows how much of the module is loaded, while no program can run.
func TestProgress(t *testing.T) {
	browser.Need(t)
	dir, err := built()
	if err != nil {
		t.Fatal(err)
	}
	playground, err := server.New(dir, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	release := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, ".wasm") {
			w = &half{w, 10 << 20, release}
		}
		playground.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	b := browser.Open(t)
	b.Go(s.URL + "/")
	b.Wait(`document.querySelector("progress")?.value > 5e6`)
	if got := b.Text("@loaded"); !strings.HasSuffix(got, " MB") || !strings.Contains(got, ".") {
		t.Errorf("the progress is %q", got)
	}
	if got := b.Eval(`document.querySelector("progress").max > 2e7 && document.querySelector("[data-testid=run]").disabled`); got != true {
		t.Error("while the module loads, a program can run, or the total is unknown")
	}
	b.See("Press Run, or Control Enter")
	b.Axe()
	close(release)
	awaitState(b, "ready")
	if n := b.Count("progress") + b.Count("@loaded"); n != 0 {
		t.Error("the progress remains")
	}
}

// TestStart reads what to do before the first run, chooses an example by keyboard, and checks that
// the output of an earlier run does not remain with errors.
func TestStart(t *testing.T) {
	b, _ := visit(t, nil)
	b.See("One agent that answers one question.")
	b.Axe()
	for _, label := range []string{"About this example", "The guide", "The manual"} {
		if got := b.Eval(`[...document.querySelectorAll(".empty a")].find((a) => a.textContent === "` + label + `")?.href`); got == nil || !strings.HasPrefix(got.(string), "https://github.com/") {
			t.Errorf("the link %s leads to %v", label, got)
		}
	}
	b.Eval(`[...document.querySelectorAll(".empty button")].find((x) => x.textContent === "coder").focus()`)
	b.Press("Enter")
	b.See("A recording plays the host.")
	b.Wait(`document.querySelector("[data-testid=examples]").value === "coder"`)
	b.Axe()
	b.Eval("playground.put({'main.conc': 'fn main() { println(\"old\"); }'})")
	b.Click("@run")
	awaitState(b, "done")
	if n := b.Count("@empty"); n != 0 || b.Text("@output") != "old\n" {
		t.Errorf("the output is %q with %d texts that explain the start", b.Text("@output"), n)
	}
	b.Click(".code-editor textarea, .code-editor [contenteditable]")
	selectAll(b)
	b.Paste("fn main() { println(1 }")
	b.Click("@run")
	awaitState(b, "failed")
	if got := b.Text("@output"); strings.Contains(got, "old") {
		t.Errorf("with errors, the output is %q", got)
	}
	b.Axe()
}

// TestExamplesRun runs each example that the page offers. Recordings play the hosts; the test
// approves, and answers questions. Where these answers are not those of want.txt, the last line
// differs.
func TestExamplesRun(t *testing.T) {
	offered, err := samples.Offered("../..")
	if err != nil {
		t.Fatal(err)
	}
	b, _ := visit(t, nil)
	var names []string
	for _, x := range offered {
		if x.About == "" {
			continue
		}
		names = append(names, x.Name)
		if x.Group == "" || x.Page != "examples/"+x.Name {
			t.Errorf("%s has the theme %q and the page %q", x.Name, x.Group, x.Page)
		}
		b.Eval(`(() => { const s = document.querySelector("[data-testid=examples]"); s.value = "` + x.Name + `"; s.dispatchEvent(new Event("change", { bubbles: true })); })()`)
		r := evaluate[result](t, b, `(async () => {
			const answers = { "[when] When does 0.2 go out?": "now" };
			let played = false;
			const end = playground.watch((now) => {
				played ||= now.status.text.startsWith("waiting for host");
				for (const a of now.asks) queueMicrotask(() => playground.answer(a.number, a.prompt in answers ? answers[a.prompt] : a.closed ? "yes" : /when/i.test(a.prompt) ? "now" : "yes"));
			});
			const r = await playground.run();
			end();
			return played ? { ...r, Stderr: "a user had to play a host", code: 9 } : r;
		})()`)
		if r.Code != 0 {
			t.Errorf("%s: exit code %d\n%s\n%s", x.Name, r.Code, r.Stdout, r.Stderr)
		}
		want, err := os.ReadFile("../../examples/" + x.Name + "/want.txt")
		if err != nil {
			t.Fatal(err)
		}
		if lines := strings.Split(strings.TrimSpace(string(want)), "\n"); !slices.Contains([]string{"coder", "relay"}, x.Name) && !strings.Contains(r.Stdout, lines[len(lines)-1]) {
			t.Errorf("%s does not print %s:\n%s", x.Name, lines[len(lines)-1], r.Stdout)
		}
	}
	if want := []string{"hello", "extract", "advisor", "tools", "coder", "supervise", "pipeline", "relay", "durable", "tasks", "engine"}; !slices.Equal(names, want) {
		t.Errorf("the offered examples are %v, want %v", names, want)
	}
}

// TestPlayYourself plays the host of an example instead of its recording.
func TestPlayYourself(t *testing.T) {
	b, _ := visit(t, nil)
	b.Eval(`(() => { const s = document.querySelector("[data-testid=examples]"); s.value = "coder"; s.dispatchEvent(new Event("change", { bubbles: true })); })()`)
	b.Click("@by-hand")
	b.Click("@run")
	awaitState(b, "waiting")
	b.See("You play the hosts")
	b.Axe()
	b.Wait(`document.querySelector("[data-testid=host-log]").textContent.includes("Fix the failing test")`)
	b.Click("@host-message")
	selectAll(b)
	message, err := json.Marshal(map[string]any{"type": "approval", "id": "x", "description": "rm -rf /"})
	if err != nil {
		t.Fatal(err)
	}
	b.Paste(string(message))
	b.Click("@host-send")
	b.See("Coder requests approval: rm -rf /")
	b.Axe()
	b.Eval(`[...document.querySelectorAll("[data-testid=answer-choice]")].find((x) => x.textContent === "Deny").click()`)
	b.Wait(`document.querySelector("[data-testid=host-log]").textContent.includes('"answer_to":"x"')`)
	b.Click("@stop")
	b.Click("@by-hand")
	b.Click("@run")
	b.See("Coder requests approval: Run a command: git push origin fix-rounding")
	b.Wait(`document.activeElement.textContent === "Deny"`)
	b.Press("Enter")
	awaitState(b, "done")
	if got := b.Text("@output"); !strings.Contains(got, "the branch is not pushed") {
		t.Errorf("the output is %q", got)
	}
}

// TestRunOnPhone checks that a run scrolls to its output on a phone.
func TestRunOnPhone(t *testing.T) {
	b, _ := visit(t, nil)
	b.Emulate(browser.Phone, browser.Light)
	b.Eval(`scrollTo(0, 0)`)
	b.Axe()
	b.Tap("@run")
	awaitState(b, "done")
	b.Wait(`(() => { const r = document.querySelector("[data-testid=output]").getBoundingClientRect(); return r.top >= 0 && r.top < innerHeight - 80 })()`)
	if got := b.Eval(`document.documentElement.scrollWidth`); got != 390.0 {
		t.Errorf("the page is %v pixels wide", got)
	}
}

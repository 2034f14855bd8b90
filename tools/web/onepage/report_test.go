package onepage

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/engine/report"
	"github.com/concerto-lang/concerto/internal/engine/report/page"
	"github.com/concerto-lang/concerto/internal/record/event/fleet"
	"github.com/concerto-lang/concerto/internal/record/ledger"
	"github.com/concerto-lang/concerto/tools/browser"
)

func text(s string) json.RawMessage {
	out, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return out
}

// sampleReport is a report of a run with an agent, a host that asks and is denied, and a failure.
// Its texts contain markup.
func sampleReport(t *testing.T) *report.Report {
	t.Helper()
	seconds := func(s float64) *float64 { return &s }
	started, exit := "2026-03-01T08:00:00Z", 1
	drawn, err := sample().MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	source := "agent Judge uses rules {}\n// </script><script>alert(1)</script>\nfn main() {\n    listen Coder.execute(task) {}\n}\n"
	r := &report.Report{
		Version: report.Version, Graph: drawn, Gaps: []string{"journal damaged: 4 records <skipped>"},
		Files: []report.File{{Name: "main.conc", Text: source}, {Name: "other.conc", Text: "fn rest() {}\n"}},
		Run: report.Run{ID: "r_abc", Program: "<b>demo</b>", Source: report.FromRun, State: "failed", Exit: &exit, Started: &started, Ended: &started, Seconds: seconds(9),
			Args: []string{"--fast"}, Env: []string{"HOME"}, Flags: []string{}, Version: "1.0.0"},
	}
	add := func(kind, name string, parent int, at string, start, end float64, status string) *report.Item {
		x := &report.Item{N: len(r.Items) + 1, Kind: kind, Name: name, Task: 1, Start: seconds(start), End: seconds(end), Status: status}
		if parent > 0 {
			x.Parent = &parent
		}
		if at != "" {
			x.At = &at
		}
		r.Items = append(r.Items, x)
		return x
	}
	add("run", "main", 0, "", 0, 9, "failed")
	add("agent", "Judge", 1, "main.conc:4:5", 1, 3, "ok").Texts = report.Texts{Prompt: text("Is <i>this</i> safe?"), Reply: text("yes")}
	model := add("model", "Judge", 2, "main.conc:4:5", 1, 3, "ok")
	model.Details = report.Details{Connection: "rules", Model: "m"}
	model.Texts.Reply = text("yes")
	exchange := add("exchange", "Coder", 1, "main.conc:4:5", 3, 8, "ok")
	exchange.Details.Host, exchange.Texts = "Coder", report.Texts{Prompt: text("write a test"), Result: text("done")}
	approval := add("approval", "approval", 4, "main.conc:4:5", 4, 5, "ok")
	approval.Details = report.Details{Host: "Coder", Type: "approval", Actor: "handler", Wait: seconds(1)}
	approval.Texts = report.Texts{Request: json.RawMessage(`{"tool":"shell","args":{"command":"rm -rf build"}}`), Answer: json.RawMessage(`{"decision":"deny","reason":"keep it"}`)}
	approval.Cut = map[string]int{"request": 70000}
	add("emit", "note", 5, "main.conc:4:9", 4, 4, "ok").Texts.Payload = text("denied\u202e it")
	add("print", "", 1, "main.conc:4:5", 8, 8, "ok").Texts.Text = text("<script>alert(2)</script>")
	failed := add("error", "", 1, "main.conc:4:5", 9, 9, "failed")
	failed.Error, failed.Texts.Message, failed.Details.Last = "no <way>", text("no <way>"), []int{5}
	failed.Details.Cause = []report.Cause{{Kind: "HostError", Message: "gone"}}
	for i, text := range []string{"begun", "half done"} {
		x := add("message", "progress", 4, "main.conc:4:5", 5, 5, "ok")
		x.Details.Type, x.Details.Percent = "progress", seconds(float64(50*i))
		x.Texts.Text = json.RawMessage(fmt.Sprintf(`{"message":%q}`, text))
	}
	handler := "main.conc:4:5: listen Coder.execute(task) {}"
	r.Decisions = []report.Decision{{Item: 5, Request: approval.Texts.Request, Answer: approval.Texts.Answer, Actor: ledger.Part{Type: "agent", Name: "Judge", At: "main.conc:4:5"}, Wait: seconds(1), Source: &handler}}
	usd := json.RawMessage("0.25")
	r.Totals = report.Totals{
		All: report.Total{Calls: 1, TokensIn: 10, TokensOut: 5, Cost: usd}, Used: report.Total{Calls: 2, TokensIn: 10, TokensOut: 5, Cost: usd}, Models: []report.Total{{Key: report.Key{Connection: "rules", Model: "m"}, Calls: 1, Cost: usd}},
		Lines: []report.Total{{Key: report.Key{At: "main.conc:4"}, Calls: 5, Cost: usd, Seconds: 7}},
	}
	return r
}

// write writes the page of a report to a file, and returns its path and its size.
func write(t testing.TB, r *report.Report) (string, int) {
	t.Helper()
	var out bytes.Buffer
	if err := page.Write(&out, r); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "report.html")
	if err := os.WriteFile(path, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path, out.Len()
}

const isReady = `document.documentElement.dataset.ready === "1"`

func openReport(t *testing.T, r *report.Report, hash string) *browser.Tab {
	t.Helper()
	browser.Need(t)
	path, _ := write(t, r)
	b := browser.Open(t)
	b.Go("file://" + path + hash)
	b.Wait(isReady)
	return b
}

// TestReportPage reads each section of a report, and selects items in each way. The browser's
// log must be empty: the page loads nothing, and violates no policy.
func TestReportPage(t *testing.T) {
	b := openReport(t, sampleReport(t), "")
	if got := b.Text("h1"); got != "<b>demo</b>: Is <i>this</i> safe?" {
		t.Errorf("title %q", got)
	}
	if got := b.Eval(`[...document.querySelectorAll("main > section")].map((s) => s.id + ":" + document.getElementById(s.getAttribute("aria-labelledby")).tagName).join(" ")`); got !=
		"summary:H2 timeline:H2 conversation:H2 decisions:H2 output:H2 errors:H2 usage:H2 source:H2 program:H2" {
		t.Errorf("sections %v", got)
	}
	if n := b.Count("main script, h1 b"); n != 0 {
		t.Errorf("the texts of the run have become %d elements", n)
	}
	for place, wants := range map[string][]string{
		"#summary":      {"journal damaged: 4 records <skipped>", "failed", "2026-03-01 08:00:00 UTC", "9.000 s duration", "r_abc", "$0.25 cost", "1 denied", "1 error", "Stopped by: no <way>", "HOME"},
		"#conversation": {"agent Judge: 1 conversation", "Is <i>this</i> safe?", "reply of rules/m", "host Coder: 1 conversation", "Run a command", `rm -rf build`, "Denied by handler: keep it", "half done", "done"},
		"#decisions":    {"Run a command (Coder): Denied by handler: keep it (agent Judge) after 1.000 s at main.conc:4:5", "rm -rf build"},
		"#output":       {"emit note", "denied⟦U+202E⟧ it", "<script>alert(2)</script>"},
		"#errors":       {"error: no <way> at main.conc:4:5", "listen Coder.execute(task) {}"},
		"#usage":        {"rules/m", "$0.25"},
		"#source":       {"5× 7.000 s $0.25     4      listen Coder", "</script><script>alert(1)</script>"},
		"#program":      {"Select a node"},
	} {
		got := b.Text(place)
		for _, want := range wants {
			if !strings.Contains(got, want) {
				t.Errorf("%s lacks %q:\n%s", place, want, got)
			}
		}
	}
	if got := b.Eval(`[...document.querySelectorAll("#conversation summary")].map((s) => s.textContent.trim()).join("|")`); got != "agent Judge: 1 conversation|host Coder: 1 conversation|half done 50 %" {
		t.Errorf("summaries %v", got)
	}
	if got := b.Eval(`document.querySelector("#summary time").title`); got == "" {
		t.Error("the time has no local time")
	}
	if got := b.Eval(`[...document.querySelectorAll("main button")].filter((x) => x.offsetParent).map((x) => x.textContent).join(" ").includes("more")`); got != false {
		t.Error("a button offers more entries, but there are none")
	}
	b.Axe()
	for _, theme := range []browser.Theme{browser.Dark, browser.Contrast} {
		b.Emulate(browser.Phone, theme)
		b.Axe()
		if got := b.Eval(`document.documentElement.scrollWidth - document.documentElement.clientWidth`); got != 0.0 {
			t.Errorf("on a phone the page is %v pixels too wide", got)
		}
	}
	b.Emulate(browser.Desk, browser.Light)

	b.Click(`[role=grid] tbody tr:nth-child(5)`)
	b.Wait(`location.hash === "#item-5"`)
	detail := b.Text("#detail")
	for _, want := range []string{"Item 5: approval", "Parent", "exchange Coder", "Children", "emit note", "Answer", "rm -rf build", "request: 70000 bytes originally", "2026-03-01 08:00:04.000 UTC", "Source", "4      listen"} {
		if !strings.Contains(detail, want) {
			t.Errorf("the details lack %q:\n%s", want, detail)
		}
	}
	b.Axe()
	b.Click(`#detail a[href="#item-6"]`)
	b.Wait(`document.querySelector("#detail h3").textContent === "Item 6: emit note"`)
	if got := b.Eval(`[...document.querySelectorAll("#detail dt")].find((x) => x.textContent === "Cause").nextElementSibling.textContent`); got != "approval" {
		t.Errorf("cause %q", got)
	}
	b.Eval(`history.back()`)
	b.Wait(`document.querySelector("#detail h3").textContent === "Item 5: approval"`)
	b.Click(`#errors a[href="#item-8"]`)
	b.Wait(`document.querySelector("#detail").textContent.includes("HostError")`)
	b.Click(`#program .node[data-id^="host:"]`)
	b.Wait(`document.querySelector("#about h3")?.textContent.startsWith("host ")`)
}

// TestReportOfFleet checks the table of a fleet, what items about calls and events of the runtime
// show, and that a conversation does not repeat such events.
func TestReportOfFleet(t *testing.T) {
	r := sampleReport(t)
	since := 4.5
	r.Fleet = &report.Fleet{Tasks: []report.FleetTask{{Task: "done", Agent: "A", State: "merged", Cost: json.RawMessage("0.25"), Last: "All <i>tests</i> pass."},
		{Task: "other", Agent: "B", State: "failed", Note: "red", Since: &since, Cost: json.RawMessage("null")}}, Queues: []fleet.Queue{{Name: "main", QueueState: effect.QueueState{Merged: 1, Failed: 1}}}}
	exchange := 4
	call := &report.Item{N: len(r.Items) + 1, Kind: "message", Name: "progress", Parent: &exchange, Status: "ok", Details: report.Details{Type: "progress", Host: "Coder", Workspace: "fix"}}
	call.Texts.Text = json.RawMessage(`{"message":"Bash: go test","stage":"tool","payload":{"message":{"content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"go test"}}]}}}`)
	event := &report.Item{N: call.N + 1, Kind: "emit", Name: "host:blocked", Parent: &exchange, Status: "ok", Details: report.Details{Channel: "host:blocked"}}
	event.Texts.Payload = json.RawMessage(`{"host":"Coder","address":"evil.example:443"}`)
	r.Items = append(r.Items, call, event)
	b := openReport(t, r, "")
	if got, want := b.Text("#fleet table"), "Task\tAgent\tState\tSince\tCost\tLast line\nother\tB\tfailed red\t4.500 s\t\t\ndone\tA\tmerged\t\t$0.25\tAll <i>tests</i> pass."; got != want {
		t.Errorf("the table of the fleet is %q, want %q", got, want)
	}
	for place, want := range map[string]int{"#rows": 1, "#conversation": 1} {
		if n := strings.Count(b.Text(place), "Run a command · go test") + strings.Count(b.Text(place), "Run a command go test"); n != want {
			t.Errorf("%s shows the call %d times, want %d:\n%s", place, n, want, b.Text(place))
		}
	}
	if n := strings.Count(b.Text("#rows"), "Coder: blocked: evil.example:443") - strings.Count(b.Text("#conversation"), "evil.example"); n != 1 {
		t.Errorf("the event is not shown once, in the table of items")
	}
	b.Axe()
}

// TestReportPictures compares pictures of the page.
func TestReportPictures(t *testing.T) {
	b := openReport(t, sampleReport(t), "#item-5")
	for _, theme := range []browser.Theme{browser.Light, browser.Dark, browser.Contrast} {
		b.Emulate(browser.Desk, theme)
		b.Golden("report-"+theme.Name, "#timeline")
	}
	b.Emulate(browser.Phone, browser.Light)
	b.Golden("report-phone", "#timeline")
}

// TestReportKeys uses the page with the keyboard only.
func TestReportKeys(t *testing.T) {
	b := openReport(t, sampleReport(t), "#item-3")
	b.Wait(`document.querySelector("#detail h3").textContent === "Item 3: model Judge"`)
	b.Press("Tab")
	if got := b.Eval(`document.activeElement.textContent`); got != "Skip to the summary" {
		t.Errorf("the first tab stop is %q", got)
	}
	const rows = `document.querySelector("[role=grid]").getAttribute("aria-rowcount") + ":" + [...document.querySelectorAll("[role=grid] tbody tr")].map((r) => r.cells[0].textContent).join(",")`
	for _, c := range []struct{ query, rows string }{
		{"kind:approval", "1:5"}, {"status:failed", "3:1,5,8"}, {"agent:Judge", "2:2,3"}, {"host:coder", "5:4,5,6,9,10"}, {"host:Coder kind:emit", "1:6"}, {"SAFE", "1:2"}, {"nothing-like-this", "0:"}, {"", "10:1,2,3,4,5,6,7,8,9,10"},
	} {
		b.Eval(`document.getElementById("search").focus(); document.getElementById("search").select()`)
		b.Press("Backspace")
		b.Type(c.query)
		if !b.Soon(fmt.Sprintf(`%s === %q`, rows, c.rows)) {
			t.Errorf("%s: rows %v, want %s", c.query, b.Eval(rows), c.rows)
		}
		found := c.rows[:strings.IndexByte(c.rows, ':')] + " found"
		if c.query == "" {
			found = ""
		}
		if got := b.Text("#found"); got != found {
			t.Errorf("%s: %q, want %q", c.query, got, found)
		}
	}
	b.Eval(`document.querySelector("[role=grid]").focus()`)
	for _, key := range []string{"Home", "ArrowDown", "ArrowDown", "ArrowUp"} {
		b.Press(key)
	}
	if got := b.Eval(`document.querySelector("[role=grid]").getAttribute("aria-activedescendant")`); got != "item-2" {
		t.Errorf("the current row is %v", got)
	}
	b.Press("Enter")
	b.Wait(`document.querySelector("#detail h3").textContent === "Item 2: agent Judge"`)

	b.Eval(`document.querySelector("canvas").focus()`)
	b.Press("ArrowRight")
	b.Press("Enter")
	b.Wait(`document.querySelector("#detail h3").textContent === "Item 3: model Judge"`)
	b.Press("ArrowDown")
	b.Press("Enter")
	b.Wait(`document.querySelector("#detail h3").textContent === "Item 4: exchange Coder"`)
	picture := func() any {
		return b.Eval(`new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(document.querySelector("canvas").toDataURL()))))`)
	}
	for _, key := range []string{"+", "-", "+", "0"} {
		before := picture()
		b.Press(key)
		if picture() == before {
			t.Errorf("key %s changes nothing", key)
		}
	}
	b.Axe()
}

// TestReportPrint checks that print has all sections, and the first 1,000 items.
func TestReportPrint(t *testing.T) {
	r := sampleReport(t)
	for len(r.Items) < 1234 {
		x := *r.Items[6]
		x.N = len(r.Items) + 1
		r.Items = append(r.Items, &x)
	}
	b := openReport(t, r, "")
	b.Print(true)
	b.Wait(`document.querySelectorAll("[role=grid] tbody tr").length === 1000`)
	if got := b.Text(".others.print"); got != "and 234 more items" {
		t.Errorf("print states %q", got)
	}
	if got := b.Eval(`getComputedStyle(document.querySelector("#lanes")).display + document.querySelectorAll("details:not([open])").length`); got != "block0" {
		t.Errorf("in print the timeline and the number of closed sections are %v", got)
	}
	if !strings.Contains(b.Text("#source"), "fn rest()") {
		t.Error("in print a source file is missing")
	}
	b.Print(false)
	b.Wait(`document.querySelectorAll("[role=grid] tbody tr").length < 100`)
}

// long returns a report of n items.
func long(t testing.TB, r *report.Report, n int) *report.Report {
	t.Helper()
	for i := len(r.Items); i < n; i++ {
		start, parent := float64(i)/1000, 1
		end := start + 0.01
		x := &report.Item{N: i + 1, Kind: "model", Name: fmt.Sprintf("Judge%d", i%20), Task: 1, Parent: &parent, At: r.Items[1].At, Start: &start, End: &end, Status: report.OK}
		x.Texts = report.Texts{Request: text(fmt.Sprintf("question %d about the state of the repository", i)), Reply: text(fmt.Sprintf("reply %x", sha256.Sum256([]byte{byte(i), byte(i >> 8), byte(i >> 16)})))}
		if i%97 == 0 {
			x.Status, x.Error = report.Failed, "overloaded"
		}
		r.Items = append(r.Items, x)
	}
	return r
}

// TestReportOfManyItems checks that a report of 100,000 items has few elements, and that the page
// is small without its data.
func TestReportOfManyItems(t *testing.T) {
	b := openReport(t, long(t, sampleReport(t), 100_000), "#item-99999")
	b.Wait(`document.querySelector("#detail h3").textContent === "Item 99999: model Judge18"`)
	if got := b.Eval(`document.querySelector("[role=grid]").getAttribute("aria-rowcount")`); got != "100000" {
		t.Errorf("rows %v", got)
	}
	if n := b.Count("*"); n > 3000 {
		t.Errorf("the page has %d elements", n)
	}
	if got := b.Eval(`[...document.querySelectorAll("[role=grid] tbody tr")].some((r) => r.cells[0].textContent === "99999")`); got != true {
		t.Error("the selected item is not in view")
	}

	path, _ := write(t, &report.Report{Version: report.Version, Graph: json.RawMessage("null")})
	html, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write(html); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if packed.Len() > 150<<10 {
		t.Errorf("without data the page has %d bytes", packed.Len())
	}
}

// TestReportSpeed measures the page of a report of 100,000 items; 'make bench-page' runs it.
func TestReportSpeed(t *testing.T) {
	if os.Getenv("CONCERTO_BENCH_PAGE") == "" {
		t.Skip("measures times; run it with: make bench-page")
	}
	browser.Need(t)
	began := time.Now()
	path, size := write(t, long(t, sampleReport(t), 100_000))
	written := time.Since(began)
	b := browser.Open(t)
	b.Go("file://" + path)
	b.Wait(isReady)
	ready := b.Eval(`performance.getEntriesByName("ready")[0].startTime`).(float64)
	frame := b.Eval(`new Promise((done) => {
		const box = document.getElementById("rows"), times = [];
		let last = 0;
		const step = (now) => {
			if (last) times.push(now - last);
			last = now;
			box.scrollTop += 997;
			if (times.length < 300) requestAnimationFrame(step);
			else done(times.sort((a, b) => a - b)[150]);
		};
		requestAnimationFrame(step);
	})`).(float64)
	t.Logf("written in %.2f s, %d MiB; ready after %.0f ms; %d elements; a median of %.1f frames a second", written.Seconds(), size>>20, ready, b.Count("*"), 1000/frame)
	for name, bad := range map[string]bool{"written in more than 3 s": written > 3*time.Second, "ready after more than 2 s": ready > 2000, "fewer than 55 frames a second": 1000/frame < 55} {
		if bad {
			t.Error(name)
		}
	}
}

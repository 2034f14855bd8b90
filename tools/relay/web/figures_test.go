package web_test

import (
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/relay/web/webtest"
	"github.com/concerto-lang/concerto/tools/browser"
)

// usable is a JavaScript expression that is true when the inbox shows a request and accepts
// decisions.
const usable = "__see.all('main h1').length === 1 && __see.all('@approval-card').length > 0 && document.querySelector('[data-testid=conn]').dataset.state === 'online'"

// mostWork is the maximum CPU time of the page's main thread until the page is usable, on an idle
// machine 250 ms.
const mostWork = 250 * time.Millisecond * busyMachine

// TestStartTime measures the CPU time that the page needs until it is usable. Neither the sum nor
// the longest task may exceed its limit.
func TestStartTime(t *testing.T) {
	browser.Full(t)
	r := webtest.Start(t)
	run := webtest.Begin(r.Machine("desk"), "run_1", webtest.Data{"title": "the release"})
	run.Ask("q1", webtest.Data{"prompt": "Release?"})
	b := enter(t, r, webtest.Operator, "#/inbox")
	var work, longest time.Duration
	for _, task := range b.Tasks(0, func() {
		b.Reload()
		b.Wait(usable)
	}) {
		work += task
		longest = max(longest, task)
	}
	t.Logf("the page uses %v of CPU time until it is usable; its longest task takes %v", work, longest)
	if work > mostWork || longest > smooth {
		t.Errorf("the page uses %v of CPU time until it is usable, and its longest task %v; the limits are %v and %v", work, longest, mostWork, smooth)
	}
}

// TestFigures measures on an idle machine how long the page takes until it is usable on a processor
// that is slowed down four times, and until it shows a new request. It only runs if
// CONCERTO_FIGURES is set. `go run ./bench/relay -only page` sets it and reads the log lines that
// begin with "figure".
func TestFigures(t *testing.T) {
	if os.Getenv("CONCERTO_FIGURES") == "" {
		t.Skip("CONCERTO_FIGURES is not set")
	}
	r := webtest.Start(t)
	machine := r.Machine("desk")
	run := webtest.Begin(machine, "run_1", webtest.Data{"title": "figures"})
	run.Ask("first", webtest.Data{})
	var first, warm []time.Duration
	for range 5 {
		t.Run("visit", func(t *testing.T) { // closes its tab before the next visit
			b := browser.Open(t) // this tab has an empty cache
			b.Expect("401")
			first = append(first, timeUntil(b, r.URL, "__see.all('@login-user').length === 1"))
			login(b, webtest.Operator)
			warm = append(warm, timeUntil(b, r.URL+"/#/inbox", usable))
		})
	}
	slices.Sort(first)
	slices.Sort(warm)
	t.Logf("figure the page is usable on a processor four times slower: %d ms at the first visit, %d ms with an open request", first[2].Milliseconds(), warm[2].Milliseconds())
	measureRequests(t, enter(t, r, webtest.Operator, "#/inbox"), run)
}

// timeUntil returns the time from opening a page until a condition holds, on a processor slowed
// down four times.
func timeUntil(b *browser.Tab, url, until string) time.Duration {
	b.Throttle(4)
	b.Go("about:blank")
	b.Go(url)
	b.Wait(until)
	ms, _ := b.Eval("performance.now()").(float64)
	b.Throttle(1)
	return time.Duration(ms * 1e6)
}

// measureRequests measures the time until a machine's request is visible on the page.
func measureRequests(t *testing.T, b *browser.Tab, run *webtest.Run) {
	b.Eval(`window.seen = {}; new MutationObserver(() => {
		for (const e of document.querySelectorAll("[data-testid=approval-card]")) { const at = e.closest("[data-key]").dataset.key; seen[at] ??= performance.timeOrigin + performance.now(); }
	}).observe(document.body, { childList: true, subtree: true })`)
	var took []time.Duration
	for i := range 100 {
		id := fmt.Sprintf("q%d", i)
		began := time.Now()
		run.Ask(id, webtest.Data{})
		b.Wait("seen['run_1 " + id + "']")
		at, _ := b.Eval("seen['run_1 " + id + "']").(float64)
		took = append(took, time.Duration(at*1e6)-time.Duration(began.UnixNano()))
		run.Resolve(id, "deny", "olga")
	}
	slices.Sort(took)
	t.Logf("figure a machine's request is visible: p50 %.1f ms, p99 %.1f ms", took[50].Seconds()*1000, took[98].Seconds()*1000)
}

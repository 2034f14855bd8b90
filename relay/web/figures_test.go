package web_test

import (
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/relay/web/webtest"
)

// TestFigures measures what spec/24-relay.md does not promise and people feel, on a machine that does
// nothing else: how soon the page can be used, on a processor that is four times slower, and how
// soon what a host asks is seen. CONCERTO_FIGURES asks for it.
func TestFigures(t *testing.T) {
	if os.Getenv("CONCERTO_FIGURES") == "" {
		t.Skip("CONCERTO_FIGURES does not ask for it")
	}
	r := webtest.Start(t)
	host := r.Host("desk")
	run := webtest.Begin(host, "run_1", webtest.Data{"title": "figures"})
	b := enter(t, r, webtest.Operator, "#/inbox")
	b.Throttle(4)
	for _, what := range []string{"1", "2", "3"} {
		b.Go("about:blank")
		b.Go(r.URL + "/#/inbox")
		b.Wait("document.querySelector('main h1')")
		at, _ := b.Eval("performance.getEntriesByType('navigation')[0].domInteractive").(float64)
		heard, _ := b.Eval("performance.now()").(float64)
		t.Logf("interactive on a processor four times slower (%s): shown %.0f ms after it was opened, its document after %.0f ms", what, heard, at)
	}
	b.Throttle(1)
	b.Wait("document.querySelector('[data-testid=conn]').dataset.state === 'online'")
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
	t.Logf("what a host asks is seen on the page: p50 %v, p99 %v", took[50].Round(time.Millisecond/10), took[98].Round(time.Millisecond/10))
}

package web_test

import (
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/relay/web/webtest"
	"github.com/concerto-lang/concerto/tools/browser"
)

// TestLink creates a link to one run. Its user sees that run live and nothing else, and the token
// disappears from the address.
func TestLink(t *testing.T) {
	browser.Full(t)
	browser.Need(t)
	t.Parallel()
	r := webtest.Start(t)
	host := r.Host("desk")
	run := webtest.Begin(host, "run_shown", webtest.Data{"title": "the shown one"})
	b := enter(t, r, webtest.Owner, "#/settings")
	loaded(b)
	b.Wait("__see.text('main').includes('the shown one')")
	b.Click("@make-link")
	b.Wait("__see.all('@secret').length === 1")
	link, _ := b.Eval("document.querySelector('[data-testid=secret]').value").(string)
	if !strings.HasPrefix(link, r.URL+"/#/t/") {
		t.Fatalf("the link is %q", link)
	}
	webtest.Begin(host, "run_hidden", webtest.Data{"title": "the hidden one"})
	guest := browser.Open(t)
	guest.Expect("401")
	guest.Expect("403")
	guest.Go(link)
	guest.See("the shown one")
	run.Write("for all to see\n")
	guest.Wait("location.hash === '#/runs/run_shown'")
	guest.Wait("__see.text('@run-thread').includes('for all to see')")
	guest.Eval("location.hash = '#/runs'")
	guest.Wait("__see.all('@run-row').length === 1")
	if at, _ := guest.Eval("location.href + JSON.stringify(history.state)").(string); strings.Contains(at, "/t/") {
		t.Errorf("the address is %s", at)
	}
	for _, place := range []string{"=Hosts", "=Start", "=Audit", "@composer"} {
		if guest.Count(place) != 0 {
			t.Errorf("a guest has %s", place)
		}
	}
	if strings.Contains(guest.Text("body"), "the hidden one") {
		t.Error("a guest sees the other run")
	}
}

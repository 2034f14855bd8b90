package web_test

import (
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/relay/web/webtest"
	"github.com/concerto-lang/concerto/tools/browser"
)

// TestLink creates a link to one run and opens it in another browser. The page must show that run
// live and no other run, and must remove the token from the address.
func TestLink(t *testing.T) {
	browser.Full(t)
	browser.Need(t)
	t.Parallel()
	r := webtest.Start(t)
	machine := r.Machine("desk")
	run := webtest.Begin(machine, "run_shown", webtest.Data{"title": "the shown one"})
	b := enter(t, r, webtest.Owner, "#/settings")
	loaded(b)
	b.Wait("__see.text('main').includes('the shown one')")
	b.Click("@make-link")
	b.Wait("__see.all('@secret').length === 1")
	link, _ := b.Eval("document.querySelector('[data-testid=secret]').value").(string)
	if !strings.HasPrefix(link, r.URL+"/#/t/") {
		t.Fatalf("link = %q, want one with a token", link)
	}
	webtest.Begin(machine, "run_hidden", webtest.Data{"title": "the hidden one"})
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
		t.Errorf("address of the guest's page = %s, want one without the token", at)
	}
	for _, place := range []string{"=Machines", "=Start", "=Audit", "@composer"} {
		if guest.Count(place) != 0 {
			t.Errorf("the guest's page shows the control %s", place)
		}
	}
	if strings.Contains(guest.Text("body"), "the hidden one") {
		t.Error("the guest's page shows a run that the link does not include")
	}
}

package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/tools/browser"
)

// TestPage performs the steps of a new user. The user runs one command and opens the printed link.
// On the page, the user starts a run on a terminal, approves its request, types into the terminal
// and changes a file. Finally the run ends.
func TestPage(t *testing.T) {
	r := newRelay(t)
	if err := os.WriteFile(filepath.Join(r.dir, "note.txt"), []byte("note\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r.serve(nil)
	if !strings.HasPrefix(r.setup, r.url+"/setup#") {
		t.Fatalf("setup link = %q", r.setup)
	}
	b := browser.Open(t)
	b.Expect("401")
	b.Go(r.setup)
	login(b)
	b.See("No open requests")
	b.Eval("location.hash = '#/start'")
	b.Wait("__see.all('@start-tool').length === 1")
	b.Eval("(() => { const e = document.querySelector('[data-testid=start-tool]'); e.value = ''; e.dispatchEvent(new Event('change', { bubbles: true })) })()")
	b.Click("@start-cmd")
	b.Type(`printf 'Go on? [y/N] '; read x; echo "said $x"; read y; echo "heard $y"; exit 4`)
	b.Click("@start-run")
	b.Wait("location.hash.startsWith('#/runs/') && __see.text('@run-thread').includes('Go on?')")
	b.Wait("document.querySelector('[data-testid=approve]').ariaDisabled === 'false'") // a new card does not accept decisions immediately
	b.Click("@approve")
	b.Wait("__see.text('@run-thread').includes('said y') && __see.text('@resolved').includes('approved by ann')")
	b.Click("=Files")
	b.Click(`a[href$="file=note.txt"]`)
	b.Click("@edit")
	b.Eval("document.querySelector('[data-testid=editor]').select()")
	b.Type("changed by hand")
	b.Click("@save")
	b.Wait("__see.text('@approval-card').includes('changed by hand')")
	b.Wait("document.querySelector('[data-testid=approve]').ariaDisabled === 'false'")
	b.Click("@approve")
	b.Wait("__see.all('@edit').length === 1 && __see.text('.source').includes('changed by hand')")
	if text, err := os.ReadFile(filepath.Join(r.dir, "note.txt")); err != nil || string(text) != "changed by hand" {
		t.Errorf("content of the file = %q, error %v", text, err)
	}

	b.Click("=Terminal")
	b.Wait("__see.text('@terminal').includes('said y')")
	b.Click("@terminal")
	b.Paste("you there")
	b.Press("Enter")
	b.Wait("__see.text('@terminal').includes('heard you there')")
	b.Wait("__see.text('main').includes('exit 4')")
	b.Click("=Thread")
	b.Wait("__see.text('@run-thread').includes('heard you there')")
	b.Eval("location.hash = '#/runs'")
	b.Wait("__see.text('@run-row').includes('exit 4')")
	b.Expect("ERR_CONNECTION_REFUSED") // the page reconnects while the server is down
	r.stop()
}

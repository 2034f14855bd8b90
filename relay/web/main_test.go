package web_test

import (
	"os"
	"testing"

	"github.com/concerto-lang/concerto/internal/browser"
	"github.com/concerto-lang/concerto/relay/web/webtest"
)

func TestMain(m *testing.M) { os.Exit(browser.Main(m)) }

// enter opens the page and logs somebody in.
func enter(t *testing.T, r *webtest.Relay, user, at string) *browser.Tab {
	t.Helper()
	b := browser.Open(t)
	b.Expect("401") // it asks who one is before anybody is anybody
	b.Go(r.URL + "/" + at)
	login(b, user)
	return b
}

func login(b *browser.Tab, user string) {
	b.Click("@login-user")
	b.Type(user)
	b.Press("Tab")
	b.Type(webtest.Password)
	b.Press("Enter")
	b.Wait("document.querySelector('[data-testid=conn]').dataset.state === 'online'")
}

// until waits for what a promise gives to be true.
func until(b *browser.Tab, promise string) {
	b.Eval("(async () => { while (!(await (" + promise + "))) await new Promise((done) => setTimeout(done, 20)); })()")
}

// awake waits until the cards that are in sight take keys and clicks.
func awake(b *browser.Tab) {
	b.Wait("__see.all('@approve').length > 0 && __see.all('@approve').every((e) => e.ariaDisabled !== 'true' || e.getBoundingClientRect().top > innerHeight - 60)")
}

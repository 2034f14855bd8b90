package web_test

import (
	"os"
	"strconv"
	"testing"

	"github.com/concerto-lang/concerto/relay/web/webtest"
	"github.com/concerto-lang/concerto/tools/browser"
)

func TestMain(m *testing.M) { os.Exit(browser.Main(m)) }

// enter opens the page at an address, as a user who is already logged in.
func enter(t *testing.T, r *webtest.Relay, user, at string) *browser.Tab {
	t.Helper()
	b := browser.Open(t)
	b.Cookie(r.URL, r.Session(user))
	b.Go(r.URL + "/" + at)
	b.Wait(online)
	return b
}

// enterByHand opens the page at an address, and logs a user in with the login dialog.
func enterByHand(t *testing.T, r *webtest.Relay, user, at string) *browser.Tab {
	t.Helper()
	b := browser.Open(t)
	b.Expect("401") // the page asks who is logged in
	b.Go(r.URL + "/" + at)
	login(b, user)
	return b
}

const online = "document.querySelector('[data-testid=conn]').dataset.state === 'online'"

func login(b *browser.Tab, user string) {
	b.Click("@login-user")
	b.Type(user)
	b.Press("Tab")
	b.Type(webtest.Password)
	b.Press("Enter")
	b.Wait(online)
}

// loaded waits until the page shows a screen and all its data.
func loaded(b *browser.Tab) {
	b.Wait("__see.all('main h1').length === 1 && !document.querySelector('main').textContent.includes('Loading')")
}

// decide clicks a button of a card until the page accepts the click. Cards ignore clicks for a
// moment after they have moved, for example because a banner appeared above them.
func decide(b *browser.Tab, place string) {
	awake(b)
	for {
		b.Eval("void (globalThis.card = __see.one(" + strconv.Quote(place) + ").closest('[data-testid=approval-card]'))")
		b.Click(place)
		if b.Soon("!card.isConnected || !['open', 'args-changed', 'rejected'].includes(card.dataset.state)") {
			return
		}
	}
}

// awake waits until all visible cards accept keys and clicks, except those that hide a part.
func awake(b *browser.Tab) {
	b.Wait("__see.all('@approve').length > 0 && __see.all('@approve').every((e) => e.ariaDisabled !== 'true' || e.hasAttribute('aria-describedby') || e.getBoundingClientRect().top < 0 || e.getBoundingClientRect().top > innerHeight - 60)")
}

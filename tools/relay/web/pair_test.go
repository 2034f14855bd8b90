package web_test

import (
	"context"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/relay/hostd/pair"
	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/web/webtest"
	"github.com/concerto-lang/concerto/tools/browser"
)

// begin has a machine ask to be paired, by hostd's own way.
func begin(t *testing.T, r *webtest.Relay, name string) *pair.Request {
	t.Helper()
	again := func(ctx context.Context) error { runtime.Gosched(); return ctx.Err() }
	waits, err := pair.Begin(t.Context(), pair.Options{Server: r.URL, Dir: t.TempDir(), Name: name, Poll: again})
	if err != nil {
		t.Fatal(err)
	}
	return waits
}

// code types a code, as somebody reads it off another screen, and looks whose it is.
func code(b *browser.Tab, code string) {
	b.Eval("document.querySelector('[data-testid=pair-code]').select()")
	b.Type(code)
	b.Press("Enter")
}

// TestPair: an owner types the code that a machine shows, compares its fingerprint, and confirms; then the machine is
// a host, known by its key. What is wrong with a code is said, at the field and aloud, and one begins again.
func TestPair(t *testing.T) {
	browser.Full(t)
	browser.Need(t)
	t.Parallel()
	r := webtest.Start(t)
	late := begin(t, r, "the old laptop")
	begin(t, r, "build box") // and again later: the code of then is the one
	b := enter(t, r, webtest.Owner, "#/hosts")
	b.Expect("404")
	b.See("No hosts yet.")
	b.Click("=Pair a host")
	b.See("It prints a code of eight letters.")
	if at := b.Spoken("@pair-code"); at != "textbox Code" {
		t.Errorf("the field is told as %q", at)
	}
	b.Click("@pair-code")
	b.Type("bcd")
	b.Press("Enter") // too short: nothing is asked
	code(b, "BCDF-GHJK")
	b.See("No machine waits with this code: it was mistyped, was used, or has expired.")
	b.Axe()

	r.Pass(protocol.PairingFor / 2)
	code(b, strings.ToLower(strings.ReplaceAll(late.Code, "-", " ")))
	b.Wait("__see.text('@pair-fingerprint') === '" + late.Fingerprint + "'")
	if text := b.Text("main"); !strings.Contains(text, "the old laptop") || !strings.Contains(text, "127.0.0.1") || !strings.Contains(text, "5 min") {
		t.Errorf("the machine is shown as %s", text)
	}
	b.Axe()
	r.Pass(protocol.PairingFor/2 + time.Second) // who compares for so long is too late; build box is, too
	b.Click("@pair-confirm")
	b.See("has expired")
	b.Click("=Cancel")

	waits := begin(t, r, "build box")
	code(b, waits.Code)
	b.Wait("__see.text('@pair-fingerprint') === '" + waits.Fingerprint + "'")
	if at := b.Spoken(":focus"); at != "region The machine" {
		t.Errorf("whose code it is is told as %q", at)
	}
	b.Press("Tab") // the keyboard alone is enough
	b.Wait("document.activeElement.dataset.testid === 'pair-confirm'")
	b.Press("Enter")
	kept, err := waits.Wait(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	b.See("build box is paired as " + kept.HostID)
	b.Click("=Show the host")
	b.Wait("location.hash === '#/hosts/" + kept.HostID + "' && __see.text('main h1') === 'build box'")
	b.Eval("location.hash = '#/hosts'")
	b.See("authenticates with a key")

	again := begin(t, r, "by its link")
	b.Go("about:blank")
	b.Go(again.Link)
	b.Wait("__see.text('@pair-fingerprint') === '" + again.Fingerprint + "'")
	b.Click("=Cancel")
	for range protocol.PairingTries { // who guesses is slowed
		code(b, "BCDF-GHJK")
		b.Wait("__see.text('#pair-failed') && __see.all('@pair-look')[0].ariaDisabled === 'false'")
	}
	b.Expect("429")
	code(b, "BCDF-GHJK")
	b.Wait("__see.text('#pair-failed') && !__see.text('#pair-failed').includes('mistyped')")
	if text := b.Text("#pair-failed"); text != "Too many tries within a minute: wait." {
		t.Errorf("who guesses is told %q", text)
	}
}

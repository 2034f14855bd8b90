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

// begin requests a pairing for a machine, as the command pair does.
func begin(t *testing.T, r *webtest.Relay, name string) *pair.Request {
	t.Helper()
	poll := func(ctx context.Context) error { runtime.Gosched(); return ctx.Err() }
	waits, err := pair.Begin(t.Context(), pair.Options{Server: r.URL, Dir: t.TempDir(), Name: name, Poll: poll})
	if err != nil {
		t.Fatal(err)
	}
	return waits
}

// code types a pairing code into the page and submits it.
func code(b *browser.Tab, code string) {
	b.Eval("document.querySelector('[data-testid=pair-code]').select()")
	b.Type(code)
	b.Press("Enter")
}

// TestPair pairs a machine on the page, where a user checks its code and fingerprint. The new
// machine then authenticates with its key. An invalid or expired code must be reported at the
// field, and the user must be able to try again. Too many attempts are refused.
func TestPair(t *testing.T) {
	browser.Full(t)
	browser.Need(t)
	t.Parallel()
	r := webtest.Start(t)
	late := begin(t, r, "the old laptop")
	begin(t, r, "build box") // this pairing expires unused; build box requests another one below
	b := enter(t, r, webtest.Owner, "#/hosts")
	b.Expect("404")
	b.See("No machines yet.")
	b.Click("=Pair a machine")
	b.See("It prints a code of eight letters.")
	if at := b.Spoken("@pair-code"); at != "textbox Code" {
		t.Errorf("accessible name of the code field = %q", at)
	}
	b.Click("@pair-code")
	b.Type("bcd")
	b.Press("Enter") // too short: no request is sent
	code(b, "BCDF-GHJK")
	b.See("No pairing has this code: it was mistyped, was used, or has expired.")
	b.Axe()

	r.AdvancePairings(protocol.PairingTTL / 2)
	code(b, strings.ToLower(strings.ReplaceAll(late.Code, "-", " ")))
	b.Wait("__see.text('@pair-fingerprint') === '" + late.Fingerprint + "'")
	if text := b.Text("main"); !strings.Contains(text, "the old laptop") || !strings.Contains(text, "127.0.0.1") || !strings.Contains(text, "5 min") {
		t.Errorf("description of the machine = %s, want its name, address and remaining time", text)
	}
	b.Axe()
	r.AdvancePairings(protocol.PairingTTL/2 + time.Second) // both pairings expire
	b.Click("@pair-confirm")
	b.See("has expired")
	b.Click("=Cancel")

	waits := begin(t, r, "build box")
	code(b, waits.Code)
	b.Wait("__see.text('@pair-fingerprint') === '" + waits.Fingerprint + "'")
	if at := b.Spoken(":focus"); at != "region The machine" {
		t.Errorf("focus after the code was found = %q, want the description of the machine", at)
	}
	b.Press("Tab") // by keyboard alone
	b.Wait("document.activeElement.dataset.testid === 'pair-confirm'")
	b.Press("Enter")
	pairing, err := waits.Wait(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	b.See("build box is paired as " + pairing.MachineID)
	b.Click("=Show the machine")
	b.Wait("location.hash === '#/hosts/" + pairing.MachineID + "' && __see.text('main h1') === 'build box'")
	b.Eval("location.hash = '#/hosts'")
	b.See("authenticates with a key")

	second := begin(t, r, "by its link")
	b.Go("about:blank")
	b.Go(second.Link)
	b.Wait("__see.text('@pair-fingerprint') === '" + second.Fingerprint + "'")
	b.Click("=Cancel")
	for range protocol.PairingTries { // guessing is rate limited
		code(b, "BCDF-GHJK")
		b.Wait("__see.text('#pair-failed') && __see.all('@pair-look')[0].ariaDisabled === 'false'")
	}
	b.Expect("429")
	code(b, "BCDF-GHJK")
	b.Wait("__see.text('#pair-failed') && !__see.text('#pair-failed').includes('mistyped')")
	if text := b.Text("#pair-failed"); text != "Too many attempts within a minute: wait." {
		t.Errorf("message after too many attempts = %q", text)
	}
}

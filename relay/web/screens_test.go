package web_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/browser"
	"github.com/concerto-lang/concerto/relay/web/webtest"
)

// screens are all that there are to be seen, by the names of their pictures.
var screens = []struct{ name, at string }{
	{"inbox", "#/inbox"}, {"runs", "#/runs"}, {"run-pty", "#/runs/run_claude"}, {"run-concerto", "#/runs/run_concerto"}, {"run-ndjson", "#/runs/run_ndjson"},
	{"run-over", "#/runs/run_over"}, {"terminal", "#/runs/run_claude/terminal"}, {"structure", "#/runs/run_concerto/structure"}, {"run-hostile", "#/runs/run_hostile"}, {"hosts", "#/hosts"}, {"host", "#/hosts/desk"}, {"pair", "#/hosts/pair"}, {"start", "#/start"}, {"audit", "#/audit"}, {"settings", "#/settings"},
}

// TestScreenshots makes a picture of each screen on a phone and a desk, light and dark, in the
// directory that CONCERTO_SCREENSHOTS names; without it there is nothing to do.
func TestScreenshots(t *testing.T) {
	dir := os.Getenv("CONCERTO_SCREENSHOTS")
	if dir == "" {
		t.Skip("CONCERTO_SCREENSHOTS names no directory")
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	r := webtest.Start(t)
	r.Samples()
	r.Hostile()
	b := browser.Open(t)
	b.Expect("401")
	b.Go(r.URL)
	save := func(name string) {
		if err := os.WriteFile(filepath.Join(dir, name+".png"), b.Screenshot("body"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	b.See("Log in")
	save("login-desk-light")
	login(b, webtest.Owner)
	for _, device := range []browser.Device{browser.Desk, browser.Phone} {
		for _, theme := range []browser.Theme{browser.Light, browser.Dark} {
			b.Emulate(device, theme)
			for _, s := range screens {
				b.Eval("location.hash = '" + s.at + "'")
				time.Sleep(700 * time.Millisecond) // for people's eyes, no assertion
				save(s.name + "-" + device.Name + "-" + theme.Name)
			}
		}
	}
}

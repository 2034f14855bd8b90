package web_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/relay/web/webtest"
	"github.com/concerto-lang/concerto/tools/browser"
)

// screens lists all screens by the names of their pictures: address, expected text, and a first
// action.
var screens = []struct {
	name, at, shows string
	first           func(b *browser.Tab)
}{
	{"inbox", "#/inbox", "git push", nil},
	{"runs", "#/runs", "nightly migration", nil},
	{"run-pty", "#/runs/run_claude", "git push", nil},
	{"run-concerto", "#/runs/run_concerto", "All tables are in the new schema", nil},
	{"run-ndjson", "#/runs/run_ndjson", "two remarks", nil},
	{"run-over", "#/runs/run_over", "exit code 2", nil},
	{"terminal", "#/runs/run_claude/terminal", "", func(b *browser.Tab) {
		b.Wait("document.querySelector('.xterm-rows')?.textContent.includes('Understood')")
	}},
	{"files", "#/runs/run_claude/files", "README.md", nil},
	{"file", "#/runs/run_claude/files?file=main.conc", "Architect", nil},
	{"edit", "#/runs/run_claude/files?file=checkout%2Ftotal.go", "", func(b *browser.Tab) {
		b.Wait("__see.all('@edit').length === 1")
		b.Click("@edit")
		b.Wait("__see.all('@editor').length === 1")
	}},
	{"search", "#/runs/run_claude/files?q=Money", "matching lines", nil},
	{"diff", "#/runs/run_claude/diff", "rounded once", nil},
	{"structure", "#/runs/run_concerto/structure", "Architect", nil},
	{"fleet", "#/runs/run_fleet/fleet", "TestTotals fails", nil},
	{"run-hostile", "#/runs/run_hostile", "onerror", nil},
	{"history", "#/history", "never to main", nil},
	{"hosts", "#/hosts", "ci-runner", nil},
	{"host", "#/hosts/desk", "ripgrep", func(b *browser.Tab) { b.Click("=Show the last lines"); b.See("connected to") }},
	{"pair", "#/hosts/pair", "Pair a machine", nil},
	{"start", "#/start", "Directory", nil},
	{"audit", "#/audit", "run started", nil},
	{"settings", "#/settings", "Users", nil},
	{"keys", "#/runs", "", func(b *browser.Tab) { b.Press("?"); b.See("switch the view of a run") }},
}

// screenCheck checks the screens of a page one after another. dir is the directory in which it
// stores pictures; "" stores none.
type screenCheck struct {
	*browser.Tab
	t      *testing.T
	dir    string
	device browser.Device
	theme  browser.Theme
}

// TestScreens opens each screen on a phone and a desktop. A screen must show its content without an
// error, must not be wider than the window, and must have no accessibility error that axe finds.
// Its touch targets must be large enough. If CONCERTO_SCREENSHOTS names a directory, the test
// stores pictures of all screens in it, in light and dark.
func TestScreens(t *testing.T) {
	browser.Full(t)
	browser.Need(t)
	t.Parallel()
	r := webtest.Start(t)
	r.Samples()
	webtest.Fleet(r.Machine("laptop"))
	r.Hostile()
	l := &screenCheck{Tab: browser.Open(t), t: t, dir: os.Getenv("CONCERTO_SCREENSHOTS"), device: browser.Desk}
	themes := []browser.Theme{browser.Light}
	if l.dir != "" {
		themes = append(themes, browser.Dark)
		if err := os.MkdirAll(l.dir, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	l.Expect("401")
	l.Go(r.URL)
	l.See("Log in")
	for _, l.theme = range themes {
		l.look("login")
	}
	login(l.Tab, webtest.Owner)
	for _, l.device = range []browser.Device{browser.Desk, browser.Phone} {
		for _, l.theme = range themes {
			l.Emulate(l.device, l.theme)
			l.Reload() // clears the state of earlier screens
			for _, s := range screens {
				l.Eval("location.hash = '" + s.at + "'; new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
				if s.shows != "" {
					l.See(s.shows)
				}
				if s.first != nil {
					s.first(l.Tab)
				}
				l.look(s.name)
				l.expectNoOverflow(s.name)
			}
		}
	}
	l.Emulate(browser.Phone, browser.Dark)
	l.Axe()
}

// small is a JavaScript expression for the touch targets that are less than 24 pixels high, as
// HTML.
const small = `[...document.querySelectorAll("button, a[href], input:not([type=checkbox], [type=radio]), select, textarea, summary, [role=tab]")].filter((e) => e.checkVisibility() && getComputedStyle(e).display !== "inline" && !e.closest(".approval-who"))
	.filter((e) => { const r = e.getBoundingClientRect(); return r.width > 0 && r.height < 24; }).map((e) => e.outerHTML.slice(0, 120)).join("\n")`

// skippedHeadings is a JavaScript expression for the headings whose level is more than one deeper
// than that of the heading before.
const skippedHeadings = `(() => {
	const all = [...document.querySelectorAll("h1, h2, h3, h4, h5, h6")].filter((e) => e.checkVisibility() && !e.closest(".markdown"));
	return all.filter((e, i) => e.tagName[1] - (all[i - 1]?.tagName[1] ?? 0) > 1).map((e) => e.outerHTML.slice(0, 100)).join("; ");
})()`

// coveredByEnd is a JavaScript expression for the content that the button To the end covers.
const coveredByEnd = `(() => {
	const end = document.querySelector(".thread-end"), box = document.querySelector(".thread-scroll");
	return end && end.getBoundingClientRect().top < box.getBoundingClientRect().bottom - 1 ? "the thread" : "";
})()`

// expectNoOverflow reports accessibility errors of the current screen: those that axe finds on a
// desktop, and touch targets that are too small on a phone.
func (l *screenCheck) expectNoOverflow(name string) {
	switch {
	case l.theme != browser.Light || name == "run-hostile": // TestHostile checks the accessibility of this screen
	case !l.device.Touch:
		l.Axe()
	default:
		if found := l.Eval(small); found != "" {
			l.t.Errorf("%s: touch targets that are too small:\n%v", name, found)
		}
	}
}

// look checks the layout of the current screen. If l.dir is set, it stores a picture of the whole
// page.
func (l *screenCheck) look(name string) {
	name += "-" + l.device.Name + "-" + l.theme.Name
	l.Emulate(l.device, l.theme)
	l.Wait("!/Loading|Asking/.test(__see.text('body')) && !document.querySelector('.toast')")
	if wide := l.Eval("document.documentElement.scrollWidth - document.documentElement.clientWidth"); wide != 0.0 {
		l.t.Errorf("%s is wider by %v pixels than the window", name, wide)
	}
	if more := l.Eval("document.querySelector('.run') ? document.documentElement.scrollHeight - innerHeight : 0"); more != 0.0 {
		l.t.Errorf("%s: the page of a run is %v pixels higher than the window, want only its parts to scroll", name, more)
	}
	if skipped := l.Eval(skippedHeadings); skipped != "" {
		l.t.Errorf("%s: headings that skip a level: %v", name, skipped)
	}
	if covered := l.Eval(coveredByEnd); covered != "" {
		l.t.Errorf("%s: the button To the end covers %v", name, covered)
	}
	if failed := l.Text(".failed"); strings.TrimSpace(failed) != "" {
		l.t.Errorf("%s shows an error: %s", name, failed)
	}
	if l.dir == "" {
		return
	}
	tall := l.device // a window as high as the page, so that the picture contains the whole page
	tall.Height = int64(l.Eval("document.documentElement.scrollHeight").(float64))
	l.Emulate(tall, l.theme)
	l.Wait("__see.all('@approve').every((e) => e.ariaDisabled !== 'true' || e.hasAttribute('aria-describedby') || e.getBoundingClientRect().top > innerHeight - 60)")
	if err := os.WriteFile(filepath.Join(l.dir, name+".png"), l.Screenshot(""), 0o666); err != nil {
		l.t.Fatal(err)
	}
	l.Emulate(l.device, l.theme)
}

// TestColours selects colours, which stay after a reload and on all screens.
func TestColours(t *testing.T) {
	browser.Need(t)
	t.Parallel()
	r := webtest.Start(t)
	b := enter(t, r, webtest.Viewer, "#/settings")
	loaded(b)
	for _, theme := range []string{"dark", "contrast", ""} {
		b.Click("=" + map[string]string{"dark": "dark", "contrast": "high contrast", "": "system"}[theme])
		b.Wait("(document.documentElement.dataset.theme ?? '') === '" + theme + "'")
		b.Eval("location.hash = '#/runs'")
		b.Reload()
		b.Wait("document.querySelector('main h1')")
		if got := b.Eval("document.documentElement.dataset.theme ?? ''"); got != theme {
			t.Errorf("colours after a reload = %q, want %q", got, theme)
		}
		b.Eval("location.hash = '#/settings'")
		loaded(b)
	}
}

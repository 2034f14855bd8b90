package browser

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
)

// helpers is the source of the functions that each page provides as __see.
//
//go:embed helpers.js
var helpers string

// Tab is a page under test. Its methods fail the test if they cannot do their work, and must be
// called by the test's goroutine.
//
// A place is a CSS selector; "@name" selects by data-testid, and "=text" selects the operable
// element with this name or text.
type Tab struct {
	t     testing.TB
	ctx   context.Context
	watch *watch
}

// Open opens an empty tab with its own profile and a screen of 1280 by 800 pixels. The tab closes
// when the test ends.
func Open(t testing.TB) *Tab {
	t.Helper()
	Need(t)
	parent, err := start()
	if err != nil {
		t.Fatal(err)
	}
	return open(t, parent, chromedp.WithNewBrowserContext())
}

// Beside opens another tab of the same profile.
func (b *Tab) Beside() *Tab {
	b.t.Helper()
	return open(b.t, b.ctx)
}

func open(t testing.TB, parent context.Context, options ...chromedp.ContextOption) *Tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(parent, options...)
	b := &Tab{t: t, ctx: ctx, watch: &watch{}}
	t.Cleanup(func() {
		cancel()
		b.watch.report(t)
	})
	if err := chromedp.Listen(ctx, b.watch.handle); err != nil {
		t.Fatalf("open a tab: %v", err)
	}
	// without automatic attachment, the developer tools keep workers of the page alive, and an old
	// service worker never stops
	call(b, target.SetAutoAttach, target.SetAutoAttachParams{})
	call(b, runtime.Enable, cdp.Empty{})
	call(b, log.Enable, cdp.Empty{})
	call(b, network.Enable, network.EnableParams{})
	call(b, page.Enable, page.EnableParams{})
	call(b, accessibility.Enable, cdp.Empty{})
	call(b, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: helpers})
	call(b, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true})
	b.Emulate(Desk, Light)
	return b
}

// call sends one command to the tab.
func call[P, R any](b *Tab, command cdp.Command[P, R], params P) R {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	r, err := chromedp.Call(ctx, command, params)
	if err != nil {
		b.t.Fatalf("browser: %s: %v", command.Method, err)
	}
	return r
}

// Go opens an address and returns when the page is loaded.
func (b *Tab) Go(url string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, chromedp.Navigate(url)); err != nil {
		b.t.Fatalf("open %s: %v", url, err)
	}
}

// Cookie stores a cookie in the tab's profile as if the server at url had set it.
func (b *Tab) Cookie(url string, c *http.Cookie) {
	b.t.Helper()
	call(b, network.SetCookie, network.SetCookieParams{Name: c.Name, Value: c.Value, URL: url, HTTPOnly: &c.HttpOnly, Secure: &c.Secure, SameSite: network.CookieSameSiteStrict})
}

// Reload reloads the page.
func (b *Tab) Reload() {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, chromedp.Reload()); err != nil {
		b.t.Fatalf("reload: %v", err)
	}
}

// Eval returns the value of a JavaScript expression as JSON data. If the value is a promise, Eval
// waits for its result. An exception fails the test.
func (b *Tab) Eval(expression string) any {
	b.t.Helper()
	v, err := b.eval(expression)
	if err != nil {
		b.t.Fatalf("browser: %s: %v", short(expression), err)
	}
	return v
}

func (b *Tab) eval(expression string) (any, error) { return b.evalWithin(expression, patience) }

func (b *Tab) evalWithin(expression string, limit time.Duration) (any, error) {
	ctx, cancel := context.WithTimeout(b.ctx, limit)
	defer cancel()
	yes := true
	r, err := chromedp.Call(ctx, runtime.Evaluate, runtime.EvaluateParams{Expression: expression, AwaitPromise: &yes, ReturnByValue: &yes, UserGesture: &yes})
	if err != nil {
		return nil, err
	}
	if x := r.ExceptionDetails; x != nil {
		return nil, fmt.Errorf("%s", thrown(x))
	}
	if len(r.Result.Value) == 0 {
		return nil, nil
	}
	var v any
	err = json.Unmarshal(r.Result.Value, &v)
	return v, err
}

// Wait waits until an expression is true. If the value is a promise, its result counts. An
// exception counts as false. While the page loads, Wait tries again.
func (b *Tab) Wait(expression string) {
	b.t.Helper()
	if !b.wait(expression, patience) {
		b.t.Fatalf("this did not become true: %s\nThe page shows:\n%s", short(expression), b.Text("body"))
	}
}

// Soon waits a short time for an expression to become true, and reports whether it is.
func (b *Tab) Soon(expression string) bool {
	b.t.Helper()
	return b.wait(expression, 2*time.Second)
}

func (b *Tab) wait(expression string, most time.Duration) bool {
	for until := time.Now().Add(most); ; {
		left := time.Until(until)
		if left <= 0 || b.ctx.Err() != nil {
			return false
		}
		turn := min(left, patience/9)
		v, err := b.evalWithin(fmt.Sprintf("__see.wait(async () => !!(await (%s)), %d)", expression, turn.Milliseconds()), 2*turn+time.Second)
		if err == nil && v == true {
			return true
		}
	}
}

// See waits until the page shows a text.
func (b *Tab) See(text string) {
	b.t.Helper()
	b.Wait("__see.text('body').includes(" + quote(text) + ")")
}

// WaitAbsent waits until the page no longer shows a text.
func (b *Tab) WaitAbsent(text string) {
	b.t.Helper()
	b.Wait("!__see.text('body').includes(" + quote(text) + ")")
}

// Text returns the visible text of a place, or "" if it does not exist.
func (b *Tab) Text(place string) string {
	b.t.Helper()
	s, _ := b.Eval("__see.text(" + quote(place) + ")").(string)
	return s
}

// Count returns the number of visible elements of a place.
func (b *Tab) Count(place string) int {
	b.t.Helper()
	n, _ := b.Eval("__see.all(" + quote(place) + ").length").(float64)
	return int(n)
}

// Spoken returns the role and the name that a screen reader announces for a place, such as "button
// Approve". The states of the element (pressed, expanded, invalid, …) follow in parentheses. The
// place ":focus" is the focused element.
func (b *Tab) Spoken(place string) string {
	b.t.Helper()
	r := call(b, runtime.Evaluate, runtime.EvaluateParams{Expression: "__see.one(" + quote(place) + ")"})
	if r.ExceptionDetails != nil || r.Result.ObjectID == "" {
		b.t.Fatalf("no element for %s", place)
	}
	no := false
	tree := call(b, accessibility.GetPartialAXTree, accessibility.GetPartialAXTreeParams{ObjectID: r.Result.ObjectID, FetchRelatives: &no})
	for _, n := range tree.Nodes {
		if !n.Ignored {
			return spoken(n)
		}
	}
	return ""
}

// states lists the ARIA states that Spoken includes.
var states = "checked pressed expanded selected disabled invalid required readonly"

func spoken(n *accessibility.Node) string {
	word := func(v *accessibility.Value) string {
		if v == nil || len(v.Value) == 0 {
			return ""
		}
		return strings.TrimSpace(strings.Trim(string(v.Value), `"`)) // Chromium 148 retains the blank before a leading sign
	}
	out := word(n.Role) + " " + word(n.Name)
	var in []string
	for _, p := range n.Properties {
		if w := word(p.Value); strings.Contains(states, string(p.Name)) && w != "false" && w != "" {
			in = append(in, strings.TrimSuffix(string(p.Name)+"="+w, "=true"))
		}
	}
	if len(in) > 0 {
		out += " (" + strings.Join(in, ", ") + ")"
	}
	return out
}

func quote(s string) string {
	data, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(data)
}

func short(s string) string {
	if len(s) > 300 {
		return s[:300] + "…"
	}
	return s
}

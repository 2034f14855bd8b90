package browser

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"
)

func TestMain(m *testing.M) { os.Exit(Main(m)) }

const shown = `<!doctype html><html lang="en"><head><meta name="viewport" content="width=device-width"><title>t</title><link rel="icon" href="data:,">
<style>#over { position: fixed; inset: 0; background: #eee } .off { display: none } button { height: 44px }</style></head><body><main>
<h1>Things</h1><p class="off">hidden</p><label>Name <input id="name" required></label>
<button data-testid="go" aria-pressed="false">Go</button> <button disabled>No</button> <button id="late" aria-disabled="true" onclick="this.ariaDisabled === 'true' || (out.textContent = 'late')">Late</button><output></output>
<div id="over" hidden>over</div></main><script>
const out = document.querySelector("output");
document.querySelector("[data-testid=go]").addEventListener("click", (e) => { out.textContent = "went as " + document.querySelector("#name").value; e.target.setAttribute("aria-pressed", "true"); });
addEventListener("keydown", (e) => { if (e.key === "?" || e.key === "Escape" || e.ctrlKey) out.textContent = "key " + (e.ctrlKey ? "ctrl " : "") + e.key; });
window.busy = (n) => { let x = 1; for (let i = 0; i < n * 1e6; i++) x = x * 7 % 13; return x; };
</script></body></html>`

// serve starts a server for pages by path and returns its address.
func serve(t *testing.T, pages map[string]string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p, ok := pages[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, p)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// witness is a testing.TB that records failures instead of failing.
type witness struct {
	testing.TB
	messages []string
}

func (w *witness) Helper()                   {}
func (w *witness) Errorf(f string, a ...any) { w.messages = append(w.messages, fmt.Sprintf(f, a...)) }
func (w *witness) Logf(f string, a ...any) {
	w.messages = append(w.messages, "log: "+fmt.Sprintf(f, a...))
}

func TestTabActions(t *testing.T) {
	b := Open(t)
	b.Go(serve(t, map[string]string{"/": shown}))
	b.See("Things")
	if text := b.Text("body"); strings.Contains(text, "hidden") {
		t.Errorf("Text contains the text of hidden elements: %s", text)
	}
	b.Click("#name")
	b.Type("Ada ✓")
	if got := b.Spoken(":focus"); got != "textbox Name (required)" {
		t.Errorf("Spoken of the focused element = %q", got)
	}
	b.Press("Tab", "Enter")
	b.See("went as Ada ✓")
	if got := b.Spoken("@go"); got != "button Go (pressed)" {
		t.Errorf("Spoken of the button = %q", got)
	}
	for keys, text := range map[string]string{"?": "key ?", "Escape": "key Escape", "Ctrl+k": "key ctrl k"} {
		b.Press(keys)
		b.See(text)
	}
	b.Eval("setTimeout(() => over.hidden = true, 50); over.hidden = false")
	b.Click("=Go")
	b.See("went as")
	b.Eval("setTimeout(() => late.ariaDisabled = 'false', 50)")
	b.Click("=Late") // Click waits until the button is enabled
	b.See("late")
	if n := b.Count("button"); n != 3 {
		t.Errorf("number of buttons = %d", n)
	}
	b.Axe()
}

func TestTabsOfAProfileShareItsStorage(t *testing.T) {
	Full(t)
	url := serve(t, map[string]string{"/": shown})
	one, other := Open(t), Open(t)
	one.Go(url)
	one.Eval("localStorage.x = 1")
	other.Go(url)
	if v := other.Eval("localStorage.x ?? null"); v != nil {
		t.Errorf("cookie or storage in a tab of another test = %v", v)
	}
	beside := one.Beside()
	beside.Go(url)
	if v := beside.Eval("localStorage.x"); v != "1" {
		t.Errorf("storage in a tab of the same profile = %v", v)
	}
}

func TestEmulation(t *testing.T) {
	Full(t)
	b := Open(t)
	url := serve(t, map[string]string{"/": shown})
	b.Go(url)
	b.Emulate(Phone, Dark)
	if v := b.Eval(`[innerWidth, devicePixelRatio, matchMedia("(prefers-color-scheme: dark)").matches, matchMedia("(pointer: coarse)").matches, matchMedia("(hover: none)").matches].join()`); v != "390,2,true,true,true" {
		t.Errorf("media features of a phone with a dark theme = %v", v)
	}
	b.Tap("@go")
	b.See("went as")
	b.Emulate(Desk, Contrast)
	if v := b.Eval(`[innerWidth, matchMedia("(prefers-contrast: more)").matches, matchMedia("(pointer: coarse)").matches].join()`); v != "1280,true,false" {
		t.Errorf("media features of a desk with more contrast = %v", v)
	}
	b.Expect("ERR_INTERNET_DISCONNECTED")
	b.Offline(true)
	if v := b.Eval("fetch('/').then(() => 'there', () => 'cut').then((s) => s + navigator.onLine)"); v != "cutfalse" {
		t.Errorf("state while offline = %v", v)
	}
	b.Offline(false)
	if v := b.Eval("fetch('/').then(() => 'there', () => 'cut').then((s) => s + navigator.onLine)"); v != "theretrue" {
		t.Errorf("state after going online again = %v", v)
	}
}

func TestTasksAreMeasured(t *testing.T) {
	Full(t)
	b := Open(t)
	b.Go(serve(t, map[string]string{"/": shown}))
	long := b.Tasks(50*time.Millisecond, func() { b.Eval("new Promise((done) => setTimeout(() => done(busy(100))))") })
	if len(long) != 1 || long[0] > 10*time.Second {
		t.Errorf("Tasks during a long task = %v", long)
	}
	if long := b.Tasks(50*time.Millisecond, func() { b.Eval("busy(0.1)") }); len(long) != 0 {
		t.Errorf("Tasks during a short task = %v", long)
	}
}

func TestPageErrorsAreReported(t *testing.T) {
	Full(t)
	b := Open(t)
	b.Go(serve(t, map[string]string{"/": `<!doctype html><title>t</title><link rel="icon" href="data:,"><body><img src="data:,"><button></button>`}))
	w := &witness{TB: t}
	real := b.t
	b.t = w
	b.Axe()
	b.t = real
	if s := strings.Join(w.messages, ""); !strings.Contains(s, "button-name") || !strings.Contains(s, "image-alt") {
		t.Errorf("errors reported by Axe = %s", s)
	}
	for _, text := range []string{"one", "two", "three"} {
		b.Expect(text)
	}
	b.Expect("/gone")
	b.Eval(`void (console.error("one", {a: 1}), setTimeout(() => { throw new Error("two") }), Promise.reject(new Error("three")), fetch("/gone"))`)
	for until := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		w := &witness{TB: t}
		unexpected := &watch{}
		b.watch.mu.Lock()
		unexpected.errors = append([]string(nil), b.watch.errors...)
		b.watch.mu.Unlock()
		unexpected.report(w)
		s := strings.Join(w.messages, "\n")
		if strings.Contains(s, "one") && strings.Contains(s, "not caught: Uncaught Error: two") && strings.Contains(s, "three") && strings.Contains(s, "404") {
			return
		}
		if time.Now().After(until) {
			t.Fatalf("reported console errors:\n%s", s)
		}
	}
}

// square returns a picture with the given number of black pixels.
func square(t *testing.T, black int) []byte {
	t.Helper()
	m := image.NewNRGBA(image.Rect(0, 0, 100, 100))
	for i := range 100 * 100 {
		c := color.NRGBA{250, 250, 250, 255}
		if i < black {
			c = color.NRGBA{0, 0, 0, 255}
		}
		m.Set(i%100, i/100, c)
	}
	var out bytes.Buffer
	if err := png.Encode(&out, m); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestPicturesMayDifferALittle(t *testing.T) {
	if how := differs(square(t, 10), square(t, 0)); how != "" {
		t.Errorf("comparison with one thousandth of different pixels: %s", how)
	}
	if how := differs(square(t, 40), square(t, 0)); how != "the picture has changed" {
		t.Errorf("comparison with four thousandths of different pixels: %q", how)
	}
	if how := differs([]byte("x"), square(t, 0)); !strings.Contains(how, "no PNG") {
		t.Errorf("comparison with an invalid picture: %q", how)
	}
}

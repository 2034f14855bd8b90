// Package browser drives a real browser, Chromium without a window, for the tests of
// pages (its API promises nothing). One process serves all tests of a package, each in a tab of its own, whose
// cookies and storage nobody shares; a test fails when its page's console says an
// error. What a test does goes through mouse and keyboard, and what it asks is what
// a person sees or is told. Only tests import it.
package browser

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// Names under which a browser is looked for, when CONCERTO_CHROMIUM names none.
var names = []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"}

// without are what the browser would do beside, for each profile and each window: two pages of its own for the
// suggestions of an address bar that nobody sees cost it as much as all that a test shows.
const without = "Translate,BlinkGenPropertyTrees,WebUIOmniboxPopup,WebUIOmniboxAimPopup,WebUIOmniboxFullPopup,SpareRendererForSitePerProcess"

// patience is how long a page may take for what a test waits for. No test waits so long but one that fails, and
// those of a machine that has much else to do.
const patience = 2 * time.Minute

// process is the browser of this test binary.
var process struct {
	sync.Mutex
	main    bool // Main runs, and will end it
	started bool
	ctx     context.Context
	close   func()
	err     error
}

// Main runs a package's tests, and ends the browser that they started; it gives
// the exit code. A package whose tests call Open has
//
//	func TestMain(m *testing.M) { os.Exit(browser.Main(m)) }
func Main(m *testing.M) int {
	process.Lock()
	process.main = true
	process.Unlock()
	code := m.Run()
	process.Lock()
	defer process.Unlock()
	if process.close != nil {
		process.close()
	}
	return code
}

// Need skips a test when there is no browser, and says what to install.
func Need(t testing.TB) {
	t.Helper()
	if _, err := find(); err != nil {
		t.Skip(err)
	}
}

// Full skips what takes long when the race detector runs: it looks at Go's memory, of
// which a browser has none, and slows the machine that both share. It is for tests
// after the first of their kind.
func Full(t testing.TB) {
	t.Helper()
	if raced {
		t.Skip("without the race detector: a test of the same kind ran")
	}
}

// find gives the path of the browser.
func find() (string, error) {
	if path := os.Getenv("CONCERTO_CHROMIUM"); path != "" {
		return path, nil
	}
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("no Chromium is found: install the Debian package chromium")
}

// start starts the browser, once.
func start() (context.Context, error) {
	process.Lock()
	defer process.Unlock()
	if !process.main {
		return nil, fmt.Errorf("the package's TestMain must call browser.Main")
	}
	if process.started {
		return process.ctx, process.err
	}
	process.started = true
	path, err := find()
	if err != nil {
		process.err = err
		return nil, err
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path),
		chromedp.NoSandbox, // root may have none, and the pages are our own
		chromedp.Flag("font-render-hinting", "none"),
		chromedp.Flag("disable-lcd-text", true),
		chromedp.Flag("lang", "en-US"),
		chromedp.Flag("host-resolver-rules", "MAP *.test 127.0.0.1"), // a server of the tests may have a name
		chromedp.Flag("ignore-certificate-errors", true),             // and speak https by a certificate of its own
		chromedp.Flag("disable-features", without),
		chromedp.Env("TZ=UTC", "LANG=C.UTF-8"),
		chromedp.WSURLReadTimeout(patience),
	)
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, end := chromedp.NewContext(allocator, chromedp.WithLogf(func(string, ...any) {}), chromedp.WithErrorf(func(string, ...any) {}))
	if err := chromedp.Do(ctx); err != nil {
		end()
		stop()
		process.err = fmt.Errorf("start %s: %w", path, err)
		return nil, process.err
	}
	process.ctx, process.close = ctx, func() { end(); stop() }
	return ctx, nil
}

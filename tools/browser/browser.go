// Package browser drives a real browser, headless Chromium, for the tests of pages. One process
// serves all tests of a package; each test has a tab with its own cookies and storage. A test fails
// when the console of its page reports an error. Tests act by mouse and keyboard, and check what a
// person sees or a screen reader announces. Only tests import the package.
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

// names lists the commands that are tried if CONCERTO_CHROMIUM is not set.
var names = []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"}

// without lists the browser features to disable. Two of them are pages for the suggestions of the
// address bar. No test uses these pages, and loading them takes as long as a whole test.
const without = "Translate,BlinkGenPropertyTrees,WebUIOmniboxPopup,WebUIOmniboxAimPopup,WebUIOmniboxFullPopup,SpareRendererForSitePerProcess"

// patience is the maximum time that a test waits for the page. Only failing tests and busy machines
// wait nearly that long.
const patience = 2 * time.Minute

// process is the browser of this test binary.
var process struct {
	sync.Mutex
	main    bool // Main is running and will stop the browser
	started bool
	ctx     context.Context
	close   func()
	err     error
}

// Main runs a package's tests, stops the browser they started, and returns the exit code. A package
// whose tests call Open declares
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

// Need skips a test if there is no browser, and names the package to install.
func Need(t testing.TB) {
	t.Helper()
	if _, err := find(); err != nil {
		t.Skip(err)
	}
}

// Full skips a slow test under the race detector. The detector checks only the memory of Go code
// and slows down the browser. Full is for tests that exercise the same Go code as another test.
func Full(t testing.TB) {
	t.Helper()
	if raced {
		t.Skip("not run under the race detector: another test covers the same Go code")
	}
}

// find returns the path of the browser.
func find() (string, error) {
	if path := os.Getenv("CONCERTO_CHROMIUM"); path != "" {
		return path, nil
	}
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("no Chromium found: install the Debian package chromium")
}

// start starts the browser once.
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
		chromedp.NoSandbox, // root cannot use the sandbox, and the tests load only their own pages
		chromedp.Flag("font-render-hinting", "none"),
		chromedp.Flag("disable-lcd-text", true),
		chromedp.Flag("lang", "en-US"),
		chromedp.Flag("host-resolver-rules", "MAP *.test 127.0.0.1"), // host names for the servers of the tests
		chromedp.Flag("ignore-certificate-errors", true),             // the servers of the tests have self-signed certificates
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

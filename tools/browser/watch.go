package browser

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/serviceworker"
)

// watch records console errors, trace events and service workers of a page.
type watch struct {
	mu       sync.Mutex
	errors   []string
	expected []string
	trace    trace
	workers  []*serviceworker.Registration
}

// Expect allows console errors that contain this text. For example, a test of wrong credentials
// expects an error that contains 401.
func (b *Tab) Expect(text string) {
	b.watch.mu.Lock()
	defer b.watch.mu.Unlock()
	b.watch.expected = append(b.watch.expected, text)
}

// handle handles an event of the browser.
func (w *watch) handle(event any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeAssert {
			var words []string
			for _, a := range e.Args {
				words = append(words, objectText(a))
			}
			w.errors = append(w.errors, "console.error: "+strings.Join(words, " "))
		}
	case *runtime.EventExceptionThrown:
		w.errors = append(w.errors, "not caught: "+thrown(e.ExceptionDetails))
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError {
			w.errors = append(w.errors, fmt.Sprintf("%s: %s (%s)", e.Entry.Source, e.Entry.Text, e.Entry.URL))
		}
	case *serviceworker.EventWorkerRegistrationUpdated:
		w.workers = append(w.workers, e.Registrations...)
	default:
		w.trace.handle(event)
	}
}

// registration returns the latest service worker registration of an origin, or "".
func (w *watch) registration(origin string) serviceworker.RegistrationID {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range slices.Backward(w.workers) {
		if r.ScopeURL == origin+"/" && !r.IsDeleted {
			return r.RegistrationID
		}
	}
	return ""
}

// report fails the test for each console error that the test did not expect.
func (w *watch) report(t testing.TB) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
errors:
	for _, e := range w.errors {
		for _, x := range w.expected {
			if strings.Contains(e, x) {
				continue errors
			}
		}
		t.Errorf("the page's console logs an error:\n%s", e)
	}
}

func objectText(o *runtime.RemoteObject) string {
	if o.Description != "" {
		return o.Description
	}
	return string(o.Value)
}

func thrown(x *runtime.ExceptionDetails) string {
	what := x.Text
	if x.Exception != nil {
		what += " " + objectText(x.Exception)
	}
	return fmt.Sprintf("%s (%s:%d)", what, x.URL, x.LineNumber+1)
}

package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"testing"

	"github.com/concerto-lang/concerto/internal/playground/link"
	"github.com/concerto-lang/concerto/internal/playground/server"
	"github.com/concerto-lang/concerto/tools/browser"
)

// temporary is the directory of the playground that the tests have built, or "".
var temporary string

// built returns the directory of a playground for all tests. CONCERTO_PLAYGROUND names one that is
// already built.
var built = sync.OnceValues(func() (string, error) {
	if dir := os.Getenv("CONCERTO_PLAYGROUND"); dir != "" {
		return dir, nil
	}
	dir, err := os.MkdirTemp("", "playground-test-")
	if err != nil {
		return "", err
	}
	temporary = dir
	return dir, run("../..", dir, true)
})

func TestMain(m *testing.M) {
	code := browser.Main(m)
	if temporary != "" {
		_ = os.RemoveAll(temporary) // what is left is in the directory of temporary files
	}
	os.Exit(code)
}

// visit opens the playground with the given files, and waits until it is ready.
func visit(t *testing.T, files map[string]string) (b *browser.Tab, address string) {
	t.Helper()
	return visitVia(t, files, func(playground http.Handler) http.Handler { return playground })
}

// visitVia is like visit. The server answers with via's handler.
func visitVia(t *testing.T, files map[string]string, via func(playground http.Handler) http.Handler) (b *browser.Tab, address string) {
	t.Helper()
	browser.Need(t)
	t.Parallel()
	dir, err := built()
	if err != nil {
		t.Fatal(err)
	}
	var content *link.Content
	if files != nil {
		content = &link.Content{Files: files, Open: "main.conc"}
	}
	h, err := server.New(dir, content, false)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(via(h))
	t.Cleanup(s.Close)
	b = browser.Open(t)
	b.Go(s.URL + "/")
	b.Eval("playground.ready.then(() => true)")
	return b, s.URL
}

// result is the result of window.playground.run.
type result struct {
	Code           int
	Stdout, Stderr string
	Emits          []struct {
		Channel string
		Payload any
	}
}

// evaluate evaluates an expression and decodes its value.
func evaluate[T any](t *testing.T, b *browser.Tab, expression string) (out T) {
	t.Helper()
	text, err := json.Marshal(b.Eval(expression))
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// awaitState waits for a state of the page.
func awaitState(b *browser.Tab, state string) {
	b.Wait(fmt.Sprintf("document.querySelector('[data-testid=status]').dataset.state === %q", state))
}

func TestHello(t *testing.T) {
	b, _ := visit(t, map[string]string{"main.conc": "fn main() {\n    println(\"hello\");\n}\n"})
	b.Click("@run")
	awaitState(b, "done")
	if got := b.Text("@output"); got != "hello\n" {
		t.Errorf("output = %q", got)
	}
	r := evaluate[result](t, b, "playground.run()")
	if r.Code != 0 || r.Stdout != "hello\n" || r.Stderr != "" || len(r.Emits) != 0 {
		t.Errorf("playground.run() = %+v", r)
	}
}

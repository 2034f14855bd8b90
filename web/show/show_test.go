package main

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/concerto-lang/concerto/internal/browser"
)

func TestMain(m *testing.M) { os.Exit(browser.Main(m)) }

// show opens the page of a part.
func show(t *testing.T, part string) *browser.Tab {
	t.Helper()
	browser.Need(t)
	page, err := open(os.DirFS(".."))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(secured(page))
	t.Cleanup(server.Close)
	b := browser.Open(t)
	b.Go(server.URL + "/components.html#" + part)
	b.Wait("document.querySelector('section.part')")
	return b
}

// TestScreenshots writes pictures of all parts into a directory, to be looked at.
func TestScreenshots(t *testing.T) {
	dir := os.Getenv("CONCERTO_SCREENSHOTS")
	if dir == "" {
		t.Skip("CONCERTO_SCREENSHOTS names no directory")
	}
	for _, part := range []string{"approval", "forms", "elements", "texts", "notices", "diffs", "json", "thread"} {
		b := show(t, part)
		for _, d := range []browser.Device{browser.Desk, browser.Phone} {
			for _, th := range []browser.Theme{browser.Light, browser.Dark} {
				b.Emulate(d, th)
				if err := os.WriteFile(filepath.Join(dir, part+"-"+d.Name+"-"+th.Name+".png"), b.Screenshot("main"), 0o666); err != nil {
					t.Fatal(err)
				}
			}
		}
		b.Axe()
	}
}

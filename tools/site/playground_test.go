package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/tools/browser"
)

// runAll clicks all buttons of samples in the page, and returns what each shows.
const runAll = `(async () => {
	const out = [];
	for (const s of document.querySelectorAll("[data-testid=sample]")) {
		const button = s.querySelector("[data-testid=run-sample]");
		button.click();
		const until = performance.now() + 60000;
		let waits = 0;
		while (button.textContent !== "Run") {
			await new Promise((done) => setTimeout(done, 20));
			if (s.querySelector(".state").textContent.startsWith("The program waits") && ++waits === 50 || performance.now() > until) button.click();
		}
		out.push({ state: s.querySelector(".state").textContent, text: s.querySelector("[data-testid=sample-output]").textContent });
	}
	return out;
})()`

// playgroundDir returns the directory of a built playground: CONCERTO_PLAYGROUND, or that of
// `make playground`.
func playgroundDir(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("CONCERTO_PLAYGROUND")
	if dir == "" {
		dir = filepath.Join(root, "bin", "playground")
	}
	if _, err := os.Stat(filepath.Join(dir, "index.html")); err != nil {
		t.Skip("there is no playground: run make playground, or set CONCERTO_PLAYGROUND")
	}
	return dir
}

// TestSamplesInPlayground runs each sample in its page, with the site's playground. It must print
// the documented output, where … matches any part of a line.
func TestSamplesInPlayground(t *testing.T) {
	browser.Full(t)
	browser.Need(t)
	dir := playgroundDir(t)
	s, err := read(root, "1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	files, err := buildSite(dir)
	if err != nil {
		t.Fatal(err)
	}
	b := browser.Open(t)
	b.Expect("404") // programs may read files that do not exist
	address := serve(t, "", files)
	total := 0
	for _, p := range s.pages() {
		blocks := blocksOf(p.Text)
		samples := samplesOf(p, blocks)
		if len(samples) == 0 || p == s.home { // TestHome answers the question of the first page
			continue
		}
		var want []string
		for _, block := range blocks {
			if x := samples[block]; x != nil {
				want = append(want, x.Output.Text)
			}
		}
		b.Go(address + "/" + p.Path + ".html")
		rows := b.Eval(runAll).([]any)
		if len(rows) != len(want) {
			t.Errorf("%s has %d samples, expected %d", p.Path, len(rows), len(want))
			continue
		}
		for i, row := range rows {
			total++
			r := row.(map[string]any)
			pattern := `\A` + strings.ReplaceAll(regexp.QuoteMeta(want[i]), "…", ".*") + `\z`
			text := r["text"].(string)
			if matched, err := regexp.MatchString(pattern, text); err != nil || !matched {
				t.Errorf("%s: sample %d prints\n%s\nexpected\n%s\nstate: %v", p.Path, i+1, text, want[i], r["state"])
			}
		}
	}
	t.Logf("%d samples", total)
}

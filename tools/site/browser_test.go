package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/concerto-lang/concerto/tools/browser"
)

// serve serves the site below an address.
func serve(t *testing.T, prefix string, files map[string][]byte) string {
	t.Helper()
	tree := fstest.MapFS{}
	for name, data := range files {
		tree[name] = &fstest.MapFile{Data: data}
	}
	s := httptest.NewServer(http.StripPrefix(prefix, http.FileServerFS(tree)))
	t.Cleanup(s.Close)
	return s.URL + prefix
}

// contrastCheck returns the texts of the page whose contrast with their background is below 4.5. It
// compares each pair of colours once, which is much faster than the rule of axe.
const contrastCheck = `(() => {
	const canvas = Object.assign(document.createElement("canvas"), { width: 1, height: 1 }).getContext("2d", { willReadFrequently: true });
	const known = new Map();
	const rgb = (color) => {
		if (!known.has(color)) {
			canvas.clearRect(0, 0, 1, 1);
			canvas.fillStyle = color;
			canvas.fillRect(0, 0, 1, 1);
			known.set(color, [...canvas.getImageData(0, 0, 1, 1).data]);
		}
		return known.get(color);
	};
	const luminance = (c) => c.slice(0, 3).map((v) => v / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)).reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
	const pairs = new Map();
	const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	while (walker.nextNode()) {
		const e = walker.currentNode.parentElement;
		if (!walker.currentNode.data.trim() || e.closest("script, style, [hidden], .anchor")) continue;
		let at = e;
		while (at.parentElement && rgb(getComputedStyle(at).backgroundColor)[3] === 0) at = at.parentElement;
		pairs.set(getComputedStyle(e).color + " on " + getComputedStyle(at).backgroundColor, e);
	}
	const out = [];
	for (const [pair, e] of pairs) {
		const [a, b] = pair.split(" on ").map((c) => luminance(rgb(c)));
		const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
		if (ratio < 4.5) out.push("contrast " + ratio.toFixed(2) + ": " + pair + ": " + e.outerHTML.slice(0, 120));
	}
	return out;
})()`

// axeCheck runs axe in the page and returns the errors.
const axeCheck = `axe.run(document, { resultTypes: ["violations"], rules: { "color-contrast": { enabled: false } }, runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] }).then((r) => r.violations.map((v) => v.id + ": " + v.nodes.slice(0, 3).map((n) => n.html.slice(0, 160) + " " + n.failureSummary).join("\n")))`

// sampled is the number of pages of diagnostics of which one is checked with axe. They have the
// same form. CONCERTO_SITE_ALL=1 checks all.
const sampled = 12

// TestPagesInBrowser opens each page once, in the light and in the dark theme. The console must
// stay empty, all requests must go to the server of the site, texts must have enough contrast, and
// axe must find no error.
func TestPagesInBrowser(t *testing.T) {
	browser.Full(t)
	browser.Need(t)
	files := siteFiles(t)
	address := serve(t, "", files)
	var names []string
	for name := range files {
		if path.Ext(name) == ".html" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	axe, err := os.ReadFile(filepath.Join(root, "tools", "browser", "axe", "axe.min.js"))
	if err != nil {
		t.Fatal(err)
	}
	const tabs = 2
	for i := range tabs {
		t.Run(fmt.Sprintf("tab %d", i+1), func(t *testing.T) {
			t.Parallel()
			b := browser.Open(t)
			for n := i; n < len(names); n += tabs {
				source := string(axe)
				if strings.HasPrefix(names[n], "diagnostics/") && n%sampled > 1 && os.Getenv("CONCERTO_SITE_ALL") == "" {
					source = ""
				}
				checkPage(t, b, address+"/"+names[n], n%(2*tabs) < tabs, source)
			}
		})
	}
}

func checkPage(t *testing.T, b *browser.Tab, address string, lightFirst bool, axe string) {
	t.Helper()
	themes := []browser.Theme{browser.Light, browser.Dark}
	if !lightFirst {
		slices.Reverse(themes)
	}
	b.Emulate(browser.Desk, themes[0])
	b.Go(address)
	found := b.Eval(contrastCheck).([]any)
	b.Emulate(browser.Desk, themes[1])
	found = append(found, b.Eval(contrastCheck).([]any)...)
	if axe != "" {
		b.Eval(axe + "; 0")
		found = append(found, b.Eval(axeCheck).([]any)...)
	}
	for _, f := range found {
		t.Errorf("%s: %s", address, f)
	}
	foreign := b.Eval(`performance.getEntriesByType("resource").map((e) => e.name).filter((n) => !n.startsWith(location.origin + "/"))`).([]any)
	if len(foreign) > 0 {
		t.Errorf("%s makes requests to other servers: %v", address, foreign)
	}
}

// query is a line of docs/queries.txt.
type query struct{ text, page string }

func queries(t *testing.T) (all []query) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "docs", "queries.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if q, page, ok := strings.Cut(strings.TrimSpace(line), " -> "); ok && !strings.HasPrefix(line, "#") {
			all = append(all, query{q, page})
		}
	}
	if len(all) < 50 {
		t.Fatalf("docs/queries.txt has %d queries, expected at least 50", len(all))
	}
	return all
}

// maxAnswer is the maximum time of a search in the page, in milliseconds. A busy machine may need
// more for one of the queries, so the median counts.
const maxAnswer = 50

// TestQueries checks that each query of docs/queries.txt finds its page among the first three
// results.
func TestQueries(t *testing.T) {
	browser.Need(t)
	files := siteFiles(t)
	b := browser.Open(t)
	b.Go(serve(t, "", files) + "/index.html")
	all := queries(t)
	var texts []string
	for _, q := range all {
		if files[q.page+".html"] == nil {
			t.Errorf("%q: there is no page %s", q.text, q.page)
		}
		texts = append(texts, q.text)
	}
	list, err := json.Marshal(texts)
	if err != nil {
		t.Fatal(err)
	}
	b.Eval("concertoSite.search('warm up').then(() => 0)")
	rows := b.Eval(fmt.Sprintf(`(async () => { const out = []; for (const q of %s) { const from = performance.now(); const r = await concertoSite.search(q); out.push({ pages: r.map((x) => x.path), ms: performance.now() - from }); } return out; })()`, list)).([]any)
	var times []float64
	for i, row := range rows {
		r := row.(map[string]any)
		times = append(times, r["ms"].(float64))
		var pages []string
		for _, p := range r["pages"].([]any) {
			pages = append(pages, p.(string))
		}
		if !slices.Contains(pages[:min(3, len(pages))], all[i].page) {
			t.Errorf("%q does not find %s among the first three: %v", all[i].text, all[i].page, pages[:min(6, len(pages))])
		}
	}
	slices.Sort(times)
	t.Logf("%d queries: median %.1f ms, maximum %.1f ms", len(times), times[len(times)/2], times[len(times)-1])
	if times[len(times)/2] > maxAnswer {
		t.Errorf("the median of the answers is %.1f ms; the maximum is %d ms", times[len(times)/2], maxAnswer)
	}
}

// TestSearchFromFile uses the search by keyboard in a page that is opened as a file.
func TestSearchFromFile(t *testing.T) {
	browser.Need(t)
	dir := t.TempDir()
	if err := write(filepath.Join(dir, "site"), siteFiles(t)); err != nil {
		t.Fatal(err)
	}
	b := browser.Open(t)
	b.Go("file://" + filepath.ToSlash(dir) + "/site/guide/02-agent.html")
	b.Press("/")
	if got := b.Spoken(":focus"); got != "searchbox Search the documentation" {
		t.Errorf("the key / focuses %q", got)
	}
	b.Type("E0304")
	b.Wait(`document.querySelectorAll("[data-testid=search-results] a").length > 0`)
	b.Press("ArrowDown")
	b.Press("Enter")
	b.Wait(`location.pathname.endsWith("/diagnostics/E0304.html") && document.readyState === "complete"`)
	b.Go("file://" + filepath.ToSlash(dir) + "/site/guide/02-agent.html")
	b.Click("@search")
	b.Type("zzzzzz")
	b.See("No page contains “zzzzzz”.")
	b.Press("Escape")
	b.WaitAbsent("No page contains")
	b.Click("@run-sample")
	b.See("Running samples requires HTTP")
}

// TestFix applies a fix in the page of a diagnostic, and undoes it.
func TestFix(t *testing.T) {
	browser.Need(t)
	b := browser.Open(t)
	b.Go(serve(t, "", siteFiles(t)) + "/diagnostics/E0201.html")
	before := b.Text("article pre")
	b.Click("@apply-fix")
	b.See("Undo")
	after := b.Text("article pre")
	if before == after {
		t.Errorf("the fix does not change the program %s", before)
	}
	b.Click("@apply-fix")
	if again := b.Text("article pre"); again != before {
		t.Errorf("after undoing: %s, expected %s", again, before)
	}
}

// fakePlayground has the interface that the pages use. A run prints the names of the files and the
// text of main.conc.
const fakePlayground = `<!DOCTYPE html><html lang="en"><head><title>Fake</title></head><body><p data-testid="status" data-state="ready"></p><script>
let files;
window.playground = { ready: Promise.resolve(), put(f) { files = f; }, stop() {},
	run: async () => ({ code: 0, stdout: Object.keys(files).sort().join(" ") + "\n" + files["main.conc"], stderr: "", emits: [] }) };
</script></body></html>`

// TestRunSample runs samples with a fake playground, which receives their files, hosts and
// manifest.
func TestRunSample(t *testing.T) {
	browser.Need(t)
	files := map[string][]byte{}
	for name, data := range siteFiles(t) {
		files[name] = data
	}
	files["playground/index.html"] = []byte(fakePlayground)
	b := browser.Open(t)
	address := serve(t, "/deep/site", files)
	b.Go(address + "/guide/04-questions.html")
	b.Click("@run-sample")
	b.See("Done.")
	if out := b.Text("@sample-output"); !strings.HasPrefix(out, "Concerto.toml cleaner.host main.conc\nhost Cleaner {") {
		t.Errorf("the playground received %s", out)
	}
	b.Go(address + "/manual/02-values.html")
	b.Wait(`document.querySelectorAll("[data-testid=run-sample]").length > 3`)
	b.Eval(`[...document.querySelectorAll("[data-testid=sample]")].find((s) => "fragment" in s.dataset).querySelector("[data-testid=run-sample]").click()`)
	b.See("Done.")
	if out := b.Text("@sample-output"); !strings.HasPrefix(out, "main.conc\nfn main() {\n") {
		t.Errorf("the playground received %s", out)
	}
	b.Eval(`document.querySelector("[data-testid=sample] a").focus()`)
	b.Wait(`/index\.html#p1=[\w-]{20,}$/.test(document.querySelector("[data-testid=sample] a").href)`)
}

// TestNoPlayground runs a sample in a site without a playground.
func TestNoPlayground(t *testing.T) {
	browser.Need(t)
	b := browser.Open(t)
	b.Go(serve(t, "", siteFiles(t)) + "/index.html")
	b.Click("@run-sample")
	b.See("This build of the site has no playground.")
}

// TestVersions checks that the first page offers the other versions that ../versions.json lists.
func TestVersions(t *testing.T) {
	browser.Need(t)
	files := map[string][]byte{"versions.json": []byte(`["1.2.3", "1.1.0", "../evil"]`)}
	for name, data := range siteFiles(t) {
		files["1.2.3/"+name] = data
	}
	b := browser.Open(t)
	address := serve(t, "", files)
	b.Go(address + "/1.2.3/index.html")
	b.See("Other versions: 1.1.0")
	if n := b.Count("[data-testid=versions] a"); n != 1 {
		t.Errorf("%d versions are offered", n)
	}
	if n := b.Eval(`performance.getEntriesByType("resource").filter((e) => e.name.includes("versions.json")).length`); n != 1.0 {
		t.Errorf("the page requests the list %v times", n)
	}
}

// TestWithoutScript checks that a page has its text, navigation and links before its script runs.
func TestWithoutScript(t *testing.T) {
	text := string(siteFiles(t)["guide/02-agent.html"])
	for _, part := range []string{"<h1", "execute_with_schema", `href="03-host.html"`, `rel="next"`, `href="../manual/index.html"`} {
		if !strings.Contains(text, part) {
			t.Errorf("the page has no %s", part)
		}
	}
	if strings.Count(text, "<script") != 1 {
		t.Error("the page has other scripts than the site's")
	}
}

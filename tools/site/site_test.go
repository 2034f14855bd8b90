package main

import (
	"bytes"
	"compress/gzip"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/tools/browser"
)

// root is the repository.
const root = "../.."

func TestMain(m *testing.M) { os.Exit(browser.Main(m)) }

// built returns the files of the site with the page that replaces the playground. It builds them
// once.
var built = sync.OnceValues(func() (map[string][]byte, error) { return buildSite("") })

func buildSite(playground string) (map[string][]byte, error) {
	s, err := read(root, "1.2.3")
	if err != nil {
		return nil, err
	}
	files, err := s.files()
	if err == nil {
		err = addPlayground(files, s, playground)
	}
	return files, err
}

func siteFiles(t *testing.T) map[string][]byte {
	t.Helper()
	files, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// element is an element of a page that tests check.
type element struct {
	name       string
	attributes map[string]string
}

// elements parses a page as XML, which fails if it is not well-formed.
func elements(text []byte) (all []element, err error) {
	d := xml.NewDecoder(bytes.NewReader(text))
	for {
		t, err := d.Token()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		if start, ok := t.(xml.StartElement); ok {
			e := element{start.Name.Local, map[string]string{}}
			for _, a := range start.Attr {
				e.attributes[a.Name.Local] = a.Value
			}
			all = append(all, e)
		}
	}
}

// TestPages checks each page: it is well-formed, its links lead to files and anchors of the site,
// its identifiers and its title are unique, its Markdown is next to it, it names the version, and
// it is at most 120 kB with its lists of pages and headings, style sheet and script.
func TestPages(t *testing.T) {
	files := siteFiles(t)
	titles := map[string]string{}
	anchors := map[string]map[string]bool{}
	links := map[string][]string{}
	for name, text := range files {
		if path.Ext(name) != ".html" {
			continue
		}
		all, err := elements(text)
		if err != nil {
			t.Errorf("%s is not well-formed: %v", name, err)
			continue
		}
		anchors[name] = map[string]bool{}
		headings := 0
		for _, e := range all {
			if id := e.attributes["id"]; id != "" {
				if anchors[name][id] {
					t.Errorf("%s has two elements with the identifier %s", name, id)
				}
				anchors[name][id] = true
			}
			if len(e.name) == 2 && e.name[0] == 'h' && e.name[1] >= '1' && e.name[1] <= '6' && e.attributes["id"] == "" {
				t.Errorf("%s has a heading without an anchor", name)
			}
			if e.name == "h1" {
				headings++
			}
			for _, key := range []string{"href", "src"} {
				if to, ok := e.attributes[key]; ok {
					links[name] = append(links[name], to)
				}
			}
		}
		if headings != 1 {
			t.Errorf("%s has %d main headings", name, headings)
		}
		m := regexp.MustCompile(`<title>(.+)</title>`).FindSubmatch(text)
		if m == nil {
			t.Errorf("%s has no title", name)
		} else if other := titles[string(m[1])]; other != "" {
			t.Errorf("%s and %s have the same title", name, other)
		} else {
			titles[string(m[1])] = name
		}
		if size := len(text) + len(files["assets/style.css"]) + len(files["assets/site.js"]); size > 120<<10 {
			t.Errorf("%s has %d bytes with its style sheet and its script; the maximum is 120 kB", name, size)
		}
		if !bytes.Contains(text, []byte(`<span data-testid="version">1.2.3</span>`)) {
			t.Errorf("%s does not name the version", name)
		}
		if md := strings.TrimSuffix(name, ".html") + ".md"; len(files[md]) == 0 && name != "playground/index.html" {
			t.Errorf("%s has no %s", name, md)
		}
	}
	for name, all := range links {
		for _, to := range all {
			checkLink(t, files, anchors, name, to)
		}
	}
}

func checkLink(t *testing.T, files map[string][]byte, anchors map[string]map[string]bool, from, to string) {
	t.Helper()
	if strings.HasPrefix(to, "https://") {
		return
	}
	if strings.Contains(to, ":") || strings.HasPrefix(to, "/") {
		t.Errorf("%s has the link %s, which is not relative", from, to)
		return
	}
	file, anchor, _ := strings.Cut(to, "#")
	at := from
	if file != "" {
		at = path.Join(path.Dir(from), file)
	}
	if _, ok := files[at]; !ok {
		t.Errorf("%s links to %s, which does not exist", from, to)
	} else if anchor != "" && !anchors[at][anchor] {
		t.Errorf("%s links to %s, which has no such anchor", from, to)
	}
}

// TestMarkdownLinks checks the links of the Markdown pages and of llms.txt.
func TestMarkdownLinks(t *testing.T) {
	files := siteFiles(t)
	code := regexp.MustCompile("(?ms)^```.*?^```|`[^`\n]*`")
	for name, text := range files {
		if path.Ext(name) != ".md" && name != "llms.txt" || strings.HasPrefix(name, "files/") {
			continue
		}
		for _, m := range destination.FindAllSubmatch(code.ReplaceAll(text, nil), -1) {
			to, _, _ := strings.Cut(string(m[2]), "#")
			if to == "" || strings.Contains(to, "://") {
				continue
			}
			if _, ok := files[path.Join(path.Dir(name), to)]; !ok {
				t.Errorf("%s links to %s, which does not exist", name, m[2])
			}
		}
	}
	if n := len(files["llms.txt"]); n > 20<<10 {
		t.Errorf("llms.txt has %d bytes; the maximum is 20 kB", n)
	}
}

// TestContents checks that the site has a page for each chapter, module, code and example.
func TestContents(t *testing.T) {
	files := siteFiles(t)
	for pattern, at := range map[string]string{"docs/guide/*.md": "guide", "spec/*.md": "manual", "spec/std/*.md": "std"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(found) < 10 {
			t.Fatal(found, err)
		}
		for _, file := range found {
			if name := strings.TrimSuffix(filepath.Base(file), ".md"); name != "README" && name != "diagnostics" && files[at+"/"+name+".html"] == nil {
				t.Errorf("there is no page for %s", file)
			}
		}
	}
	fixes := 0
	for _, i := range diag.Catalogue() {
		text := files["diagnostics/"+i.Code+".html"]
		if text == nil {
			t.Errorf("there is no page for %s", i.Code)
		}
		if bytes.Contains(text, []byte(`data-testid="apply-fix"`)) {
			fixes++
		}
	}
	if fixes < 100 {
		t.Errorf("%d pages have a fix, expected at least 100", fixes)
	}
	samples := 0
	for _, text := range files {
		samples += bytes.Count(text, []byte(`data-testid="run-sample"`))
	}
	if samples < 175 {
		t.Errorf("the site has %d samples, expected at least 175", samples)
	}
	t.Logf("%d samples, %d pages with a fix, %d files", samples, fixes, len(files))
}

// TestSamples checks which blocks are the samples of a page.
func TestSamples(t *testing.T) {
	fences := func(text string) []*block { return blocksOf(strings.ReplaceAll(text, "'''", "```")) }
	manual := fences("'''toml page\nc\n'''\n'''host w\nh\n'''\n'''concerto fragment\na\n'''\n'''output\n1\n'''\n'''concerto norun\nb\n'''\n'''output\n2\n'''\n'''toml\nd\n'''\n'''concerto file=lib.conc\nl\n'''\n'''concerto\ne\n'''\n'''diagnostics\nx\n'''\n'''output\n3\n'''\n")
	describe := func(all map[*block]*sample) string {
		var lines []string
		for b, x := range all {
			names := slices.Sorted(maps.Keys(x.Files))
			lines = append(lines, fmt.Sprintf("%s %s %v %v %s", strings.TrimSpace(b.Text), x.Main, names, x.Fragment, strings.TrimSpace(x.Output.Text)))
		}
		slices.Sort(lines)
		return strings.Join(lines, "\n")
	}
	if got, want := describe(manualSamples(manual)), "a main.conc [Concerto.toml main.conc w.host] true 1\ne main.conc [Concerto.toml lib.conc main.conc] false 3"; got != want {
		t.Errorf("samples of the manual:\n%s\nexpected:\n%s", got, want)
	}
	walk := fences("'''toml file=Concerto.toml\nc\n'''\n'''host w\nh\n'''\n'''python file=w.py\np\n'''\n'''concerto file=main.conc\na\n'''\n'''output\n1\n'''\n'''concerto file=sub/x.conc\nb\n'''\n'''console\n$ x\n'''\n'''output\n2\n'''\n")
	if got, want := describe(walkSamples(walk)), "a main.conc [Concerto.toml main.conc w.host] false 1"; got != want {
		t.Errorf("samples of the guide:\n%s\nexpected:\n%s", got, want)
	}
}

// TestMachineSamples checks that the samples without a button exist.
func TestMachineSamples(t *testing.T) {
	s, err := read(root, "1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range onMachines {
		if p := s.byPath[m.page]; p == nil || !strings.Contains(p.Text, m.text) {
			t.Errorf("%s has no program with %s (%s)", m.page, m.text, m.reason)
		}
	}
}

// TestReproducible checks that two builds have the same bytes.
func TestReproducible(t *testing.T) {
	first := siteFiles(t)
	second, err := buildSite("")
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(slices.Sorted(maps.Keys(first)), slices.Sorted(maps.Keys(second))) {
		t.Error("the second build has other files")
	}
	for name, text := range first {
		if !bytes.Equal(text, second[name]) {
			t.Errorf("the second build has other bytes in %s", name)
		}
	}
}

// TestWrite checks that a build replaces an earlier one, and no other directory.
func TestWrite(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "site")
	if err := write(dir, map[string][]byte{"llms.txt": []byte("a"), "old/x.html": []byte("b")}); err != nil {
		t.Fatal(err)
	}
	if err := write(dir, map[string][]byte{"llms.txt": []byte("c")}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "old", "x.html")); err == nil {
		t.Error("the file of the earlier build still exists")
	}
	if err := write(root, nil); err == nil || !strings.Contains(err.Error(), "contains other files") {
		t.Errorf("writing into the repository: error %v", err)
	}
}

// TestStem checks that words with the same stem are the same to the search.
func TestStem(t *testing.T) {
	for _, words := range []string{"run runs running", "use uses used using", "query queries", "match matched matching", "approve approves approved approving approval approvals", "file files", "class", "status", "stop stopped stopping", "call calls called calling"} {
		all := strings.Fields(words)
		for _, w := range all {
			if stem(w) != stem(all[0]) {
				t.Errorf("stem(%q) = %q, stem(%q) = %q", w, stem(w), all[0], stem(all[0]))
			}
		}
	}
	for _, w := range strings.Fields("this news series bus") {
		if stem(w) == "" {
			t.Errorf("stem(%q) is empty", w)
		}
	}
	if got := fmt.Sprint(terms("fs::glob and max_tokens of HostApproval, E0304")); got != "[fs::glob fs glob max_tokens max token hostapproval host approv e0304]" {
		t.Errorf("terms = %s", got)
	}
}

// maxIndex is the maximum compressed size of the index in bytes.
const maxIndex = 300_000

func TestIndexSize(t *testing.T) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write(siteFiles(t)["assets/search-index.js"]); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if packed.Len() > maxIndex {
		t.Errorf("the index has %d bytes compressed; the maximum is %d", packed.Len(), maxIndex)
	}
	t.Logf("the index has %d bytes compressed", packed.Len())
}

// TestCommitVersion checks the version of this commit.
func TestCommitVersion(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	if v := commitVersion(root); !regexp.MustCompile(`^\d+\.\d+\.\d+`).MatchString(v) {
		t.Errorf("the version is %q", v)
	}
	if v := commitVersion(t.TempDir()); v != "0.0.0-dev" {
		t.Errorf("the version outside of a repository is %q", v)
	}
}

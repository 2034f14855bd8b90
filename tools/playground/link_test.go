package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/playground/link"
	"github.com/concerto-lang/concerto/tools/playground/samples"
)

func quote(text string) string {
	b, err := json.Marshal(text)
	if err != nil {
		panic(err) // texts can be encoded
	}
	return string(b)
}

func TestLinks(t *testing.T) {
	files := map[string]string{"main.conc": "fn main() { println(\"from a link 😀\"); }\n", "b/c.txt": "\x00 \u2028"}
	b, address := visit(t, nil)
	b.Eval("window.files = JSON.parse(" + quote(mustJSON(files)) + "); playground.put(window.files)")
	address = strings.TrimSuffix(address, "/")
	made := fmt.Sprint(b.Eval("playground.link()"))
	page, fragment, _ := strings.Cut(made, "#")
	if page != address+"/" {
		t.Errorf("link() = %s, want the address of the page, %s", page, address)
	}
	c, err := link.Decode("#" + fragment)
	if err != nil || mustJSON(c.Files) != mustJSON(files) || c.Open != "main.conc" {
		t.Errorf("the link contains %v, %v", c, err)
	}
	// a link of Go opens in the page, and does not run
	fragment, err = link.Encode(link.Content{Files: files, Open: "b/c.txt"})
	if err != nil {
		t.Fatal(err)
	}
	b.Go("about:blank")
	b.Go(address + "/" + fragment)
	b.Eval("playground.ready.then(() => true)")
	if got := evaluate[map[string]string](t, b, "playground.files()"); mustJSON(got) != mustJSON(files) {
		t.Errorf("the opened files are %v", got)
	}
	awaitState(b, "ready")
	// following a link in an open page
	other, err := link.Encode(link.Content{Files: map[string]string{"main.conc": "fn main() {}\n"}})
	if err != nil {
		t.Fatal(err)
	}
	b.Eval("location.hash = " + quote(other))
	b.Wait("Object.keys(playground.files()).length === 1")
}

func mustJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func TestRefusedLinks(t *testing.T) {
	b, _ := visit(t, nil)
	pack := func(content string) string { return fmt.Sprint(b.Eval("pack(" + quote(content) + ")")) }
	b.Eval(`window.pack = async (text) => {
		const bytes = new Uint8Array(await new Response(new Blob([text]).stream().pipeThrough(new CompressionStream("deflate-raw"))).arrayBuffer());
		let s = ""; for (const x of bytes) s += String.fromCharCode(x);
		return "#p1=" + btoa(s).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
	}`)
	large := fmt.Sprint(b.Eval(`pack(JSON.stringify({ files: { "main.conc": "x".repeat(1 << 20) }, open: "main.conc" }))`))
	for fragment, reason := range map[string]string{
		"#p1=":                                           "it cannot be decoded",
		"#p1=%%%":                                        "it cannot be decoded",
		"#p1=AAAA":                                       "it cannot be decoded",
		pack("not JSON"):                                 "it cannot be decoded",
		pack(`[]`):                                       "contains no files",
		pack(`{"files":{}}`):                             "contains no files",
		pack(`{"files":{"/etc/passwd":"x"}}`):            "is absolute",
		pack(`{"files":{"C:\\x":"x"}}`):                  "is absolute",
		pack(`{"files":{"a/../../b":"x"}}`):              "contains ..",
		pack(`{"files":{"a\u0000b":"x"}}`):               "is no text",
		pack(`{"files":{"main.conc":7}}`):                "is no text",
		pack(`{"files":{"main.conc":"\ud800"}}`):         "is no text",
		pack(`{"files":{"a":"x","a/b":"y"}}`):            "is also a directory",
		large:                                            "larger than 1 MiB",
		"#p1=" + strings.Repeat("A", 8<<20):              "larger than 1 MiB",
		pack(`{"files":{"main.conc":"x"}}`)[:14] + "zzz": "it cannot be decoded",
	} {
		b.Eval("playground.put({'main.conc': '// before'})")
		b.Eval("history.replaceState(null, '', location.pathname); location.hash = " + quote(fragment))
		b.Wait("document.querySelector('[data-testid=notice]').textContent.includes('This link was not opened: ')")
		if got := b.Text("@notice"); !strings.Contains(got, reason) {
			t.Errorf("%.60s: the notice is %q, want %q", fragment, got, reason)
		}
		b.Wait("playground.files()['main.conc'].includes('Greeter')") // the first example
		b.Eval("history.replaceState(null, '', location.pathname)")
	}
}

func TestSecretsAreNotShared(t *testing.T) {
	b, _ := visit(t, map[string]string{"main.conc": "fn main() {}\n", "Concerto.toml": "[connections.main]\nprovider = \"openai\"\napi_key_env = \"sk-proj-0123456789abcdef\"\n"})
	const want = "no link was created, because Concerto.toml contains a secret"
	if got := b.Eval("playground.link().catch((e) => e.message)"); got != want {
		t.Errorf("link() = %v", got)
	}
	b.Click("@share")
	b.See(want)
	if got := b.Eval("location.hash"); got != "" {
		t.Errorf("the address contains %v", got)
	}
}

// TestLinksOfExamplesAreShort checks that the link of each example has at most 8 kB.
func TestLinksOfExamplesAreShort(t *testing.T) {
	all, err := samples.Read("../..")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, x := range all {
		fragment, err := link.Encode(link.Content{Files: x.Files, Open: x.Open})
		if err != nil || len(fragment) > 8000 {
			t.Errorf("%s: the link has %d characters, %v", x.Name, len(fragment), err)
		}
		if slices.Contains(names, x.Name) {
			t.Errorf("two samples have the name %s", x.Name)
		}
		names = append(names, x.Name)
	}
}

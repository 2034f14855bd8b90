package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/concerto-lang/concerto/tools/browser"
)

// provider is a server with the API of OpenAI on this machine.
type provider struct {
	mu   sync.Mutex
	keys []string // values of Authorization
}

func (p *provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Access-Control-Allow-Headers", "*, Authorization")
	h.Set("Access-Control-Allow-Private-Network", "true")
	if r.Method == http.MethodOptions {
		return
	}
	p.mu.Lock()
	p.keys = append(p.keys, r.Header.Get("Authorization"))
	p.mu.Unlock()
	h.Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"id": "1", "model": "gpt", "usage": map[string]int{"prompt_tokens": 1, "completion_tokens": 1},
		"choices": []any{map[string]any{"index": 0, "finish_reason": "stop", "message": map[string]string{"role": "assistant", "content": "from the provider"}}}}) // the test sees a missing reply
}

// TestOwnKey checks that a key is sent to the provider and nowhere else, and is stored nowhere.
func TestOwnKey(t *testing.T) {
	p := &provider{}
	s := httptest.NewServer(p)
	defer s.Close()
	b, address := visit(t, map[string]string{
		"Concerto.toml": "[connections.main]\nprovider = \"openai\"\nbase_url = \"" + s.URL + "\"\napi_key_env = \"MY_KEY\"\ndefault_model = \"gpt\"\n",
		"main.conc":     "agent Greeter uses main { system_prompt: \"Be brief.\" }\n\nfn main() {\n    match Greeter.execute(\"Greet Ada\") {\n        Ok(r) => println(r.text),\n        Err(e) => println(e.message),\n    }\n}\n",
	})
	b.Click("@tab-agent")
	b.Eval(`(() => { const s = document.querySelector("[data-testid=agent-mode]"); s.value = "provider"; s.dispatchEvent(new Event("change", { bubbles: true })); })()`)
	if r := evaluate[result](t, b, "playground.run()"); !strings.Contains(r.Stdout, "environment variable MY_KEY, which contains the key, is not set") {
		t.Errorf("without a key: %+v", r)
	}
	if len(p.keys) != 0 {
		t.Errorf("requests before a key was used: %v", p.keys)
	}
	b.Click("@provider-key")
	b.Type("sk-of-the-user")
	r := evaluate[result](t, b, "playground.run()")
	if r.Stdout != "from the provider\n" || len(p.keys) != 1 || p.keys[0] != "Bearer sk-of-the-user" {
		t.Errorf("with a key: %+v, keys %v", r, p.keys)
	}
	for _, place := range []string{"JSON.stringify({...localStorage})", "JSON.stringify({...sessionStorage})", "document.cookie", "location.href", "playground.link()", "caches.keys().then(String)",
		"indexedDB.databases().then((d) => d.length ? 'sk-of-the-user' : '')"} {
		if got := fmt.Sprint(b.Eval(place)); strings.Contains(got, "sk-of-the-user") {
			t.Errorf("the key is in %s", place)
		}
	}
	b.Eval(`playground.put({...playground.files(), "Concerto.toml": playground.files()["Concerto.toml"].replace(/base_url = .*/, 'base_url = "https://collector.example"')})`)
	if r := evaluate[result](t, b, "playground.run()"); !strings.Contains(r.Stdout, "the network is not available in the playground, except to OpenAI, Anthropic, Gemini and servers on this machine") {
		t.Errorf("with another server: %+v", r)
	}
	b.Go(address + "/")
	b.Eval("playground.ready.then(() => true)")
	b.Click("@tab-agent")
	b.Eval(`(() => { const s = document.querySelector("[data-testid=agent-mode]"); s.value = "provider"; s.dispatchEvent(new Event("change", { bubbles: true })); })()`)
	b.Wait(`document.querySelector("[data-testid=provider-key]").value === ""`)
}

// TestRequestsAndStorage checks that the page loads its own files only and stores only the theme,
// and that it compiles one module.
func TestRequestsAndStorage(t *testing.T) {
	b, address := visit(t, nil)
	b.Eval("playground.put({'main.conc': 'fn main() { println(1); }'})")
	evaluate[result](t, b, "playground.run()")
	evaluate[result](t, b, "playground.run()")
	loaded := evaluate[[]string](t, b, `performance.getEntriesByType("resource").map((e) => e.name)`)
	modules := 0
	for _, url := range loaded {
		if !strings.HasPrefix(url, address+"/") {
			t.Errorf("the page has loaded %s", url)
		}
		if strings.HasSuffix(url, ".wasm") {
			modules++
		}
	}
	if modules != 1 {
		t.Errorf("the module was loaded %d times: %v", modules, loaded)
	}
	if got := b.Eval("JSON.stringify({...localStorage}) + document.cookie"); got != "{}" {
		t.Errorf("the page stores %v", got)
	}
	b.Eval(`(() => { const s = document.querySelector(".theme select"); s.value = "dark"; s.dispatchEvent(new Event("change", { bubbles: true })); })()`)
	if got := b.Eval("JSON.stringify({...localStorage})"); got != `{"theme":"dark"}` {
		t.Errorf("the page stores %v", got)
	}
}

// TestPageFromAFile checks the notice of a page that was opened without a server.
func TestPageFromAFile(t *testing.T) {
	browser.Need(t)
	t.Parallel()
	dir, err := built()
	if err != nil {
		t.Fatal(err)
	}
	b := browser.Open(t)
	b.Expect("origin 'null'") // modules are not loaded from files
	b.Expect("ERR_FAILED")
	b.Go("file://" + dir + "/index.html")
	b.Wait(`document.querySelector("[data-testid=notice]").textContent === "Open this page over HTTP: concerto playground"`)
}

// TestBrowserWithoutWebAssembly checks the notice of a page in a browser without WebAssembly.
func TestBrowserWithoutWebAssembly(t *testing.T) {
	b, address := visit(t, nil)
	b.Go(address + "/about.html")
	b.Eval(`(async () => {
		delete globalThis.WebAssembly;
		document.body.innerHTML = '<div id="app"></div>';
		await import("` + address + `/playground/main.js");
	})()`)
	b.Wait(`document.querySelector("[data-testid=notice]").textContent.startsWith("This browser does not support WebAssembly")`)
	if got := b.Eval("playground.ready.catch((e) => e.message)"); got != "This browser does not support WebAssembly" {
		t.Errorf("ready is refused with %v", got)
	}
}

package cli

import (
	"path/filepath"
	"slices"
	"testing"
)

// TestDapPackages stops at a breakpoint in a file of a package. The frame has the path of that
// file, which an editor can open.
func TestDapPackages(t *testing.T) {
	t.Parallel()
	d := startDebugger(t, map[string]string{
		"Concerto.toml":      "[project]\nname = \"p\"\n[dependencies]\ntext = { path = \"text\" }\n",
		"main.conc":          "fn main() {\n    println(text::twice(4));\n}\n",
		"text/Concerto.toml": "[project]\nname = \"text\"\n",
		"text/lib.conc":      "pub fn twice(n: Int) -> Int {\n    let m = 2 * n;\n    m\n}\n",
	})
	path := filepath.Join(d.dir, "text", "lib.conc")
	d.launch(nil)
	body := d.ask("setBreakpoints", map[string]any{"source": map[string]any{"path": path}, "breakpoints": []map[string]any{line(3)}})
	if b := body["breakpoints"].([]any)[0].(map[string]any); b["verified"] != true {
		t.Errorf("the breakpoint is not verified: %v", b)
	}
	d.begin()
	if got, want := d.stops(), "breakpoint twice:3"; got != want {
		t.Errorf("stopped at %q, want %q", got, want)
	}
	if source := d.frames()[0]["source"].(map[string]any); source["path"] != path {
		t.Errorf("the source is %v, want %s", source, path)
	}
	if got := d.scope("Locals"); !slices.Contains(got, "m: Int = 8") {
		t.Errorf("the variables are %q, want m", got)
	}
	d.ask("continue", map[string]any{"threadId": d.thread})
	if code := d.awaitExit(); code != 0 {
		t.Errorf("the exit code is %d", code)
	}
}

package lsp

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/compile/pkg"
	"github.com/concerto-lang/concerto/internal/editor/lsp/protocol"
	"github.com/concerto-lang/concerto/internal/engine/packages/pkgcache"
)

const usesPackages = `use text::shout;

fn main() {
    println(shout("a"));
    println(mine::twice(2));
    println(other::f());
}
`

// TestPackages checks completion, definitions, errors and fixes across packages: one by path, one
// in the cache, and one that is not required yet.
func TestPackages(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(pkgcache.Variable, filepath.Join(dir, "cache"))
	files := []pkg.File{{Name: "Concerto.toml", Data: []byte("[project]\nname = \"text\"\n")}, {Name: "lib.conc", Data: []byte("/// Loud.\npub fn shout(s: String) -> String { s.to_upper() }\nfn hidden() { }\n")}}
	cache := pkgcache.At("")
	hash, err := cache.Write(files)
	if err != nil {
		t.Fatal(err)
	}
	cache.Note("other", pkgcache.Known{Git: "https://example.com/ada/other", Version: "v1.2.0"})
	address, err := pkg.ParseAddress("https://example.com/ada/text")
	if err != nil {
		t.Fatal(err)
	}
	lock := &pkg.Lock{Packages: []*pkg.Locked{pkg.NewLocked(pkg.Ref{Git: address, Version: "v1.0.0"}, strings.Repeat("0", 40), hash, nil, nil)}}
	for name, text := range map[string]string{
		"app/Concerto.toml": "[project]\nname = \"app\"\n[dependencies]\nmine = { path = \"../mine\" }\ntext = { git = \"https://example.com/ada/text\", tag = \"v1.0.0\" }\n",
		"app/concerto.lock": string(lock.Encode()), "app/main.conc": usesPackages,
		"mine/Concerto.toml": "[project]\nname = \"mine\"\n", "mine/lib.conc": "pub fn twice(n: Int) -> Int { 2 * n }\n",
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var commands []string
	run := func(_ context.Context, child *Child) (int, error) {
		commands = append(commands, filepath.Base(child.Dir)+": "+strings.Join(child.Args, " "))
		return 0, nil
	}
	runInBubble(t, Options{Command: run}, func(e *editor) {
		e.start(filepath.Join(dir, "app"), struct{}{})
		uri := fileURI(filepath.Join(dir, "app", "main.conc"))
		e.open(uri, usesPackages)
		at := func(line, character int) map[string]any {
			return map[string]any{"textDocument": map[string]any{"uri": uri}, "position": map[string]int{"line": line, "character": character}}
		}
		var to []protocol.Location
		cacheDir, err := cache.Dir()
		if err != nil {
			t.Fatal(err)
		}
		inCache, _ := pkg.HashDirectory(hash)
		for _, c := range []struct {
			line, character int
			want            string
		}{{3, 14, filepath.Join(cacheDir, "packages", inCache, "lib.conc")}, {0, 6, filepath.Join(cacheDir, "packages", inCache, "lib.conc")}, {4, 20, filepath.Join(dir, "mine", "lib.conc")}, {4, 14, filepath.Join(dir, "mine", "lib.conc")}} {
			e.request(protocol.MethodTextDocumentDefinition, at(c.line, c.character), &to)
			if len(to) != 1 || to[0].URI != fileURI(c.want) {
				t.Errorf("definition at %d:%d: %+v, want one in %s", c.line, c.character, to, c.want)
			}
		}
		var list protocol.CompletionList
		e.request(protocol.MethodTextDocumentCompletion, at(4, 20), &list)
		if labels := labelsOf(list); !slices.Contains(labels, "twice") {
			t.Errorf("completions in `mine::`: %v", labels)
		}
		e.request(protocol.MethodTextDocumentCompletion, at(0, 10), &list)
		if labels := labelsOf(list); !slices.Contains(labels, "shout") || slices.Contains(labels, "hidden") {
			t.Errorf("completions in `use text::`: %v", labels)
		}
		e.request(protocol.MethodTextDocumentCompletion, at(0, 4), &list)
		if labels := labelsOf(list); !slices.Contains(labels, "text") || !slices.Contains(labels, "mine") {
			t.Errorf("completions in `use `: %v", labels)
		}
		span := map[string]any{"start": map[string]int{"line": 5, "character": 12}, "end": map[string]int{"line": 5, "character": 17}}
		var actions []protocol.CodeAction
		e.request(protocol.MethodTextDocumentCodeAction, map[string]any{"textDocument": map[string]any{"uri": uri}, "range": span, "context": map[string]any{"diagnostics": []any{}}}, &actions)
		i := slices.IndexFunc(actions, func(a protocol.CodeAction) bool { return a.Title == "Add `other` to Concerto.toml" })
		if i < 0 {
			t.Fatalf("the actions for an unknown package are %+v", actions)
		}
		edit, err := json.Marshal(actions[i].Edit)
		if err != nil {
			t.Fatal(err)
		}
		if text := string(edit); !strings.Contains(text, `other = { git = \"https://example.com/ada/other\", tag = \"v1.2.0\" }\n`) || !strings.Contains(text, "Concerto.toml") {
			t.Errorf("the edit of the fix is %s", text)
		}
		if err := os.RemoveAll(filepath.Join(dir, "cache", "packages")); err != nil {
			t.Fatal(err)
		}
		manifest := fileURI(filepath.Join(dir, "app", "Concerto.toml"))
		text, err := os.ReadFile(filepath.Join(dir, "app", "Concerto.toml"))
		if err != nil {
			t.Fatal(err)
		}
		e.open(manifest, string(text)+"\n")
		e.request(protocol.MethodTextDocumentCodeAction, map[string]any{"textDocument": map[string]any{"uri": manifest}, "range": span, "context": map[string]any{"diagnostics": []any{}}}, &actions)
		i = slices.IndexFunc(actions, func(a protocol.CodeAction) bool { return a.Command != nil && a.Command.Command == commandFetch })
		if i < 0 {
			t.Fatalf("the actions for a missing package are %+v", actions)
		}
		e.execute(commandFetch, actions[i].Command.Arguments[0])
		if want := []string{"app: update --lock"}; !slices.Equal(commands, want) {
			t.Errorf("the commands are %v, want %v", commands, want)
		}
	})
}

func labelsOf(list protocol.CompletionList) (all []string) {
	for _, x := range list.Items {
		all = append(all, x.Label)
	}
	return all
}

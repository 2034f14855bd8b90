package build

import (
	"io/fs"
	"os"
	"strings"
	"testing"
	"testing/fstest"
)

// tree returns a file system of alternating names and contents.
func tree(pairs ...string) fs.FS {
	out := fstest.MapFS{}
	for i := 0; i < len(pairs); i += 2 {
		out[pairs[i]] = &fstest.MapFile{Data: []byte(pairs[i+1])}
	}
	return out
}

const source = `{"package":"preact","version":"1.0.0","licence":"MIT","files":[{"name":"p.mjs","from":"x","sha256":"0","import":"preact"}]}`

func TestPageHasItsModules(t *testing.T) {
	out, err := Build(Input{
		Tree: map[string]fs.FS{
			"": tree("vendor/preact/p.mjs", "export var h=1/2;\n//# sourceMappingURL=p.mjs.map\n", "vendor/preact/LICENSE", "MIT",
				"vendor/preact/source.json", source, "vendor/preact/unused.mjs", "x",
				"parts/base.js", "// why\nexport { h } from \"preact\";\nimport './more.js'\n", "parts/more.js", "globalThis.more = /[/\"`]/;", "style.css", "a{}", "look.css", "b{}"),
			"page": tree("main.js", "import { h } from \"parts/base.js\";\nglobalThis.later = () => [h, import('./deep/lazy.js')];\n",
				"deep/lazy.js", "/* two\nlines */ import {\n  h as from,\n} from 'preact'\nimport css from \"look.css\";\nexport const all = [from, css];"),
		},
		Entries: []string{"page/main.js", "style.css"},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]string{ // for each file, a text that the file contains and one that it does not contain
		"vendor/preact/LICENSE": {"MIT", "LICENSE"},
		"style.css":             {"a{}", "b{}"},
		"page/main.js":          {"../joined/shared1.js", "more"},
		"joined/shared1.js":     {"import(\"./lazy.js\")", "b{}"},
		"joined/lazy.js":        {"b{}", "more"},
	}
	for name, texts := range want {
		if text := string(out.Files[name]); !strings.Contains(text, texts[0]) || strings.Contains(text, texts[1]) || strings.Contains(text, "why") || strings.Contains(text, "sourceMap") {
			t.Errorf("content of %s:\n%q; want it to contain %q and not %q", name, text, texts[0], texts[1])
		}
	}
	if len(out.Files) != len(want) {
		t.Errorf("number of files = %d, want %d", len(out.Files), len(want))
	}
	page, err := out.Page("<head><!--modules page/main.js--></head>")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"page/main.js", "joined/shared1.js"} {
		if !strings.Contains(page, `<link rel="modulepreload" href="/assets/BUILD/`+name+`">`) {
			t.Errorf("the page does not preload %s:\n%s", name, page)
		}
	}
	if strings.Contains(page, "lazy") {
		t.Errorf("the page preloads a dynamic import:\n%s", page)
	}
	if _, err := out.Page("<!--modules page/other.js-->"); err == nil || !strings.Contains(err.Error(), "not built") {
		t.Errorf("error for a page that names a missing module = %v", err)
	}
}

// TestOneModuleChangesOneFile checks that file names have no hash and that a change of one
// module leaves all other files unchanged.
func TestOneModuleChangesOneFile(t *testing.T) {
	build := func(text string) Output {
		out, err := Build(Input{Tree: map[string]fs.FS{"": tree("main.js", "import { a } from './a.js'; console.log(a, import('./x.js'), import('./y.js'))",
			"a.js", "export const a = 1", "x.js", "import { a } from './a.js'; console.log('x', a)", "y.js", "import { a } from './a.js'; console.log('"+text+"', a)")}, Entries: []string{"main.js"}})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	one, other := build("one"), build("other")
	for name, text := range one.Files {
		if same := string(text) == string(other.Files[name]); same == (name == "joined/y.js") {
			t.Errorf("%s: unchanged = %v\n%s\n%s", name, same, text, other.Files[name])
		}
	}
}

func TestBuildErrorsHavePositions(t *testing.T) {
	for _, c := range []struct{ src, message string }{
		{"\nimport 'react';", "a.js: line 2: unknown package \"react\": the vendored packages are preact"},
		{"import './gone.js'", "open gone.js: file does not exist"},
		{"import { x } frm 'y';", "a.js: line 1: "},
		{"let a = 1;\nlet b = 'x", "line 2: a string is never closed"},
		{"let a = `x", "line 1: a template is never closed"},
		{"let a = `${x", "a template's ${ is never closed"},
		{"/* x", "a comment is never closed"},
		{"let a = /x", "a regular expression is never closed"},
		{"let a;\nlet b = html`<p>\n<b>x</p>`;", "line 3: </p> closes <b>"},
		{"let b = html`<p>`;", "line 1: <p> is never closed"},
		{"let b = html`</p>`;", "</p> closes nothing"},
		{"let b = html`<p></p x>`;", "the tag </p never ends"},
		{"let b = html`<p a`;", "the tag <p never ends"},
		{"let b = html`<p a=b?c=d>`;", "a value with a = in it needs quotes: b?c"},
		{"let b = html`<p ${x}>`;", "has a field where a property's name is expected"},
		{"let b = html`< p>`;", "an element has no name"},
		{"let b = html`<p =x>`;", "a property of <p> has no name"},
		{"let b = html`<!-- ${x}`;", "a comment is never closed"},
		{"let b = html`<${P}>x</${Q}>`;", "</Q> closes <P>"},
	} {
		_, err := Build(Input{Tree: map[string]fs.FS{"": tree("a.js", c.src, "vendor/preact/source.json", source)}, Entries: []string{"a.js"}})
		if err == nil || !strings.Contains(err.Error(), c.message) || !strings.HasPrefix(err.Error(), "build ") {
			t.Errorf("error for %q = %v, want it to contain %q", c.src, err, c.message)
		}
	}
}

// TestImportCycle checks that modules that import each other are rejected with the cycle. Dynamic
// imports do not count.
func TestImportCycle(t *testing.T) {
	page := func(last string) error {
		_, err := Build(Input{Tree: map[string]fs.FS{"": tree("a.js", "import './b.js';", "b.js", "import { c } from './c.js'; c();", "c.js", last, "vendor/preact/source.json", source)}, Entries: []string{"a.js"}})
		return err
	}
	if err := page("import './b.js'; export const c = () => {};"); err == nil || err.Error() != "build b.js: modules import each other in a circle: b.js, c.js, b.js" {
		t.Errorf("error for an import cycle = %v", err)
	}
	if err := page("export const c = () => import('./b.js');"); err != nil {
		t.Error(err)
	}
}

func TestAmbiguousSyntax(t *testing.T) {
	for _, src := range []string{
		"const a = b / c / d; // gone",
		"const a = `x ${y ? `// kept ${'}'}` : {a: {}}.a} // kept`; // gone",
		"const a = '// kept', b = /\\/\\/ kept[/]/g, c = \"import x from 'y'\"; // gone",
		"if (a) { b = a[0] / 2 / f(1) / 3 } // gone",
		"return /kept'/.test(x) // gone",
		"const x = { import: 1, from: 'kept' }, y = x.import; // gone",
	} {
		got, err := compile(src)
		if err != nil {
			t.Errorf("%s: %v", src, err)
		} else if want := strings.TrimSuffix(src, "// gone"); strings.TrimRight(got, " ") != strings.TrimRight(want, " ") {
			t.Errorf("compiled form of\n%s\nis %s", src, got)
		}
	}
}

func TestVendoredModulesAreRead(t *testing.T) {
	web := os.DirFS("../../../web")
	out, err := Build(Input{Tree: map[string]fs.FS{"": web}, Entries: []string{"parts/base.js", "vendor/xterm/xterm.mjs", "vendor/xterm-fit/addon-fit.mjs"}})
	if err != nil {
		t.Fatal(err)
	}
	for name, least := range map[string]int{"parts/base.js": 15_000, "vendor/xterm/xterm.js": 300_000, "vendor/xterm-fit/addon-fit.js": 1000, "vendor/preact/LICENSE": 500, "vendor/xterm/LICENSE": 500} {
		if data := string(out.Files[name]); len(data) < least || strings.Contains(data, "sourceMappingURL") {
			t.Errorf("size of %s = %d bytes", name, len(data))
		}
	}
}

// TestScript includes a module, and what it imports, in a script that is no module.
func TestScript(t *testing.T) {
	in := Input{Tree: map[string]fs.FS{"": tree("parts/base.js", "export const one = 1;\n"), "page": tree("more.js", "// why\nimport { one } from \"parts/base.js\";\nexport const two = () => one + 1;\n", "bad.js", "import './missing.js';")}}
	got, err := in.Script("const a = 1;\n/*script some=page/more.js*/\nsome.two(); /*no script*/")
	if err != nil || !strings.HasPrefix(got, "const a = 1;\nvar some=(()=>{") || !strings.HasSuffix(got, "\nsome.two(); /*no script*/") || strings.Contains(got, "import") || strings.Contains(got, "export ") || strings.Contains(got, "why") {
		t.Errorf("script = %q, %v", got, err)
	}
	if _, err := in.Script("/*script some=page/bad.js*/"); err == nil || !strings.Contains(err.Error(), "missing.js") {
		t.Errorf("error = %v, want the missing module", err)
	}
}

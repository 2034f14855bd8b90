package build

import (
	"io/fs"
	"os"
	"strings"
	"testing"
	"testing/fstest"
)

// tree makes files of name, content, …
func tree(pairs ...string) fs.FS {
	out := fstest.MapFS{}
	for i := 0; i < len(pairs); i += 2 {
		out[pairs[i]] = &fstest.MapFile{Data: []byte(pairs[i+1])}
	}
	return out
}

const source = `{"package":"preact","version":"1.0.0","licence":"MIT","files":[{"name":"p.mjs","from":"x","sha256":"0","import":"preact"}]}`

func TestAPageHasWhatItsEntriesNeed(t *testing.T) {
	out, err := Build(Input{
		Tree: map[string]fs.FS{
			"": tree("vendor/preact/p.mjs", "export var h=1/2;\n//# sourceMappingURL=p.mjs.map\n", "vendor/preact/LICENSE", "MIT",
				"vendor/preact/source.json", source, "vendor/preact/unused.mjs", "x",
				"parts/base.js", "// why\nexport { h } from \"preact\";\nimport './more.js'\n", "parts/more.js", "export const a = /[/\"`]/;", "style.css", "a{}"),
			"page": tree("main.js", "import { h } from \"parts/base.js\";\nconst later = () => import('./deep/lazy.js');\n",
				"deep/lazy.js", "/* two\nlines */ import {\n  h as from,\n} from 'preact'\nexport const css = new URL(\"style.css\", import.meta.url);"),
		},
		Entries: []string{"page/main.js"},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"vendor/preact/p.mjs":   "export var h=1/2;\n\n",
		"vendor/preact/LICENSE": "MIT",
		"parts/base.js":         "\nexport { h } from \"../vendor/preact/p.mjs\";\nimport './more.js'\n",
		"parts/more.js":         "export const a = /[/\"`]/;",
		"style.css":             "a{}",
		"page/main.js":          "import { h } from \"../parts/base.js\";\nconst later = () => import('./deep/lazy.js');\n",
		"page/deep/lazy.js":     "\n import {\nh as from,\n} from '../../vendor/preact/p.mjs'\nexport const css = new URL(\"../../style.css\", import.meta.url);",
	}
	for name, text := range want {
		if string(out.Files[name]) != text {
			t.Errorf("%s is\n%q, not\n%q", name, out.Files[name], text)
		}
	}
	if len(out.Files) != len(want) {
		t.Errorf("the page has %d files, not %d", len(out.Files), len(want))
	}
	page, err := out.Page("<head><!--modules page/main.js--></head>")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"page/main.js", "parts/base.js", "parts/more.js", "vendor/preact/p.mjs"} {
		if !strings.Contains(page, `<link rel="modulepreload" href="/assets/BUILD/`+name+`">`) {
			t.Errorf("%s is not loaded at once:\n%s", name, page)
		}
	}
	if strings.Contains(page, "lazy") {
		t.Errorf("what is loaded later is loaded at once:\n%s", page)
	}
	if _, err := out.Page("<!--modules page/other.js-->"); err == nil || !strings.Contains(err.Error(), "not built") {
		t.Errorf("a page that names a module which is not there: %v", err)
	}
}

func TestAPageThatCannotBeBuiltSaysWhere(t *testing.T) {
	for _, c := range []struct{ src, says string }{
		{"\nimport 'react';", "line 2: no vendored package is called \"react\" (known: preact)"},
		{"import './gone.js'", "build gone.js: open gone.js"},
		{"const f = (x) => import(x)", "an import's name is computed: import(x)"},
		{"import { x } frm 'y';", "an import names no module"},
		{"let a = 1;\nlet b = 'x", "line 2: a string is never closed"},
		{"let a = `x", "line 1: a template is never closed"},
		{"let a = `${x", "a template's ${ is never closed"},
		{"/* x", "a comment is never closed"},
		{"let a = /x", "a regular expression is never closed"},
	} {
		_, err := Build(Input{Tree: map[string]fs.FS{"": tree("a.js", c.src, "vendor/preact/source.json", source)}, Entries: []string{"a.js"}})
		if err == nil || !strings.Contains(err.Error(), c.says) || !strings.HasPrefix(err.Error(), "build a.js: ") {
			t.Errorf("%q: %v; it does not say %q", c.src, err, c.says)
		}
	}
}

func TestWhatLooksLikeSomethingElse(t *testing.T) {
	for _, src := range []string{
		"const a = b / c / d; // gone",
		"const a = `x ${y ? `// kept ${'}'}` : {a: {}}.a} // kept`; // gone",
		"const a = '// kept', b = /\\/\\/ kept[/]/g, c = \"import x from 'y'\"; // gone",
		"if (a) { b = a[0] / 2 / f(1) / 3 } // gone",
		"return /kept'/.test(x) // gone",
		"const x = { import: 1, from: 'kept' }, y = x.import; // gone",
	} {
		out, err := Build(Input{Tree: map[string]fs.FS{"": tree("a.js", src)}, Entries: []string{"a.js"}})
		if err != nil {
			t.Errorf("%s: %v", src, err)
			continue
		}
		if got, want := string(out.Files["a.js"]), strings.TrimSuffix(src, "// gone"); got != want {
			t.Errorf("%s\nbecomes %s", src, got)
		}
	}
}

func TestVendoredModulesAreRead(t *testing.T) {
	web := os.DirFS("..")
	out, err := Build(Input{Tree: map[string]fs.FS{"": web}, Entries: []string{"parts/base.js", "vendor/xterm/xterm.mjs", "vendor/xterm-fit/addon-fit.mjs"}})
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range out.Files {
		published, err := fs.ReadFile(web, name)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(name, "vendor/xterm") && len(data) < len(published)-60 {
			t.Errorf("%s lost %d bytes", name, len(published)-len(data))
		}
		if strings.Contains(string(data), "sourceMappingURL") {
			t.Errorf("%s names a source map that is not there", name)
		}
	}
}

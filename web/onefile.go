package web

import (
	"encoding/base64"
	"encoding/json"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// imports matches the imports in the modules of a built page, as tools/web/build writes them.
var imports = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(from|import|import\()"(\.[^"]+\.js)"`) })

// oneFile is the page in one file. Its script turns each module into an address, after the modules
// that it imports, and runs the page. globalThis.concertoModules has the addresses for modules that
// are loaded later.
const (
	oneFile = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
TAGS
<meta name="viewport" content="width=device-width, initial-scale=1, viewport-fit=cover, interactive-widget=resizes-content">
<meta name="color-scheme" content="light dark">
<title>Concerto</title>
<link rel="icon" href="data:image/svg+xml;base64,ICON">
<style>STYLE</style>
</head>
<body>
<div id="app"></div>
<script type="application/json" id="modules">MODULES</script>
<script type="module">` + boot + `</script>
</body>
</html>
`
	boot = `const all=globalThis.concertoModules={__proto__:null},list=JSON.parse(document.getElementById("modules").textContent);for(const [name,text] of list)` +
		`all[name]=URL.createObjectURL(new Blob([text.replace(/"module:([^"]+)"/g,(_,n)=>JSON.stringify(all[n]))],{type:"text/javascript"}));` +
		`import(all["MAIN"]);`
)

// OneFile returns the page as one HTML file, which contains all modules and styles. It loads
// nothing, and sends requests only to the server. It has no service worker. main, icon and styles
// are names of the page's files. OneFile requires a page of OpenApart, and panics if a file is
// missing, which is a bug.
func (d *Dist) OneFile(main, icon string, styles ...string) []byte {
	var css strings.Builder
	for _, name := range styles {
		css.Write(d.content(d.Asset(name)))
	}
	script := strings.Replace(boot, "MAIN", main, 1)
	policy := strings.NewReplacer("script-src 'self'", "script-src blob:", "style-src 'self'", "style-src "+hashSource([]byte(css.String())), "connect-src 'self' ", "connect-src ").Replace(d.policy([]byte(script)))
	modules, err := json.Marshal(d.modules()) // escapes <
	if err != nil {
		panic(err) // strings are valid
	}
	return []byte(strings.NewReplacer("TAGS", string(d.serverTags(policy)), "ICON", base64.StdEncoding.EncodeToString(d.content(icon)), "STYLE", css.String(),
		"MODULES", string(modules), boot, script).Replace(oneFile))
}

// content returns a file of the page by its URL path.
func (d *Dist) content(path string) []byte {
	f := d.files[path]
	if f == nil {
		panic("the built page has no " + path)
	}
	return f.content[""]
}

// modules returns all modules of the page as [name, text], each after those that it imports.
func (d *Dist) modules() (all [][2]string) {
	var done []string
	var visit func(url string)
	visit = func(url string) {
		if path.Ext(url) != ".js" || slices.Contains(done, url) {
			return
		}
		done = append(done, url)
		name := func(url string) string { return strings.TrimPrefix(url, d.Asset("")) }
		text := imports().ReplaceAllStringFunc(string(d.content(url)), func(found string) string {
			keyword, file, _ := strings.Cut(found, `"`)
			other := path.Join(path.Dir(url), strings.TrimSuffix(file, `"`))
			if keyword == "import(" {
				return keyword + `globalThis.concertoModules["` + name(other) + `"]`
			}
			visit(other)
			return keyword + `"module:` + name(other) + `"`
		})
		all = append(all, [2]string{name(url), text})
	}
	for _, url := range d.assets {
		visit(url)
	}
	return all
}

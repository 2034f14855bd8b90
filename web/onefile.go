package web

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Imports in the modules of a built page, as tools/web/build writes them.
var (
	staticImport  = regexp.MustCompile(`(from|import)"(\.[^"]+\.js)"`)
	dynamicImport = regexp.MustCompile(`import\("(\.[^"]+\.js)"\)`)
)

// Parts of the page in one file. boot turns each module into an address, after the modules that it
// imports, and runs the page. globalThis.concertoModules has the addresses for modules that are
// loaded later.
const (
	boot = `const all=globalThis.concertoModules={__proto__:null};for(const [name,text] of JSON.parse(document.getElementById("modules").textContent))` +
		`all[name]=URL.createObjectURL(new Blob([text.replace(/"module:([^"]+)"/g,(_,n)=>JSON.stringify(all[n]))],{type:"text/javascript"}));` +
		`import(all[document.getElementById("modules").dataset.main]);`
)

// OneFile returns the page as one HTML file, which contains all modules and styles. It loads
// nothing, and sends requests only to the server. It has no service worker. main is the name of the
// page's entry. OneFile requires a page of OpenApart.
func (d *Dist) OneFile(title, main, icon string, styles ...string) ([]byte, error) {
	modules, err := d.modulesOf(main)
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(modules) // escapes <
	if err != nil {
		return nil, err
	}
	image := d.files["/"+icon]
	if image == nil {
		return nil, fmt.Errorf("write the page to one file: it has no %s", icon)
	}
	policy := d.policy([]byte(boot))
	policy = strings.Replace(policy, "script-src 'self'", "script-src blob:", 1)
	policy = strings.Replace(policy, "connect-src 'self' ", "connect-src ", 1)
	var out, css bytes.Buffer
	for _, name := range styles {
		f := d.files[d.Asset(name)]
		if f == nil {
			return nil, fmt.Errorf("write the page to one file: it has no %s", name)
		}
		css.Write(f.content[""])
		css.WriteByte('\n')
	}
	if bytes.Contains(css.Bytes(), []byte("</style")) {
		return nil, fmt.Errorf("write the page to one file: a style contains its end")
	}
	policy = strings.Replace(policy, "style-src 'self'", "style-src "+hashSource(css.Bytes()), 1)
	fmt.Fprintf(&out, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n%s\n", d.serverTags(policy))
	fmt.Fprintf(&out, "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1, viewport-fit=cover, interactive-widget=resizes-content\">\n<meta name=\"color-scheme\" content=\"light dark\">\n<title>%s</title>\n", html.EscapeString(title))
	fmt.Fprintf(&out, "<link rel=\"icon\" href=\"data:%s;base64,%s\">\n<style>%s</style>\n</head>\n<body>\n<div id=\"app\"></div>\n", image.kind, base64.StdEncoding.EncodeToString(image.content[""]), css.Bytes())
	fmt.Fprintf(&out, "<script type=\"application/json\" id=\"modules\" data-main=%q>%s</script>\n<script type=\"module\">%s</script>\n</body>\n</html>\n", main, data, boot)
	return out.Bytes(), nil
}

// modulesOf returns all modules of the page as [name, text], each after those that it imports.
func (d *Dist) modulesOf(main string) (all [][2]string, err error) {
	var done []string
	var visit func(name string) error
	visit = func(name string) error {
		if slices.Contains(done, name) {
			return nil
		}
		done = append(done, name)
		f := d.files[d.Asset(name)]
		if f == nil {
			return fmt.Errorf("write the page to one file: it has no module %s", name)
		}
		var failed error
		resolve := func(found []byte, at *regexp.Regexp, form string) []byte {
			parts := at.FindSubmatch(found)
			to := path.Join(path.Dir(name), string(parts[len(parts)-1]))
			if d.files[d.Asset(to)] == nil {
				failed = fmt.Errorf("write the page to one file: %s imports %s, which is not built", name, to)
			} else if at == staticImport {
				failed = visit(to)
			}
			return fmt.Appendf(nil, form, parts[1], to)
		}
		text := staticImport.ReplaceAllFunc(f.content[""], func(found []byte) []byte { return resolve(found, staticImport, `%s"module:%s"`) })
		text = dynamicImport.ReplaceAllFunc(text, func(found []byte) []byte {
			return resolve(found, dynamicImport, `import(globalThis.concertoModules[%[2]q])`)
		})
		all = append(all, [2]string{name, string(text)})
		return failed
	}
	for _, url := range d.assets {
		name := strings.TrimPrefix(url, d.Asset(""))
		if path.Ext(name) == ".js" {
			if err := visit(name); err != nil {
				return nil, err
			}
		}
	}
	if !slices.Contains(done, main) {
		return nil, fmt.Errorf("write the page to one file: it has no module %s", main)
	}
	return all, nil
}

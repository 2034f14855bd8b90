package build

import (
	"encoding/base64"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/tools/browser"
)

func TestMain(m *testing.M) { os.Exit(browser.Main(m)) }

// templates contains every form that htm supports. In the templates, X and Y are components, p is
// an object, and n is null.
var templates = []string{
	"html`<p>text</p>`", "html`<p/>`", "html`<p />`", "html`<br/>text`", "html``", "html`   `", "html` \n `", "html`text`", "html`${1}`", "html`${1} ${2}`", "html`${1}\n  ${2}`",
	"html`<p>  a  \n  b  </p>`", "html`\n  <p>\n    a ${1}\n    b\n  </p>\n`", "html`<p>a ${1} b</p><b>c</b>`", "html`<p>\n\n${1}\n</p>`",
	"html`<p a b=c d=\"e f\" g='h i' j=${1} k=\"${2}\" l=\"m ${3} n${4}\" o=x${5}y q=${n} r=\"\" s=\"${n}!\">z</p>`",
	"html`<p a=b/>`", "html`<p a=${1}/>`", "html`<p a=b/c d=e>x</p>`", "html`<a href=/x/y>z</a>`", "html`<p a/>`", "html`<p data-a=1 aria-b=2 c:d=3>x</p>`",
	"html`<${X} a=${1}>in</${X}>`", "html`<${X}>in<//>`", "html`<${X} ...${p}/>`", "html`<${X} a=0 ...${p} b=9 ...${{ c: 7 }} />`", "html`<${X}><${Y} /></${X}>`", "html`<p>in</>`",
	"html`<ul>${[1, 2].map((x) => html`<li key=${x}>${x > 1 && html`<b>${`<i>${x}</i>`}</b>`}</li>`)}</ul>`",
	"html`<p><!-- gone ${1} <b> -->x</p>`", "html`<!---->`", "html`<p>a<b>c</b>d ${1}<i />e</p>`", "html`<p>&lt; &amp; \" ' > =</p>`", "html`<p title=\"a > b / c\">d</p>`",
	"html`<p>x\\n\\` \\${1} \\u00e9 \\\\</p>`", "html`<p a=${(1, 2)}>${3, 4}</p>`", "html`<p on=${function () { return [1, 2] }}>${/* why */ 5 // gone\n}</p>`",
	"html`<p\n  a=1\n  b=${2}\n>\n  x\n</p>`", "html`<p>${\"</p>\"}</p>`", "html`<p>${(() => { const t = `x ${html`<b>${1}</b>`.t} y`; return t; })()}</p>`", "x.html`<p>${1}</p>`.length",
}

// TestTemplatesMatchHtm compares the results of compiled templates with those of htm in a browser.
func TestTemplatesMatchHtm(t *testing.T) {
	browser.Need(t)
	htm, err := os.ReadFile("../../../web/vendor/htm/htm.mjs")
	if err != nil {
		t.Fatal(err)
	}
	b := browser.Open(t)
	b.Go("about:blank")
	b.Eval("(async () => { globalThis.htm = (await import('data:text/javascript;base64," + base64.StdEncoding.EncodeToString(htm) + "')).default; })()")
	const setting = `const X = "component X", Y = "component Y", p = { a: 1, b: 2 }, n = undefined, x = { html: String.raw };`
	run := func(src, bind string) string {
		v := b.Eval(fmt.Sprintf("(() => { %s const node = (t, p, ...c) => ({ t, p, c }), html = %s; return JSON.stringify(%s, (k, v) => (v === undefined ? 'nothing' : typeof v === 'function' ? 'a function of ' + v() : v)) ?? 'undefined'; })()", setting, bind, src))
		return fmt.Sprint(v)
	}
	for _, src := range templates {
		compiled, err := compile(src)
		if err != nil {
			t.Errorf("%s: %v", src, err)
			continue
		}
		if strings.Count(compiled, "\n") != strings.Count(src, "\n") {
			t.Errorf("the compiled form of\n%s\nhas different line numbers:\n%s", src, compiled)
		}
		if is, want := run(compiled, "node"), run(src, "htm.bind(node)"); is != want {
			t.Errorf("the template\n%s\nis compiled to\n%s\nand renders\n%s\nwant\n%s", src, compiled, is, want)
		}
	}
}

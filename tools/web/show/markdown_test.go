package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/tools/browser"
)

// markdowns lists texts with the elements that they are rendered as.
var markdowns = []struct{ text, want string }{
	{"", ""},
	{"one\ntwo\n\nthree", "<p>one\ntwo</p><p>three</p>"},
	{"# A *b*\n## c\n####### d\n#e", "<p class=\"heading\" role=\"heading\" aria-level=\"4\">A <em>b</em></p><p class=\"heading\" role=\"heading\" aria-level=\"5\">c</p><p>####### d\n#e</p>"},
	{"- a\n- b\n  - c\n\n  d\n* e\nf", "<ul><li><p>a</p></li><li><p>b</p><ul><li><p>c</p></li></ul><p>d</p></li><li><p>e</p></li></ul><p>f</p>"},
	{"3. a\n   more\n7) b", "<ol><li value=\"3\"><p>a\n more</p></li><li value=\"7\"><p>b</p></li></ol>"},
	{"-a\n1.b\n+ c\n- ", "<p>-a\n1.b\n+ c\n- </p>"},
	{"```go\na < *b*\n\n~~~\n```\nc", "<pre><code>a &lt; *b*\n\n~~~</code></pre><p>c</p>"},
	{"~~~~\n```\n~~~\n~~~~", "<pre><code>```\n~~~</code></pre>"},
	{"```\nnever closed", "<pre><code>never closed</code></pre>"},
	{"a `b*c*` ``d`e`` `f", "<p>a <code>b*c*</code> <code>d`e</code> `f</p>"},
	{"**a *b* c** ***d*** *e* _f_", "<p><strong>a <em>b</em> c</strong> <strong><em>d</em></strong> <em>e</em> <em>f</em></p>"},
	{"2*3*4 2**3**4 a_b_c __init__ *.go *.md src/*/x/* ** a ** rm *", "<p>2*3*4 2**3**4 a_b_c __init__ *.go *.md src/*/x/* ** a ** rm *</p>"},
	{"*.go,*.md _a_b **a", "<p>*.go,*.md _a_b **a</p>"},
	{"[a](https://x.example/b?c=d&e) https://x.example/a_b_c. (http://y.example)", `<p><a href="https://x.example/b?c=d&amp;e" target="_blank" rel="noopener noreferrer">a</a> <span class="quiet">(x.example)</span> <a href="https://x.example/a_b_c" target="_blank" rel="noopener noreferrer">https://x.example/a_b_c</a>. (<a href="http://y.example/" target="_blank" rel="noopener noreferrer">http://y.example</a>)</p>`},
	{"[https://good.example](https://evil.example/)", `<p><a href="https://evil.example/" target="_blank" rel="noopener noreferrer">https://good.example</a> <span class="quiet">(evil.example)</span></p>`},
	// Hostile input.
	{"<img src=x onerror=alert(1)><script>alert(2)</script>", "<p>&lt;img src=x onerror=alert(1)&gt;&lt;script&gt;alert(2)&lt;/script&gt;</p>"},
	{"**<b onclick=x>** `<i>`\n\n- <svg/onload=x>", "<p><strong>&lt;b onclick=x&gt;</strong> <code>&lt;i&gt;</code></p><ul><li><p>&lt;svg/onload=x&gt;</p></li></ul>"},
	{"[a](javascript:alert(1)) [b](JAVASCRIPT:x) [c](data:text/html,x) [d](//x.example) [e](/runs) [f](#x)", "<p>[a](javascript:alert(1)) [b](JAVASCRIPT:x) [c](data:text/html,x) [d](//x.example) [e](/runs) [f](#x)</p>"},
	{"[a]( javascript:x) [b](java\tscript:x) [c](https:javascript:x) [d](vbscript:x) [e](file:///etc/passwd) <javascript:x>", "<p>[a]( javascript:x) [b](java\tscript:x) [c](https:javascript:x) [d](vbscript:x) [e](file:///etc/passwd) &lt;javascript:x&gt;</p>"},
	{"![a](https://x.example/p.png)", `<p><a href="https://x.example/p.png" target="_blank" rel="noopener noreferrer">a</a> <span class="quiet">(x.example)</span></p>`},
	{"[a](https://x.example/\"onclick=alert(1)) [b](https://)", `<p>[a](<a href="https://x.example/" target="_blank" rel="noopener noreferrer">https://x.example/</a>"onclick=alert(1)) [b](https://)</p>`},
	{"[a](https://good.example@evil.example/)", `<p><a href="https://good.example@evil.example/" target="_blank" rel="noopener noreferrer">a</a> <span class="quiet">(evil.example)</span></p>`},
	{"**a\u202eb** [c\u200b](https://x.example) `\u0007`", `<p><strong>a⟦U+202E⟧b</strong> <a href="https://x.example/" target="_blank" rel="noopener noreferrer">c⟦U+200B⟧</a> <span class="quiet">(x.example)</span> <code>⟦BEL⟧</code></p>`},
	{"&lt;b&gt; &#60;", "<p>&amp;lt;b&amp;gt; &amp;#60;</p>"},
}

// drawn is a JavaScript expression that renders a text in a new element.
const drawn = `(async () => {
	const at = document.querySelector("link[href$='/style.css']").href;
	const [{ html, render }, { Markdown }] = await Promise.all(["base", "markdown"].map((name) => import(at.replace("style.css", "parts/" + name + ".js"))));
	globalThis.drawn = (text) => {
		const box = document.createElement("div");
		render(html(Markdown, { text }), box);
		return box.firstChild;
	};
})()`

// TestMarkdown checks that the supported subset of Markdown is rendered and that all other text
// stays unchanged.
func TestMarkdown(t *testing.T) {
	b := show(t, "texts")
	b.Eval(drawn)
	for _, c := range markdowns {
		text, err := json.Marshal(c.text)
		if err != nil {
			t.Fatal(err)
		}
		if got := b.Eval(fmt.Sprintf("drawn(%s).innerHTML", text)); got != c.want {
			t.Errorf("%q is rendered as\n%v\nwant\n%s", c.text, got, c.want)
		}
	}
	t.Run("random", func(t *testing.T) { randomMarkdown(t, b) })
	t.Run("long", func(t *testing.T) { longMarkdown(t, b) })
}

// randomMarkdown renders random texts. The result contains only elements and attributes of the
// supported subset and only http links, and it contains every word of the text.
func randomMarkdown(t *testing.T, b *browser.Tab) {
	wrong := b.Eval(`(() => {
		let seed = 7;
		const next = (n) => ((seed = (Math.imul(seed, 1103515245) + 12345) >>> 0) >>> 8) % n;
		const pieces = ["*", "**", "_", "\x60", "\x60\x60\x60", "~~~", "# ", "- ", "  - ", "1. ", "[", "](", ")", "!", "https://x.example/", "javascript:", "<img src=x onerror=alert(1)>", "<", ">", "&amp;", "\"", "'", "\n", "\n\n", "    ", " ", "\\", "\u202e", "\u0000", "\r", "é", "🙂"];
		const allowed = { DIV: ["class"], P: ["class", "role", "aria-level"], UL: [], OL: [], LI: ["value"], PRE: [], CODE: [], STRONG: [], EM: [], A: ["href", "target", "rel"], SPAN: ["class"] };
		for (let round = 0; round < 3000; round++) {
			let text = "", words = [];
			for (let n = next(24); n >= 0; n--) {
				text += pieces[next(pieces.length)];
				if (next(2)) { words.push("w" + round + "x" + n + "w"); text += words.at(-1); }
			}
			const box = drawn(text);
			for (const e of [box, ...box.querySelectorAll("*")]) {
				if (!allowed[e.tagName]) return e.tagName + " of " + JSON.stringify(text);
				for (const a of e.attributes) if (!allowed[e.tagName].includes(a.name)) return e.tagName + " " + a.name + " of " + JSON.stringify(text);
				if (e.tagName === "A" && !/^https?:$/.test(e.protocol)) return e.href + " of " + JSON.stringify(text);
			}
			const said = box.textContent + [...box.querySelectorAll("a")].map((a) => a.href).join(" ");
			for (const w of words) if (!said.includes(w) && !new RegExp("(\x60{3}|~{3})[^\n]*" + w).test(text)) return w + " is lost of " + JSON.stringify(text) + ": " + box.innerHTML;
		}
		return "";
	})()`)
	if wrong != "" {
		t.Errorf("invalid results: %v", wrong)
	}
}

// longMarkdown checks the time of rendering 100,000 characters of unfinished markup.
func longMarkdown(t *testing.T, b *browser.Tab) {
	for _, piece := range []string{"*a ", "**a ", "_a ", "`a ``b ", "[a", "[a](https://x", "https://", "(**a *b ", "- ", "1. a\n", "```\n~~~\n", "# ", "  - a\n    - b\n      - c\n", "![](", "\n\n", "***"} {
		text, err := json.Marshal(strings.Repeat(piece, 100_000/len(piece)))
		if err != nil {
			t.Fatal(err)
		}
		if n := b.Eval(fmt.Sprintf("drawn(%s).textContent.length", text)); n == 0.0 && strings.TrimSpace(piece) != "" {
			t.Errorf("a text of many %q is rendered as nothing", piece)
		}
	}
}

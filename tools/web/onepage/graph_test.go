// Package onepage opens the pages that are one file from a disk, in a browser.
package onepage

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/compile/graph"
	"github.com/concerto-lang/concerto/ir"
	"github.com/concerto-lang/concerto/tools/browser"
	"github.com/concerto-lang/concerto/web/onepage"
)

func TestMain(m *testing.M) { os.Exit(browser.Main(m)) }

// sample is a graph with all kinds of nodes and edges, and with names that are not plain text.
func sample() *graph.Graph {
	g := &graph.Graph{Program: "<b>demo</b>"}
	for i, k := range graph.NodeKinds {
		name := fmt.Sprintf("%s_%d", k.Name, i)
		switch k.Name {
		case "function":
			name = "main"
		case "channel":
			name = "\"]\n<script>alert(1)</script>"
		case "tool":
			name = strings.Repeat("a_long_name_of_a_tool_", 12)
		case "store":
			name = "記憶と記録の保管庫"
		}
		g.Nodes = append(g.Nodes, graph.Node{ID: k.Name + ":" + name, Kind: k.Name, Name: name, At: fmt.Sprintf("main.conc:%d:4", i+1)})
	}
	g.Nodes = append(g.Nodes, graph.Node{ID: "function:rest", Kind: "function", Name: "rest", Unused: true})
	id := func(kind string) string {
		for _, n := range g.Nodes {
			if n.Kind == kind {
				return n.ID
			}
		}
		return ""
	}
	for _, k := range graph.EdgeKinds {
		from, to := strings.Fields(k.From)[0], strings.Fields(k.To)[0]
		e := graph.Edge{From: id(from), To: id(to), Kind: k.Name, At: "main.conc:3:1"}
		switch k.Name {
		case "message":
			e.Type = "approval"
		case "unhandled":
			e.Type, e.By = "question", "none"
		}
		g.Edges = append(g.Edges, e)
	}
	return g
}

// openGraph opens the page of a graph from a file.
func openGraph(t *testing.T, g *graph.Graph) *browser.Tab {
	t.Helper()
	browser.Need(t)
	path := filepath.Join(t.TempDir(), "graph.html")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := make([]string, 40)
	for i := range lines {
		lines[i] = fmt.Sprintf("// line %d </script>", i+1)
	}
	if err := onepage.WriteGraph(f, g, []ir.File{{Name: "main.conc", Text: strings.Join(lines, "\n")}}); err != nil {
		t.Fatal(err)
	}
	b := browser.Open(t)
	b.Go("file://" + path)
	b.Wait(`document.documentElement.dataset.ready === "1"`)
	return b
}

// TestGraphPage uses the page of a graph with the mouse and with the keyboard only. The browser's
// log must be empty: the page loads nothing, and violates no policy.
func TestGraphPage(t *testing.T) {
	b := openGraph(t, sample())
	if title := b.Text("h1"); title != "Graph of <b>demo</b>" {
		t.Errorf("title %q", title)
	}
	if n := b.Count("#graph svg script, #details script, #text script"); n != 0 {
		t.Errorf("the page contains %d scripts that a name created", n)
	}
	b.Axe()

	b.Click(`.node[data-id^="host:"]`)
	b.Wait(`document.querySelector("#about h3")?.textContent.startsWith("host ")`)
	about := b.Text("#about")
	for _, want := range []string{"message approval", "unhandled question (none)", "executes", "Source", "// line 6 </script>"} {
		if !strings.Contains(about, want) {
			t.Errorf("the details lack %q:\n%s", want, about)
		}
	}
	if got := b.Eval(`document.querySelector("#about mark").textContent.trim()`); got != "6  // line 6 </script>" {
		t.Errorf("marked line %q", got)
	}
	b.Axe()

	b.Eval(`document.getElementById("search").focus()`)
	b.Type("rest")
	b.Wait(`document.getElementById("found").textContent === "1 found"`)
	b.Press("Enter")
	b.Wait(`document.querySelector("#about h3").textContent === "function rest"`)
	if !strings.Contains(b.Text("#about"), "unused") {
		t.Error("the details do not say that the function is unused")
	}

	b.Eval(`document.querySelector('.node[data-id="function:main"]').focus()`)
	view := func() string { return b.Eval(`document.querySelector("#graph svg").getAttribute("viewBox")`).(string) }
	b.Press("Enter")
	b.Wait(`document.querySelector("#about h3").textContent === "function main"`)
	for _, key := range []string{"+", "-", "ArrowLeft", "ArrowDown"} {
		before := view()
		b.Press(key)
		if view() == before {
			t.Errorf("key %s changes nothing", key)
		}
	}
	b.Press("0")
	if got, want := view(), b.Eval(`(s => "0 0 " + s.getAttribute("width") + " " + s.getAttribute("height"))(document.querySelector("#graph svg"))`); got != want {
		t.Errorf("after 0 the view is %s, want %s", got, want)
	}
	b.Press("Escape")
	b.Wait(`document.querySelector("#about").textContent.startsWith("Select a node")`)
}

// TestGraphTexts checks that the browser draws each text inside of its box, whichever fonts it has,
// and that no label touches a box or another label.
func TestGraphTexts(t *testing.T) {
	b := openGraph(t, sample())
	problems := b.Eval(`(() => {
		const out = [];
		const hits = (a, b) => a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
		for (const n of document.querySelectorAll(".node")) {
			const box = n.querySelector("rect").getBBox();
			for (const t of n.querySelectorAll("text")) {
				const r = t.getBBox();
				if (r.x < box.x - 1 || r.x + r.width > box.x + box.width + 1 || r.y < box.y - 1 || r.y + r.height > box.y + box.height + 1) out.push("clipped: " + t.textContent);
			}
		}
		const labels = [...document.querySelectorAll(".edge text")], boxes = [...document.querySelectorAll(".node rect")];
		labels.forEach((l, i) => {
			const r = l.getBBox();
			if (boxes.some((x) => hits(r, x.getBBox()))) out.push("on a box: " + l.textContent);
			if (labels.slice(i + 1).some((x) => hits(r, x.getBBox()))) out.push("on a label: " + l.textContent);
		});
		return out.join("\n");
	})()`)
	if problems != "" {
		t.Errorf("texts:\n%v", problems)
	}
}

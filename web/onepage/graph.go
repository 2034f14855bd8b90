package onepage

import (
	"encoding/json"
	"fmt"
	"html"
	"io"

	"github.com/concerto-lang/concerto/internal/compile/graph"
	"github.com/concerto-lang/concerto/ir"
)

// WriteGraph writes the page of a graph, with the source files that its positions refer to.
func WriteGraph(w io.Writer, g *graph.Graph, files []ir.File) error {
	type file struct {
		Name string `json:"name"`
		Text string `json:"text"`
	}
	sources := []file{}
	for _, f := range files {
		sources = append(sources, file(f))
	}
	data, err := json.Marshal(struct {
		Graph *graph.Graph `json:"graph"`
		Files []file       `json:"files"`
	}{g, sources})
	if err != nil {
		return err
	}
	title := "Graph of " + g.Program
	page := Page{
		Title:  title,
		Styles: []string{Asset("graph", "style.css"), Asset("graph", "onepage/graph.css"), graph.Style},
		Script: Asset("graph", "onepage/graph.js"),
		Body: fmt.Sprintf(`<a class="skip" href="#graph">Skip to the graph</a>
<header>
<h1>%s</h1>
<label>Search <input id="search" type="search" autocomplete="off"></label> <output id="found" for="search"></output>
<button type="button" id="in" aria-label="Zoom in">+</button> <button type="button" id="out" aria-label="Zoom out">−</button> <button type="button" id="whole">Show all</button>
</header>
<main>
<section id="graph" aria-labelledby="graph-heading">
<h2 id="graph-heading">Graph</h2>
%s</section>
<section id="details" aria-labelledby="details-heading">
<h2 id="details-heading">Details</h2>
<div id="about" aria-live="polite"></div>
</section>
<section id="text" aria-labelledby="text-heading">
<h2 id="text-heading">As text</h2>
<pre tabindex="0">%s</pre>
</section>
</main>`, html.EscapeString(title), g.Drawing(), html.EscapeString(g.Text())),
		Data: data,
	}
	return page.Write(w)
}

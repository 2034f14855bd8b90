package graph

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/ir"
)

// ErrNoOutline reports a program whose IR was written by a version without the data for a graph.
var ErrNoOutline = errors.New("this file was made by an older concerto, without the data that a graph needs: build the program again")

// Ids and names of nodes for what only a run determines.
const (
	anyHost         = "host:*"
	computedChannel = "channel:*"
	anyHostName     = "any host"
	computedName    = "computed"
)

// Build returns the graph of a verified program. The error is ErrNoOutline.
func Build(p *ir.Program) (*Graph, error) {
	if !p.HasOutline() {
		return nil, ErrNoOutline
	}
	b := &builder{p: p, g: &Graph{Program: clean(p.Name)}, ids: make([]string, len(p.Outline)), nodes: map[string]int{}, edges: map[Edge]bool{}, tools: map[string]bool{}}
	b.declarations()
	b.manifest()
	for i := range p.Outline {
		b.uses(i)
	}
	b.hostChannels()
	b.application()
	b.markUnused()
	b.g.sort()
	return b.g, nil
}

// builder is the state of building a graph.
type builder struct {
	p      *ir.Program
	g      *Graph
	ids    []string        // id of the node of each element of the outline
	nodes  map[string]int  // index in g.Nodes of each id
	edges  map[Edge]bool   // edges that occur once, without their positions
	public []string        // ids of the functions, pipelines and tools that are public
	tools  map[string]bool // hosts with tools
}

// clean makes a text valid UTF-8.
func clean(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// place returns FILE:LINE:COLUMN.
func (b *builder) place(file int, at ir.Place) string {
	return fmt.Sprintf("%s:%d:%d", clean(b.p.Files[file].Name), at.Line, at.Column)
}

// node adds a node, unless it exists.
func (b *builder) node(n Node) string {
	if _, exists := b.nodes[n.ID]; !exists {
		b.nodes[n.ID] = len(b.g.Nodes)
		b.g.Nodes = append(b.g.Nodes, n)
	}
	return n.ID
}

// edge adds an edge. Of edges of most kinds it only adds the first.
func (b *builder) edge(e Edge) {
	key := e
	if !edgeKind(e.Kind).Each {
		key.At = ""
	}
	if !b.edges[key] {
		b.edges[key] = true
		b.g.Edges = append(b.g.Edges, e)
	}
}

func edgeKind(name string) *EdgeKind {
	return &EdgeKinds[slices.IndexFunc(EdgeKinds, func(k EdgeKind) bool { return k.Name == name })]
}

// declarations adds the nodes of the outline, and what their declarations contain.
func (b *builder) declarations() {
	kinds, names := make([]string, len(b.p.Outline)), make([]string, len(b.p.Outline))
	for i := range b.p.Outline {
		kinds[i], names[i] = b.declared(i)
	}
	b.distinguish(kinds, names)
	before := -1 // stage before the current one
	for i := range b.p.Outline {
		d := &b.p.Outline[i]
		n := Node{Kind: kinds[i], Name: names[i], At: b.place(d.File, d.At), Detail: b.details(d)}
		if d.Kind == ir.DeclStage {
			n.Name = names[d.Index] + "/" + names[i]
		}
		n.ID = n.Kind + ":" + n.Name
		b.ids[i] = b.node(n)
		if d.Public && (d.Kind == ir.DeclFunction || d.Kind == ir.DeclPipeline || d.Kind == ir.DeclTool) {
			b.public = append(b.public, n.ID)
		}
		if d.Kind != ir.DeclStage {
			continue
		}
		if before >= 0 && b.p.Outline[before].Index == d.Index {
			b.edge(Edge{From: b.ids[before], To: n.ID, Kind: then, At: n.At})
		} else {
			b.edge(Edge{From: b.ids[d.Index], To: n.ID, Kind: starts, At: n.At})
		}
		before = i
	}
	for i := range b.p.Outline {
		b.contents(i)
	}
}

// declared returns the kind and the name of the node of element i of the outline.
func (b *builder) declared(i int) (kind, name string) {
	d := &b.p.Outline[i]
	kind, name = string(d.Kind), d.Name
	switch d.Kind {
	case ir.DeclAgent:
		name = b.p.Agents[d.Index].Name
	case ir.DeclHost:
		name = b.p.Hosts[d.Index].Name
	case ir.DeclTool:
		name = b.p.Tools[d.Index].Name
		if b.p.Tools[d.Index].Server != "" {
			kind = mcp
		}
	case ir.DeclStore:
		name = b.p.Stores[d.Index].Name
	}
	return kind, clean(name)
}

// isMain reports whether element i of the outline is the function at which a run starts.
func (b *builder) isMain(d *ir.Declaration) bool {
	if d.Kind != ir.DeclFunction || b.p.Entry < 0 || d.Name != "main" {
		return false
	}
	entry, f := &b.p.Functions[b.p.Entry], &b.p.Functions[d.Index] // the entry may be what calls main with its task
	return entry.File == f.File && entry.Line == f.Line
}

// distinguish adds the file to names that several declarations of a kind have, and the line if the
// file does not distinguish them.
func (b *builder) distinguish(kinds, names []string) {
	all := b.p.Outline
	suffixes := []func(*ir.Declaration) string{
		func(d *ir.Declaration) string { return "@" + clean(b.p.Files[d.File].Name) },
		func(d *ir.Declaration) string { return fmt.Sprintf(":%d:%d", d.At.Line, d.At.Column) },
	}
	for _, suffix := range suffixes {
		count := map[string]int{}
		key := func(i int) string { return kinds[i] + ":" + names[i] }
		for i := range all {
			if all[i].Kind != ir.DeclStage {
				count[key(i)]++
			}
		}
		same := make([]bool, len(all))
		for i := range all {
			same[i] = all[i].Kind != ir.DeclStage && count[key(i)] > 1 && !b.isMain(&all[i])
		}
		for i := range all {
			if same[i] {
				names[i] += suffix(&all[i])
			}
		}
	}
}

// details returns the details of a declaration, or nil.
func (b *builder) details(d *ir.Declaration) *Details {
	switch d.Kind {
	case ir.DeclAgent:
		if m := b.p.Agents[d.Index].Model; m != "" {
			return &Details{Model: clean(m)}
		}
	case ir.DeclHost:
		h := &b.p.Hosts[d.Index]
		return &Details{Connector: clean(h.Connector), Transport: text(h.Config, "transport", "stdio")}
	case ir.DeclTool:
		t := &b.p.Tools[d.Index]
		out := &Details{From: "program"}
		if t.Server != "" {
			out = &Details{Transport: "stdio"}
			for _, s := range b.p.Servers {
				if s.Name == t.Server {
					out.Transport = text(s.Config, "transport", "stdio")
				}
			}
		}
		for _, m := range t.Methods {
			if m.Described {
				out.Functions = append(out.Functions, clean(m.Name))
			}
		}
		return out
	case ir.DeclStore:
		return &Details{Kind: b.p.Stores[d.Index].Kind}
	}
	return nil
}

// text returns a member of a section of the manifest, or otherwise if it is missing.
func text(config json.RawMessage, key, otherwise string) string {
	var s string
	if v, ok := members(config)[key]; ok && json.Unmarshal(v, &s) == nil && s != "" {
		return clean(s)
	}
	return otherwise
}

// members returns the members of a JSON object; none if config is nil.
func members(config json.RawMessage) map[string]json.RawMessage {
	var all map[string]json.RawMessage
	_ = json.Unmarshal(config, &all) // the verifier has checked that it is an object or nil
	return all
}

// contents adds the edges for what the declaration of element i of the outline contains.
func (b *builder) contents(i int) {
	d := &b.p.Outline[i]
	id, at := b.ids[i], b.place(d.File, d.At)
	var tools []int
	switch d.Kind {
	case ir.DeclAgent:
		a := &b.p.Agents[d.Index]
		tools = a.Tools
		if a.Connection != "" {
			b.edge(Edge{From: id, To: b.connection(a.Connection), Kind: connects, At: at})
		}
		stores := slices.Clone(a.Knowledge)
		if a.Memory >= 0 {
			stores = append(stores, a.Memory)
		}
		for _, s := range stores {
			if to := b.element(ir.DeclStore, s); to != "" {
				b.edge(Edge{From: id, To: to, Kind: uses, At: at})
			}
		}
	case ir.DeclHost:
		tools = b.p.Hosts[d.Index].Tools
		b.tools[id] = len(tools) > 0
	}
	for _, t := range tools {
		if to := b.element(ir.DeclTool, t); to != "" {
			b.edge(Edge{From: id, To: to, Kind: offers, At: at})
		}
	}
}

// element returns the id of the node of an element of a table, or "" if it is not in the outline.
func (b *builder) element(kind ir.DeclKind, n int) string {
	for i := range b.p.Outline {
		if b.p.Outline[i].Kind == kind && b.p.Outline[i].Index == n {
			return b.ids[i]
		}
	}
	return ""
}

// connection adds the node of a connection.
func (b *builder) connection(name string) string {
	n := Node{ID: connection + ":" + clean(name), Kind: connection, Name: clean(name)}
	for _, c := range b.p.Connections {
		if c.Name != name {
			continue
		}
		if provider := text(c.Config, "provider", ""); provider != "" {
			n.Detail = &Details{Provider: provider}
		}
	}
	return b.node(n)
}

// manifest adds the application's tools, which the manifest declares.
func (b *builder) manifest() {
	for _, t := range b.p.AppTools {
		name := clean(t.Name)
		n := Node{ID: tool + ":" + name, Kind: tool, Name: name, Detail: &Details{Functions: []string{name}, From: "manifest"}}
		if _, exists := b.nodes[n.ID]; exists { // the program declares a tool with this name, too
			n.Name += "@manifest"
			n.ID = tool + ":" + n.Name
		}
		b.edge(Edge{From: b.theApplication(), To: b.node(n), Kind: offers})
	}
	for i := range b.p.Outline {
		d := &b.p.Outline[i]
		var filters *[]string
		switch d.Kind {
		case ir.DeclAgent:
			filters = b.p.Agents[d.Index].AppTools
		case ir.DeclHost:
			filters = b.p.Hosts[d.Index].AppTools
		}
		if filters == nil {
			continue
		}
		for _, t := range b.p.AppTools {
			to := b.manifestTool(clean(t.Name))
			if slices.ContainsFunc(*filters, func(f string) bool { return selects(f, &t) }) {
				b.edge(Edge{From: b.ids[i], To: to, Kind: offers, At: b.place(d.File, d.At)})
			}
		}
	}
}

// manifestTool returns the id of the node of a tool of the manifest.
func (b *builder) manifestTool(name string) string {
	if id := tool + ":" + name + "@manifest"; b.nodes[id] > 0 {
		return id
	}
	return tool + ":" + name
}

// selects reports whether a filter of `app_tools` selects a tool.
func selects(filter string, t *ir.AppTool) bool {
	if category, ok := strings.CutPrefix(filter, "category:"); ok {
		return text(t.Config, "category", "") == category
	}
	name, version, versioned := strings.Cut(filter, "@")
	return name == t.Name && (!versioned || text(t.Config, "version", "") == version)
}

func (b *builder) theApplication() string {
	return b.node(Node{ID: application + ":" + application, Kind: application, Name: application})
}

// uses adds the edges for the code of element i of the outline.
func (b *builder) uses(i int) {
	d := &b.p.Outline[i]
	from := b.ids[i]
	listened := map[int]bool{} // hosts to which the code listens
	for _, u := range d.Uses {
		if u.Kind == ir.UseListen {
			listened[u.Target] = true
		}
		if u.Kind == ir.UseOffer {
			b.tools[b.ids[u.By]] = true
		}
	}
	for _, u := range d.Uses {
		at := b.place(d.File, u.At)
		switch u.Kind {
		case ir.UseNames:
			if !listened[u.Target] {
				b.names(from, u, at)
			}
		case ir.UseListen:
			b.listen(i, u, at)
		case ir.UseEmit:
			b.edge(Edge{From: from, To: b.channel(u.Channel, false), Kind: emits, At: at})
		case ir.UseAwait:
			b.edge(Edge{From: from, To: b.channel(u.Channel, true), Kind: awaits, At: at})
		case ir.UseOffer:
			b.edge(Edge{From: b.ids[u.By], To: b.ids[u.Target], Kind: offers, At: at})
		case ir.UseMemory:
			b.edge(Edge{From: b.ids[u.By], To: b.ids[u.Target], Kind: uses, At: at})
		}
	}
}

// naming maps the kind of a named declaration to the kind of the edge. The method determines the
// edges to a store.
var naming = map[ir.DeclKind]string{
	ir.DeclFunction: calls, ir.DeclTool: calls, ir.DeclPipeline: runs, ir.DeclAgent: asks, ir.DeclHost: executes,
}

// names adds the edges for code that names a declaration.
func (b *builder) names(from string, u ir.Use, at string) {
	kinds := []string{naming[b.p.Outline[u.Target].Kind]}
	switch b.p.Outline[u.Target].Kind {
	case ir.DeclStore:
		kinds = accesses(u.Method)
	case ir.DeclStage:
		return // a later stage reads its value
	}
	for _, kind := range kinds {
		b.edge(Edge{From: from, To: b.ids[u.Target], Kind: kind, At: at})
	}
}

// storeMethods maps the methods of stores to the edges from their callers. A use of a store without
// a method, or with another one, is both. with_memory passes a memory to an agent that the
// expression does not name.
var storeMethods = map[string]string{
	"append": writes, "clear": writes, "insert": writes, "set": writes, "set_many": writes, "update": writes, "update_keys": writes,
	"messages": reads, "last": reads, "len": reads, "is_empty": reads, "get": reads, "get_or": reads, "get_many": reads, "has": reads, "keys": reads,
	"values": reads, "entries": reads, "identifiers": reads, "to_map": reads, "query": reads, "find": reads, "on_change": reads, "on_any_change": reads,
	"delete": writes, "increment": both, "with_memory": reads,
	"add": writes, "complete": writes, "fail": writes, "extend": writes, "release": writes, "retry": writes, "remove": writes, "list": reads, "counts": reads,
	"claim": both, "next": both,
}

const both = "reads and writes"

func accesses(method string) []string {
	if kind := storeMethods[method]; kind != "" && kind != both {
		return []string{kind}
	}
	return []string{reads, writes}
}

// listen adds the edges for a listen in element i of the outline.
func (b *builder) listen(i int, u ir.Use, at string) {
	d := &b.p.Outline[i]
	from := b.ids[i]
	var to string
	var section map[string]json.RawMessage
	if u.Target >= 0 {
		to = b.ids[u.Target]
		section = members(b.p.Hosts[b.p.Outline[u.Target].Index].Config)
	} else {
		to = b.node(Node{ID: anyHost, Kind: host, Name: anyHostName})
	}
	b.edge(Edge{From: from, To: to, Kind: listens, At: at})
	handled := map[string]bool{}
	for _, h := range u.Handlers {
		target := from
		if h.Function >= 0 {
			target = b.ids[h.Function]
		}
		handled[h.Type] = true
		b.edge(Edge{From: to, To: target, Kind: message, Type: clean(h.Type), At: b.place(d.File, h.At)})
	}
	for _, typ := range sends(section) {
		if handled[typ] {
			continue
		}
		m := hostmsg.Lookup(typ)
		by := "none"
		switch _, hasDefault := section[m.Default]; {
		case m.Default != "" && hasDefault:
			by = "default"
		case m.Unhandled == hostmsg.ByTools && b.tools[to]:
			by = "tools"
		}
		b.edge(Edge{From: to, To: from, Kind: unhandled, Type: clean(typ), By: by, At: at})
	}
}

// sends returns the types of the messages that a host may send, of those that a listen may handle.
// section is the section of the host.
func sends(section map[string]json.RawMessage) []string {
	var types []string
	if listed, ok := section["message_types"]; !ok || json.Unmarshal(listed, &types) != nil {
		return []string{hostmsg.Question, hostmsg.Approval}
	}
	return slices.DeleteFunc(types, func(typ string) bool {
		m := hostmsg.Lookup(typ)
		return m.IsKnown() && !m.Handled()
	})
}

// channel adds the node of a channel. name is nil if only a run determines the channel.
func (b *builder) channel(name *string, awaited bool) string {
	n := Node{ID: computedChannel, Kind: channel, Name: computedName}
	if name != nil {
		n.Name = clean(*name)
		if n.ID = channel + ":" + n.Name; n.ID == computedChannel {
			n.ID = channel + `:"*"`
		}
	}
	b.node(n)
	if awaited {
		b.g.Nodes[b.nodes[n.ID]].Detail = &Details{Awaited: true}
	}
	return n.ID
}

// hostChannels adds the channels on which the library awaits the answers to the requests of hosts
// that the program executes without a listen. A stream passes requests to the program.
func (b *builder) hostChannels() {
	streamed := map[Edge]bool{}
	for i := range b.p.Outline {
		for _, u := range b.p.Outline[i].Uses {
			if u.Kind == ir.UseNames && b.p.Outline[u.Target].Kind == ir.DeclHost {
				e := Edge{From: b.ids[i], To: b.ids[u.Target]}
				if _, seen := streamed[e]; !seen || u.Method != "stream" {
					streamed[e] = u.Method == "stream"
				}
			}
		}
	}
	for _, e := range slices.Clone(b.g.Edges) {
		if e.Kind != executes || streamed[Edge{From: e.From, To: e.To}] {
			continue
		}
		for _, m := range hostmsg.Messages() {
			if m.Waits() && m.Channel != "" {
				b.edge(Edge{From: e.To, To: b.channel(&m.Channel, true), Kind: awaits, At: b.g.Nodes[b.nodes[e.To]].At})
			}
		}
	}
}

// application connects the channels with the application.
func (b *builder) application() {
	for _, n := range slices.Clone(b.g.Nodes) {
		if n.Kind == channel {
			b.edge(Edge{From: n.ID, To: b.theApplication(), Kind: reaches})
		}
	}
}

// markUnused marks the nodes to which no edge leads. Public functions, pipelines and tools may be
// used from outside of the program.
func (b *builder) markUnused() {
	used := map[string]bool{}
	for _, e := range b.g.Edges {
		used[e.To] = true
	}
	for _, id := range b.public {
		used[id] = true
	}
	for i := range b.p.Outline {
		if b.isMain(&b.p.Outline[i]) {
			used[b.ids[i]] = true
		}
	}
	for i := range b.g.Nodes {
		n := &b.g.Nodes[i]
		n.Unused = n.Kind != application && !used[n.ID]
	}
}

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"unicode"
)

// model is the meta model of the protocol, or an excerpt of it.
type model struct {
	MetaData      json.RawMessage `json:"metaData"`
	Requests      []*method       `json:"requests"`
	Notifications []*method       `json:"notifications"`
	Structures    []*structure    `json:"structures"`
	Enumerations  []*enumeration  `json:"enumerations"`
	TypeAliases   []*alias        `json:"typeAliases"`
}

type method struct {
	Method           string `json:"method"`
	ServerCapability string `json:"serverCapability,omitempty"`
	Params           *typ   `json:"params,omitempty"`
	Result           *typ   `json:"result,omitempty"`
}

type structure struct {
	Name       string     `json:"name"`
	Properties []property `json:"properties"`
	Extends    []*typ     `json:"extends,omitempty"`
	Mixins     []*typ     `json:"mixins,omitempty"`
}

type property struct {
	Name     string `json:"name"`
	Type     *typ   `json:"type"`
	Optional bool   `json:"optional,omitempty"`
}

type enumeration struct {
	Name   string `json:"name"`
	Type   *typ   `json:"type"`
	Values []struct {
		Name  string `json:"name"`
		Value any    `json:"value"`
	} `json:"values"`
}

type alias struct {
	Name string `json:"name"`
	Type *typ   `json:"type"`
}

// typ is a reference to a type, or a composite type, of the model.
type typ struct {
	Kind    string          `json:"kind"`
	Name    string          `json:"name,omitempty"`
	Items   []*typ          `json:"items,omitempty"`
	Element *typ            `json:"element,omitempty"`
	Key     *typ            `json:"key,omitempty"`
	Value   json.RawMessage `json:"value,omitempty"` // value type of a map, or value of a literal
}

func readModel(file string) (*model, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	m := &model{}
	if err := json.Unmarshal(text, m); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return m, nil
}

// text returns the model as it is stored, with one line for each entry.
func (m *model) text() ([]byte, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "{\"metaData\": %s", m.MetaData)
	for _, part := range []struct {
		name string
		list []any
	}{{"requests", toAny(m.Requests)}, {"notifications", toAny(m.Notifications)}, {"structures", toAny(m.Structures)}, {"enumerations", toAny(m.Enumerations)}, {"typeAliases", toAny(m.TypeAliases)}} {
		fmt.Fprintf(&b, ",\n%q: [", part.name)
		for i, x := range part.list {
			line, err := json.Marshal(x)
			if err != nil {
				return nil, err
			}
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteByte('\n')
			b.Write(line)
		}
		b.WriteByte(']')
	}
	b.WriteString("}\n")
	return b.Bytes(), nil
}

func toAny[T any](list []T) (out []any) {
	for _, x := range list {
		out = append(out, x)
	}
	return out
}

// pruning collects the types that the used methods refer to.
type pruning struct {
	*model
	use  *use
	seen map[string]bool
	out  *model
	err  error
}

// prune returns the used part of the model. In the result, structures contain copies of their
// inherited fields.
func (m *model) prune(u *use) (*model, error) {
	p := &pruning{model: m, use: u, seen: map[string]bool{}, out: &model{MetaData: m.MetaData}}
	found := map[string]bool{}
	filter := func(list []*method) (kept []*method) {
		for _, x := range list {
			if !u.methods[x.Method] {
				continue
			}
			found[x.Method] = true
			kept = append(kept, &method{x.Method, x.ServerCapability, x.Params, x.Result})
			p.follow("", x.Params)
			p.follow("", x.Result)
		}
		return kept
	}
	p.out.Requests, p.out.Notifications = filter(m.Requests), filter(m.Notifications)
	for _, name := range unnamed {
		p.followNamed(name)
	}
	for name := range u.methods {
		if !found[name] {
			return nil, fmt.Errorf("the protocol has no method %q", name)
		}
	}
	for name := range u.fields {
		if !p.seen[name] {
			return nil, fmt.Errorf("nothing uses the type %q", name)
		}
	}
	return p.out, p.err
}

// unnamed lists used types that no method refers to: values of $/progress, registrations, and types
// that handwritten Go types contain.
var unnamed = []string{"WorkDoneProgressBegin", "WorkDoneProgressReport", "WorkDoneProgressEnd", "DidChangeWatchedFilesRegistrationOptions",
	"WorkspaceFullDocumentDiagnosticReport", "WorkspaceUnchangedDocumentDiagnosticReport", "FullDocumentDiagnosticReport", "UnchangedDocumentDiagnosticReport", "DocumentDiagnosticReportKind", "InsertReplaceEdit",
	"TextDocumentEdit", "CreateFile"}

// follow marks a type, and all types that it refers to, as used.
func (p *pruning) follow(at string, t *typ) {
	if t == nil {
		return
	}
	if own := p.use.types[at]; own != "" {
		p.followHandwritten(own)
		return
	}
	if t.Kind == "reference" {
		p.followNamed(t.Name)
		return
	}
	p.follow(at, t.Element)
	p.follow(at, t.Key)
	for _, x := range t.Items {
		p.follow(at, x)
	}
	if t.Kind == "map" {
		p.follow(at, t.value())
	}
}

// followHandwritten marks the types that a handwritten Go type refers to as used.
func (p *pruning) followHandwritten(own string) {
	for _, name := range strings.FieldsFunc(own, func(r rune) bool { return !unicode.IsLetter(r) }) {
		if p.structure(name) != nil {
			p.followNamed(name)
		}
	}
}

func (t *typ) value() *typ {
	v := &typ{}
	if err := json.Unmarshal(t.Value, v); err != nil {
		panic("a map of the model: " + err.Error())
	}
	return v
}

func (p *pruning) followNamed(name string) {
	if p.seen[name] {
		return
	}
	p.seen[name] = true
	if own := p.use.types[name]; own != "" {
		p.followHandwritten(own)
		return
	}
	for _, x := range p.Enumerations {
		if x.Name == name {
			p.out.Enumerations = append(p.out.Enumerations, x)
			return
		}
	}
	for _, x := range p.TypeAliases {
		if x.Name == name {
			p.out.TypeAliases = append(p.out.TypeAliases, x)
			p.follow(name, x.Type)
			return
		}
	}
	s := p.structure(name)
	if s == nil {
		p.err = fmt.Errorf("the model has no type %q", name)
		return
	}
	pruned := &structure{Name: name, Properties: []property{}}
	p.out.Structures = append(p.out.Structures, pruned)
	for _, f := range p.all(s) {
		if p.use.unused[f.Name] {
			continue
		}
		if used, ok := p.use.fields[name]; ok && !slices.Contains(used, f.Name) {
			continue
		}
		pruned.Properties = append(pruned.Properties, f)
		p.follow(name+"."+f.Name, f.Type)
	}
}

func (p *pruning) structure(name string) *structure {
	for _, x := range p.Structures {
		if x.Name == name {
			return x
		}
	}
	return nil
}

// all returns the fields of a structure, the inherited ones first. A field of the structure
// replaces an inherited field of the same name.
func (p *pruning) all(s *structure) (out []property) {
	add := func(f property) {
		out = slices.DeleteFunc(out, func(x property) bool { return x.Name == f.Name })
		out = append(out, f)
	}
	for _, t := range slices.Concat(s.Extends, s.Mixins) {
		for _, f := range p.all(p.structure(t.Name)) {
			add(f)
		}
	}
	for _, f := range s.Properties {
		add(f)
	}
	return out
}

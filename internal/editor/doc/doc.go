// Package doc provides the texts of `concerto doc`: the library's reference, the keywords, the
// decorators and the manifest's keys, each with an example. The corresponding pages of spec/ are
// generated from these texts, so that each text exists once.
package doc

import (
	"slices"
	"strings"
	"sync"

	"github.com/concerto-lang/concerto/internal/compile/manifest"
	"github.com/concerto-lang/concerto/internal/text/suggest"
	"github.com/concerto-lang/concerto/stdlib"
)

//go:generate go run ./gen ../../../spec/words.md

// Topic is the documentation of one name.
type Topic struct {
	Name      string // "json::parse", "Array.push", "listen", "@retry", "hosts.*.command"
	Signature string // "" for a name without a signature
	Doc       string // Markdown
	Example   string // Concerto code, or TOML for a key of the manifest; "" if Doc contains an example
}

// Summary returns the first sentence of Doc.
func (t *Topic) Summary() string {
	text := strings.Join(strings.Fields(t.Doc), " ")
	if i := strings.Index(text, ". "); i >= 0 {
		text = text[:i+1]
	}
	return text
}

// Group is a group of topics: a page of the library, the words, or a section of
// the manifest.
type Group struct {
	Name   string // the name for queries: "json", "Array", "keywords", "hosts.*"
	Title  string
	Intro  string
	Topics []Topic

	ofManifest bool // it is a section of the manifest
}

// Groups returns all groups in the order of the manual. The caller must not modify the result.
func Groups() []Group { return allGroups() }

var allGroups = sync.OnceValue(func() []Group {
	groups := []Group{
		{Name: "keywords", Title: "Keywords", Intro: "The reserved words, and the contextual words, which are keywords in certain places only.", Topics: wordTopics(keywords)},
		{Name: "decorators", Title: "Decorators", Intro: "The names that may follow an `@`.", Topics: wordTopics(decorators)},
		{Name: "types", Title: "Special types", Intro: "The types without methods of their own. The methods of the other built-in types are below.", Topics: wordTopics(plainTypes)},
	}
	for _, p := range stdlib.Pages() {
		for _, s := range p.Sections {
			g := Group{Name: s.Title, Title: s.Title, Intro: s.Intro}
			if s.Title == "" {
				g.Name, g.Title = p.Name, p.Title
			}
			for _, e := range s.Entries {
				g.Topics = append(g.Topics, Topic(e))
			}
			groups = append(groups, g)
		}
	}
	for _, s := range manifest.Sections() {
		g := Group{Name: s.Name, Title: "[" + s.Name + "] in Concerto.toml", Intro: s.Doc, ofManifest: true}
		for _, k := range s.Keys {
			g.Topics = append(g.Topics, Topic{Name: k.Path, Signature: k.Name() + " = " + k.Describe(), Doc: k.Doc,
				Example: "[" + sample(s.Name) + "]\n" + sample(k.Name()) + " = " + k.Example})
		}
		groups = append(groups, g)
	}
	return groups
})

// sample returns a section's name in which an example name replaces the wildcard.
func sample(section string) string {
	section, element := strings.CutSuffix(strings.NewReplacer("guard.agents.*", "guard.agents.codex", "*", "main").Replace(section), "[]")
	if element {
		return "[" + section + "]"
	}
	return section
}

func wordTopics(rows []word) []Topic {
	var out []Topic
	for _, r := range rows {
		for _, w := range r.words {
			out = append(out, Topic{Name: w.name, Doc: w.doc, Example: strings.TrimSuffix(r.example, "\n")})
		}
	}
	slices.SortFunc(out, func(a, b Topic) int { return strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)) })
	return out
}

// Find returns the topics of a name and the group with that name. A full name takes precedence.
// Without a full match, the last part of a topic's name is compared: `parse` finds json::parse and
// time::parse.
func Find(name string) (topics []Topic, group *Group) {
	groups := Groups()
	if strings.HasPrefix(strings.TrimSpace(name), "std::") { // a module, not the section [merge.X]
		groups = slices.DeleteFunc(slices.Clone(groups), func(g Group) bool { return g.ofManifest })
	}
	name = normalizeName(name)
	for i := range groups {
		if normalizeName(groups[i].Name) == name || normalizeName(groups[i].Name) == name+".*" {
			group = &groups[i]
		}
	}
	for _, same := range []func(topic string) bool{
		func(topic string) bool { return topic == name },
		func(topic string) bool {
			return group == nil && lastPart(topic) == lastPart(name) && strings.HasSuffix(topic, name)
		},
		func(topic string) bool { // a key whose path contains a user-defined name
			section, own := strings.CutSuffix(topic, "*")
			return own && strings.HasPrefix(name, section)
		},
	} {
		for _, g := range groups {
			for _, t := range g.Topics {
				if same(normalizeName(t.Name)) {
					topics = append(topics, t)
				}
			}
		}
		if len(topics) > 0 {
			break
		}
	}
	return topics, group
}

// Members returns the methods of a type that a module declares.
func Members(typ string) []Topic {
	var out []Topic
	for _, g := range Groups() {
		for _, t := range g.Topics {
			if strings.HasPrefix(t.Name, lastPart(typ)+".") && strings.Contains(typ, "::") {
				out = append(out, t)
			}
		}
	}
	return out
}

// Near returns the existing name that is most similar to an unknown name, or "" if none is similar.
// Names of the same module or type are preferred, and full names to last parts.
func Near(name string) string {
	if near := nearMember(normalizeName(name)); near != "" {
		return near
	}
	for _, part := range []func(string) string{normalizeName, func(name string) string { return lastPart(normalizeName(name)) }} {
		var names []string
		full := map[string]string{}
		for _, g := range Groups() {
			for _, t := range g.Topics {
				as := part(t.Name)
				if _, exists := full[as]; !exists {
					names = append(names, as)
					full[as] = t.Name
				}
			}
			names = append(names, normalizeName(g.Name))
			full[normalizeName(g.Name)] = g.Name
		}
		if near := suggest.Nearest(normalizeName(name), names); near != "" {
			return full[near]
		}
	}
	return ""
}

// nearMember returns the member of a module or type that is most similar to the last part of a
// name, whatever separates the two: fs.read means fs::read_file.
func nearMember(name string) string {
	last := lastPart(name)
	owner := strings.TrimRight(strings.TrimSuffix(name, last), ".:")
	if owner == "" {
		return ""
	}
	var names []string
	full := map[string]string{}
	for _, g := range Groups() {
		for _, t := range g.Topics {
			as := normalizeName(t.Name)
			if part := lastPart(as); strings.TrimRight(strings.TrimSuffix(as, part), ".:") == owner {
				names, full[part] = append(names, part), t.Name
			}
		}
	}
	if as, ok := full[last]; ok {
		return as
	}
	return full[suggest.Nearest(last, names)]
}

// named contains the sections of the manifest whose tables have names of their own, such as hosts
// and guard.agents.
var named = sync.OnceValue(func() (sections []string) {
	for _, k := range manifest.Keys() {
		section, _, ok := strings.Cut(k.Path, ".*.")
		if !ok { // keys of [run.unknown], for example, are names themselves
			section, ok = strings.CutSuffix(k.Path, ".*")
			ok = ok && !strings.Contains(section, ".")
		}
		if ok && !slices.Contains(sections, section) {
			sections = append(sections, section)
		}
	}
	return sections
})

// withoutOwn replaces the name of such a table in the path of a manifest key by "*".
func withoutOwn(path string) string {
	for _, section := range named() {
		if rest, ok := strings.CutPrefix(path, section+"."); ok {
			_, key, _ := strings.Cut(rest, ".")
			return strings.TrimSuffix(section+".*."+key, ".")
		}
	}
	return path
}

// normalizeName returns a name without its optional parts, for comparison.
func normalizeName(name string) string {
	name = strings.Trim(strings.TrimSpace(name), "[]")
	name = strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(name, "std::"), "@"), "()")
	name = withoutOwn(name)
	name = strings.ReplaceAll(name, "[]", "")
	if first, rest, ok := strings.Cut(name, "::"); ok && first != "" && first[0] >= 'A' && first[0] <= 'Z' {
		return first + "." + rest
	}
	return name
}

// lastPart returns the part after the last separator.
func lastPart(name string) string {
	if i := strings.LastIndexAny(name, ".:"); i >= 0 {
		return name[i+1:]
	}
	return name
}

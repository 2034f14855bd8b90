// Package models contains the providers of models, and what is known about the models of vendors:
// what they accept, and in which form. Each fact has its source in models.json.
package models

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Model is a row of the table: what models whose names match the pattern accept.
type Model struct {
	Provider string `json:"provider"`
	// Pattern is a name as Name returns it, in which * matches any characters.
	Pattern string `json:"pattern"`
	Date    string `json:"date"` // when the row was collected
	Settings
	// Cache is how the provider's cache is used: Marks, Points, Auto or "none"; "" means that it is
	// unknown. A prefix of a request with fewer tokens than CacheMin is not stored. CacheOptions is
	// whether the model accepts OpenAI's prompt_cache_options.
	Cache        string   `json:"cache"`
	CacheMin     int64    `json:"cache_min"`
	CacheOptions bool     `json:"cache_options"`
	Source       []string `json:"source"` // names in sources, or addresses
	Price        []Price  `json:"price"`  // prices of the model that the pattern names, each from its date on; nil if they are unknown
}

// Settings are what a model accepts.
type Settings struct {
	// Temperature and TopP are Send, Refuse or EffortNone; "" means Send.
	Temperature string `json:"temperature,omitempty"`
	TopP        string `json:"top_p,omitempty"`
	// Thinking is "none", "budget" (with a budget), "adaptive" (on by default) or "always"; ""
	// means that it is unknown.
	Thinking string  `json:"thinking,omitempty"`
	Effort   Efforts `json:"effort,omitempty"` // reasoning efforts that the model accepts; nil if they are unknown
	// MaxOutput and Context are the maximum numbers of tokens of a reply, and of a request with its
	// reply. DefaultOutput is the maximum of a reply that is sent where the API requires one. 0
	// means that the number is unknown.
	MaxOutput     int64 `json:"max_output,omitempty"`
	Context       int64 `json:"context,omitempty"`
	DefaultOutput int64 `json:"default_output,omitempty"`
	// Schema contains the forms in which the model accepts a schema, the best first: Native, Tool
	// or Prompt. SchemaTools are those of a request with tools.
	Schema      []string `json:"schema,omitempty"`
	SchemaTools []string `json:"schema_tools,omitempty"`
	// ChatTools is whether chat completions accept tools: Send, Refuse or EffortNone, which here
	// includes requests without an effort; "" means Send.
	ChatTools string `json:"chat_tools,omitempty"`
}

// Values of Temperature and TopP.
const (
	Send       = "send"
	Refuse     = "refuse"      // the model does not accept the parameter
	EffortNone = "effort_none" // only without reasoning
	Drop       = "drop"        // only in Overrides: the parameter is omitted from requests
)

// NoEffort is the reasoning effort with which a model does not reason.
const NoEffort = "none"

// Use is the use of a model by an agent with a reasoning effort, or "".
type Use struct{ Connection, Model, Effort string }

// Refuses returns how a model refuses a field of an agent: the end of a sentence about the model
// and the step that helps, or "". A nil model, about which nothing is known, accepts all.
func (m *Model) Refuses(field string, u Use) (how, step string) {
	if m == nil {
		return "", ""
	}
	if field == "reasoning_effort" {
		return m.refusesEffort(u.Effort)
	}
	switch accepts := map[string]string{"temperature": m.Temperature, "top_p": m.TopP}[field]; {
	case accepts == Refuse:
		return "does not accept " + field, fmt.Sprintf("remove it, or write `%q = { %s = %q }` into [connections.%s.models], which omits it from requests", u.Model, field, Drop, u.Connection)
	case accepts == EffortNone && u.Effort != NoEffort:
		return "accepts " + field + " only without reasoning", `remove it, or set reasoning_effort: "none"`
	}
	return "", ""
}

func (m *Model) refusesEffort(effort string) (how, step string) {
	accepted := m.Efforts()
	switch {
	case m.Effort == nil || effort == "" || slices.Contains(accepted, effort):
		return "", ""
	case len(m.Effort) == 0:
		return "has no reasoning efforts", "remove reasoning_effort"
	}
	return fmt.Sprintf("does not accept the reasoning effort %q", effort), "use one of " + strings.Join(accepted, ", ") + ", or remove it"
}

// Efforts returns the reasoning efforts that the model accepts in increasing order, or nil if they
// are unknown.
func (m *Model) Efforts() (names []string) {
	if m == nil || m.Effort == nil {
		return nil
	}
	if m.isOptional() {
		names = append(names, NoEffort)
	}
	for _, e := range m.Effort {
		names = append(names, e.Name)
	}
	return names
}

// Budget returns the maximum number of tokens for the reasoning with an effort. ok is false if the
// model accepts the name of the effort instead.
func (m *Model) Budget(effort string) (tokens int64, ok bool) {
	if m != nil {
		for _, e := range m.Effort {
			if e.Name == effort && e.Budget >= 0 {
				return e.Budget, true
			}
		}
	}
	return 0, false
}

// isOptional reports whether reasoning can be disabled with a parameter that is no effort.
func (m *Model) isOptional() bool {
	return m.Provider == "anthropic" && len(m.Effort) > 0 && (m.Thinking == "adaptive" || m.Thinking == "budget")
}

// Efforts are reasoning efforts in increasing order.
type Efforts []Effort

// Effort is a reasoning effort. Budget is the maximum number of tokens for the reasoning, for
// models that accept a number instead of the name; else -1.
type Effort struct {
	Name   string
	Budget int64
}

// MarshalJSON returns what UnmarshalJSON reads.
func (e Efforts) MarshalJSON() ([]byte, error) {
	names, budgets := []string{}, map[string]int64{}
	for _, x := range e {
		names = append(names, x.Name)
		if x.Budget >= 0 {
			budgets[x.Name] = x.Budget
		}
	}
	if len(budgets) > 0 {
		return json.Marshal(budgets)
	}
	return json.Marshal(names)
}

// UnmarshalJSON reads an array of names, or an object with the budgets of the names.
func (e *Efforts) UnmarshalJSON(text []byte) error {
	*e = Efforts{}
	var names []string
	if json.Unmarshal(text, &names) == nil {
		for _, name := range names {
			*e = append(*e, Effort{name, -1})
		}
		return nil
	}
	var budgets map[string]int64
	if err := json.Unmarshal(text, &budgets); err != nil {
		return err
	}
	for name, n := range budgets {
		*e = append(*e, Effort{name, n})
	}
	slices.SortFunc(*e, func(a, b Effort) int { return cmp.Or(cmp.Compare(a.Budget, b.Budget), strings.Compare(a.Name, b.Name)) })
	return nil
}

// Forms of a schema.
const (
	Native = "native" // a member of the request
	Tool   = "tool"   // a tool that the model must call
	Prompt = "prompt" // a part of the prompt
)

// Values of Cache.
const (
	Marks  = "marks"  // up to where a request marks its blocks, as Anthropic requires
	Points = "points" // the same with blocks between the others, as Bedrock requires
)

// Values of `cache` in a connection, in addition to Auto.
const (
	CacheOff  = "off"
	CacheHour = "1h" // what is written has a lifetime of one hour, where the provider has a choice
)

// Reasons reports whether the model reasons before it answers.
func (m *Model) Reasons() bool { return m.Thinking == "always" || m.Thinking == "adaptive" }

// Caches reports whether the provider stores the beginnings of the model's requests, as far as is
// known.
func (m *Model) Caches() bool { return m != nil && m.Cache != "" && m.Cache != "none" }

//go:embed models.json
var text []byte

type table struct {
	Sources map[string]string `json:"sources"`
	Rows    []Model           `json:"rows"`
}

// read is the table after the first use. It is no sync.OnceValue, which would link the text into
// programs that use only the types of this package.
var read struct {
	once sync.Once
	table
}

func loaded() *table {
	read.once.Do(func() {
		if err := json.Unmarshal(text, &read.table); err != nil {
			panic(err) // the file is embedded
		}
	})
	return &read.table
}

// Rows returns the rows of the table.
func Rows() []Model { return slices.Clone(loaded().Rows) }

// families maps the beginnings of names to the providers of their rows.
var families = []struct{ prefix, provider string }{{"claude-", "anthropic"}, {"gpt-", "openai"}, {"gemini-", "gemini"}}

// Overrides are the settings of a connection for its models, by patterns of their names.
type Overrides map[string]Override

// Override replaces members of a model's row. Like is a model whose row is used instead, or "".
type Override struct {
	Like    string
	members json.RawMessage
}

// UnmarshalJSON reads an object with `like` and members of Model.
func (o *Override) UnmarshalJSON(text []byte) error {
	var all struct {
		Like string `json:"like"`
		Model
	}
	err := json.Unmarshal(text, &all)
	*o = Override{all.Like, bytes.Clone(text)}
	return err
}

// Model returns the row for a model of the connection, or nil if nothing is known about it. Nothing
// is known about the models of servers that are only compatible with OpenAI's, except what the
// connection sets.
func (e Endpoint) Model(name string) *Model {
	pattern := longest(maps.Keys(e.Models), name, Name(name))
	o := e.Models[pattern]
	var m *Model
	if o.Like != "" || e.isVendors() {
		m = Lookup(e.Provider, cmp.Or(o.Like, name))
	}
	if pattern == "" {
		return m
	}
	changed := Model{Provider: e.Provider}
	if m != nil {
		changed = *m
	}
	if err := json.Unmarshal(o.members, &changed); err != nil {
		panic(err) // UnmarshalJSON has read it
	}
	changed.Pattern = pattern
	return &changed
}

// isVendors reports whether the models are those of the provider.
func (e Endpoint) isVendors() bool {
	u, err := url.Parse(e.BaseURL)
	return e.Provider != "openai" || e.BaseURL == "" || err == nil && IsOpenAI(u.Hostname())
}

// longest returns the longest of the patterns that match one of the names, or "".
func longest(patterns iter.Seq[string], names ...string) (best string) {
	for pattern := range patterns {
		if len(pattern) < len(best) || len(pattern) == len(best) && pattern > best {
			continue
		}
		if slices.ContainsFunc(names, func(name string) bool { ok, err := path.Match(pattern, name); return err == nil && ok }) {
			best = pattern
		}
	}
	return best
}

// Lookup returns the row for a model, or nil if nothing is known about it. provider is that of the
// connection. A row of a provider that resells models contains only what differs there; the rest is
// that of the vendor's row. A new name of a known family gets the row of the family's newest model,
// with the parameters that the vendor may refuse.
func Lookup(provider, model string) *Model {
	name := Name(model)
	vendor := provider
	for _, f := range families {
		if strings.HasPrefix(name, f.prefix) {
			vendor = f.provider
		}
	}
	own := find(vendor, name)
	if own == nil {
		own = newest(vendor, name)
	}
	if provider == vendor || provider == "azure" || provider == "vertex" {
		return own
	}
	there := find(provider, name)
	switch {
	case there == nil:
		return own
	case own == nil:
		return there
	}
	merged := *own
	merged.Provider, merged.Pattern, merged.Date, merged.Source = there.Provider, there.Pattern, there.Date, there.Source
	merged.Schema, merged.SchemaTools, merged.Cache = there.Schema, there.SchemaTools, there.Cache
	return &merged
}

// SourcesOf returns the sources of a row, each an address or a file of a package, in the order of
// their names.
func SourcesOf(names []string) []string {
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = cmp.Or(loaded().Sources[name], name)
	}
	return out
}

// find returns the row of a provider with the longest pattern that matches a name, or nil.
func find(provider, name string) (best *Model) {
	rows := loaded().Rows
	for i := range rows {
		r := &rows[i]
		if r.Provider != provider || best != nil && len(r.Pattern) <= len(best.Pattern) {
			continue
		}
		if ok, err := path.Match(r.Pattern, name); err == nil && ok {
			best = r
		}
	}
	return best
}

// newest returns the first row of a name's family, with the parameters that a new model may refuse,
// or nil.
func newest(vendor, name string) *Model {
	rows := loaded().Rows
	for _, f := range families {
		if f.provider != vendor || !strings.HasPrefix(name, f.prefix) {
			continue
		}
		for i := range rows {
			if rows[i].Provider == vendor {
				m := rows[i]
				m.Pattern, m.Thinking, m.Temperature, m.TopP, m.ChatTools = f.prefix+"*", "adaptive", Send, Send, Send
				m.Effort, m.MaxOutput, m.Context = nil, 0, 0
				return &m
			}
		}
	}
	return nil
}

// version matches what follows a model's name in a vendor's catalogue: a date, a version, or both.
var version = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(@.*|:[0-9].*|-v[0-9]+(:[0-9].*)?|-20[0-9]{2}-?[0-9]{2}-?[0-9]{2}.*)$`)
})

// Name returns a model's name without path, region, vendor and version: claude-opus-5-5 for
// us.anthropic.claude-opus-5-5-v1:0.
func Name(model string) string {
	model = strings.ToLower(model[strings.LastIndexByte(model, '/')+1:])
	for _, f := range append(families, struct{ prefix, provider string }{"nova-", ""}) {
		if at := strings.Index(model, "."+f.prefix); at >= 0 {
			model = model[at+1:]
		}
	}
	return version().ReplaceAllString(model, "")
}

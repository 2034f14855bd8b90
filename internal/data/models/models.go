// Package models contains the providers of models, and what is known about the models of vendors:
// what they accept, and in which form. Each fact has its source in models.json.
package models

import (
	_ "embed"
	"encoding/json"
	"path"
	"regexp"
	"strings"
	"sync"
)

// Model is a row of the table: what models whose names match the pattern accept.
type Model struct {
	Provider string `json:"provider"`
	// Pattern is a name as Name returns it, in which * matches any characters.
	Pattern string `json:"pattern"`
	Date    string `json:"date"` // when the row was collected
	// Temperature and TopP are Send, Refuse or EffortNone; "" means Send.
	Temperature string `json:"temperature"`
	TopP        string `json:"top_p"`
	// Thinking is "none", "budget" (with a budget), "adaptive" (on by default) or "always"; ""
	// means that it is unknown.
	Thinking string `json:"thinking"`
	// Schema contains the forms in which the model accepts a schema, the best first: Native, Tool
	// or Prompt. SchemaTools are those of a request with tools.
	Schema      []string `json:"schema"`
	SchemaTools []string `json:"schema_tools"`
	// ChatTools is whether chat completions accept tools: Send, Refuse or EffortNone, which here
	// includes requests without an effort; "" means Send.
	ChatTools string `json:"chat_tools"`
	// Cache is how the provider's cache is used: Marks, Points, Auto or "none"; "" means that it is
	// unknown. A prefix of a request with fewer tokens than CacheMin is not stored. CacheOptions is
	// whether the model accepts OpenAI's prompt_cache_options.
	Cache        string   `json:"cache"`
	CacheMin     int64    `json:"cache_min"`
	CacheOptions bool     `json:"cache_options"`
	Source       []string `json:"source"` // names in sources, or addresses
	Price        []Price  `json:"price"`  // prices of the model that the pattern names, each from its date on; nil if they are unknown
}

// Values of Temperature and TopP.
const (
	Send       = "send"
	Refuse     = "refuse"      // the model does not accept the parameter
	EffortNone = "effort_none" // only without reasoning
)

// Refuses returns how a model refuses a sampling parameter, temperature or top_p, in a request with
// a reasoning effort: the end of a sentence about the model and the step that helps, or "". A nil
// model, about which nothing is known, accepts all.
func (m *Model) Refuses(parameter, effort string) (how, step string) {
	if m == nil {
		return "", ""
	}
	switch accepts := map[string]string{"temperature": m.Temperature, "top_p": m.TopP}[parameter]; {
	case accepts == Refuse:
		return "does not accept " + parameter, "remove it, or write it into `extra` of the connection if the model accepts it by now"
	case accepts == EffortNone && effort != "none":
		return "accepts " + parameter + " only without reasoning", `remove it, or set reasoning_effort: "none"`
	}
	return "", ""
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

// families maps the beginnings of names to the providers of their rows.
var families = []struct{ prefix, provider string }{{"claude-", "anthropic"}, {"gpt-", "openai"}, {"gemini-", "gemini"}}

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

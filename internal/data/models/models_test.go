package models

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// TestRows checks that each row has a source and known values, and that no pattern occurs twice.
func TestRows(t *testing.T) {
	all := loaded()
	if len(all.Rows) < 40 {
		t.Fatalf("number of rows = %d", len(all.Rows))
	}
	seen := map[string]bool{}
	for _, r := range all.Rows {
		name := r.Provider + " " + r.Pattern
		if seen[name] {
			t.Errorf("%s has two rows", name)
		}
		seen[name] = true
		if len(r.Source) == 0 {
			t.Errorf("%s has no source", name)
		}
		for _, s := range r.Source {
			if all.Sources[s] == "" && !strings.HasPrefix(s, "https://") {
				t.Errorf("%s has the unknown source %s", name, s)
			}
		}
		if _, err := time.Parse(time.DateOnly, r.Date); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for value, known := range map[string][]string{r.Temperature: {"", Send, Refuse, EffortNone}, r.TopP: {"", Send, Refuse, EffortNone}, r.Thinking: {"", "none", "budget", "adaptive", "always"}, r.ChatTools: {"", Refuse, EffortNone}, r.Cache: {Marks, Points, Auto, "none"}} {
			if !slices.Contains(known, value) {
				t.Errorf("%s has the unknown value %q", name, value)
			}
		}
		if r.Cache == Marks && r.CacheMin == 0 {
			t.Errorf("%s has no cache_min", name)
		}
		for _, forms := range [][]string{r.Schema, r.SchemaTools} {
			if len(forms) == 0 || slices.ContainsFunc(forms, func(f string) bool { return f != Native && f != Tool && f != Prompt }) {
				t.Errorf("%s has the forms %v", name, forms)
			}
		}
		if got := Lookup(r.Provider, strings.NewReplacer("[0-9]", "3", "*", "x").Replace(strings.TrimSuffix(r.Pattern, "*"))); got == nil {
			t.Errorf("%s is not found", name)
		}
	}
	for name := range all.Sources {
		if !slices.ContainsFunc(all.Rows, func(r Model) bool {
			return slices.Contains(r.Source, name) || slices.ContainsFunc(r.Price, func(p Price) bool { return slices.Contains(p.Source, name) })
		}) {
			t.Errorf("no row uses the source %s", name)
		}
	}
}

func TestLookup(t *testing.T) {
	for _, c := range []struct {
		provider, model, pattern, temperature string
		schema, tools                         string
	}{
		{"anthropic", "claude-opus-5-5", "claude-opus-5-5*", Refuse, "native prompt", "native prompt"},
		{"anthropic", "claude-opus-5-5-20261120", "claude-opus-5-5*", Refuse, "native prompt", "native prompt"},
		{"anthropic", "claude-opus-5", "claude-opus-5*", Refuse, "native tool", "native tool"},
		{"anthropic", "claude-sonnet-4-5@20250929", "claude-sonnet-4-5*", Send, "native tool", "native tool"},
		{"anthropic", "claude-opus-7", "claude-*", Send, "native prompt", "native prompt"},
		{"anthropic", "deepseek-chat", "", "", "", ""},
		{"bedrock", "us.anthropic.claude-opus-5-5-v1:0", "claude-*-5-5*", Refuse, "prompt", "prompt"},
		{"bedrock", "anthropic.claude-haiku-4-5-20251001-v1:0", "claude-*", Send, "tool prompt", "tool prompt"},
		{"bedrock", "amazon.nova-pro-v1:0", "nova-*", "", "tool prompt", "tool prompt"},
		{"openai", "gpt-6.2-sol", "gpt-6.2-sol*", Refuse, "native", "native"},
		{"openai", "o3-mini", "o[0-9]*", Refuse, "native", "native"},
		{"openai", "our-model", "", "", "", ""},
		{"azure", "gpt-5.1-2025-11-13", "gpt-5.1*", EffortNone, "native", "native"},
		{"gemini", "models/gemini-2.5-flash", "gemini-2.5*", Send, "native", "tool"},
		{"vertex", "gemini-3.8-flash", "gemini-3.8-flash*", Send, "native", "native"},
		{"ollama", "llama3", "*", Send, "native", "prompt"},
	} {
		m := Lookup(c.provider, c.model)
		if m == nil {
			m = &Model{}
		}
		got := []string{m.Pattern, m.Temperature, strings.Join(m.Schema, " "), strings.Join(m.SchemaTools, " ")}
		if want := []string{c.pattern, c.temperature, c.schema, c.tools}; !slices.Equal(got, want) {
			t.Errorf("%s %s: got %q, want %q", c.provider, c.model, got, want)
		}
	}
}

// TestCache checks how the cache of a model is used. A reseller has other marks and the same limit.
func TestCache(t *testing.T) {
	for _, c := range []struct {
		provider, model, cache string
		least                  int64
		options                bool
	}{
		{"anthropic", "claude-opus-5-5", Marks, 512, false}, {"anthropic", "claude-sonnet-5", Marks, 1024, false}, {"anthropic", "claude-opus-4-6", Marks, 4096, false},
		{"anthropic", "claude-opus-7", Marks, 512, false},
		{"bedrock", "us.anthropic.claude-haiku-4-5-20251001-v1:0", Points, 4096, false}, {"bedrock", "amazon.nova-pro-v1:0", Auto, 0, false}, {"bedrock", "meta.llama3", "none", 0, false},
		{"openai", "gpt-6.2-sol", Auto, 1024, true}, {"openai", "gpt-5.6", Auto, 1024, true}, {"azure", "gpt-5.6-luna", Auto, 1024, true},
		{"openai", "gpt-5.4", Auto, 1024, false}, {"openai", "gpt-4o", Auto, 1024, false}, {"vertex", "gemini-3.8-flash", Auto, 0, false},
	} {
		if m := Lookup(c.provider, c.model); m.Cache != c.cache || m.CacheMin != c.least || m.CacheOptions != c.options {
			t.Errorf("%s %s: %s, %d, %v", c.provider, c.model, m.Cache, m.CacheMin, m.CacheOptions)
		}
	}
}

// TestUses checks which API a connection uses.
func TestUses(t *testing.T) {
	for _, c := range []struct {
		e    Endpoint
		want string
	}{
		{Endpoint{Provider: "openai"}, Responses},
		{Endpoint{Provider: "openai", API: Auto}, Responses},
		{Endpoint{Provider: "openai", API: Chat}, Chat},
		{Endpoint{Provider: "openai", BaseURL: "https://api.openai.com/v1"}, Responses},
		{Endpoint{Provider: "openai", BaseURL: "https://eu.api.openai.com"}, Responses},
		{Endpoint{Provider: "openai", BaseURL: "https://us.api.openai.com:443/v1"}, Responses},
		{Endpoint{Provider: "openai", BaseURL: "https://notapi.openai.com.example/v1"}, Chat},
		{Endpoint{Provider: "openai", BaseURL: "https://evilapi.openai.com/v1"}, Chat},
		{Endpoint{Provider: "openai", BaseURL: "http://127.0.0.1:8080"}, Chat},
		{Endpoint{Provider: "openai", BaseURL: "http://127.0.0.1:8080", API: Responses}, Responses},
		{Endpoint{Provider: "azure", BaseURL: "https://x.openai.azure.com"}, Responses},
		{Endpoint{Provider: "azure", BaseURL: "https://x.openai.azure.com", APIVersion: "preview"}, Responses},
		{Endpoint{Provider: "azure", BaseURL: "https://x.openai.azure.com", APIVersion: "2024-10-21"}, Chat},
		{Endpoint{Provider: "azure", BaseURL: "https://x.openai.azure.com", APIVersion: "2025-04-01-preview"}, Chat},
		{Endpoint{Provider: "anthropic", API: Responses}, ""},
	} {
		if got := c.e.Uses(); got != c.want {
			t.Errorf("%+v uses %q, want %q", c.e, got, c.want)
		}
	}
}

// TestChatAccepts checks for which models chat completions accept tools.
func TestChatAccepts(t *testing.T) {
	for _, c := range []struct {
		model, effort string
		tools, want   bool
	}{
		{"gpt-6.2-sol", "", false, true}, {"gpt-6.2-sol", "", true, false}, {"gpt-5.6", "none", true, false},
		{"gpt-5.4", "", true, true}, {"gpt-5.4", "none", true, true}, {"gpt-5.4", "low", true, false}, {"gpt-5.4", "low", false, true},
		{"gpt-4o", "", true, true}, {"gpt-9", "", true, true}, {"my-model", "high", true, true},
	} {
		if got := Lookup("openai", c.model).ChatAccepts(c.tools, c.effort); got != c.want {
			t.Errorf("%s with tools %v and effort %q: %v", c.model, c.tools, c.effort, got)
		}
	}
}

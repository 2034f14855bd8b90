package models

// Provider is a model provider: a value of `provider` in a connection. Package llm implements its
// protocol.
type Provider struct {
	Name string // name in the manifest
	// Base is the address of the provider's servers, including the version; "" if there is none.
	Base string
	// Version is appended to a base_url that does not end with a version.
	Version string
	// Addressed means that each connection must specify its own address, so Base is "".
	Addressed bool
	// NeedsKey means that the provider's servers require an API key.
	NeedsKey bool
	// TwoAPIs means that the servers have the Responses API and chat completions.
	TwoAPIs bool
	// Tier is the member of a request that contains the service tier, with dots between the names
	// of nested members; "" if there is none.
	Tier string
	// Free means that requests cost nothing: they are answered on this machine.
	Free bool
	// Writes means that requests control what is written to the provider's cache, and that replies
	// report it.
	Writes bool
}

// Scripted is the provider that returns replies from the manifest without a network.
const Scripted = "scripted"

// Providers contains the providers in the order in which messages list them. The names of service
// tiers are those of npm openai 7.59.0, @anthropic-ai/sdk 1.14.0, @google/genai 2.32.0 and
// @aws-sdk/client-bedrock-runtime 3.1164.0.
var Providers = []Provider{
	{Name: "openai", Base: "https://api.openai.com/v1", Version: "v1", NeedsKey: true, TwoAPIs: true, Tier: "service_tier", Writes: true},
	{Name: "anthropic", Base: "https://api.anthropic.com/v1", Version: "v1", NeedsKey: true, Tier: "service_tier", Writes: true},
	{Name: "gemini", Base: "https://generativelanguage.googleapis.com/v1beta", Version: "v1beta", NeedsKey: true, Tier: "serviceTier"},
	{Name: "ollama", Base: "http://localhost:11434/api", Version: "api", Free: true},
	{Name: "azure", Addressed: true, NeedsKey: true, TwoAPIs: true, Tier: "service_tier", Writes: true},
	{Name: "vertex", Addressed: true, Version: "v1", NeedsKey: true, Tier: "serviceTier"},
	{Name: "bedrock", Addressed: true, Tier: "serviceTier.type", Writes: true},
	{Name: Scripted, Free: true},
}

// ProviderNamed returns the provider with this name, or the zero Provider if there is none.
func ProviderNamed(name string) Provider {
	for _, p := range Providers {
		if p.Name == name {
			return p
		}
	}
	return Provider{}
}

// ProviderNames returns the names of the Providers with a property; nil selects all.
func ProviderNames(with func(Provider) bool) []string {
	n := 0
	for _, p := range Providers {
		if with == nil || with(p) {
			n++
		}
	}
	out := make([]string, 0, n) // the names are allocated at the start of each command
	for _, p := range Providers {
		if with == nil || with(p) {
			out = append(out, p.Name)
		}
	}
	return out
}

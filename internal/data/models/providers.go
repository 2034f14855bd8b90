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
}

// Scripted is the provider that returns replies from the manifest without a network.
const Scripted = "scripted"

// Providers contains the providers in the order in which messages list them.
var Providers = []Provider{
	{Name: "openai", Base: "https://api.openai.com/v1", Version: "v1", NeedsKey: true},
	{Name: "anthropic", Base: "https://api.anthropic.com/v1", Version: "v1", NeedsKey: true},
	{Name: "gemini", Base: "https://generativelanguage.googleapis.com/v1beta", Version: "v1beta", NeedsKey: true},
	{Name: "ollama", Base: "http://localhost:11434/api", Version: "api"},
	{Name: "azure", Addressed: true, NeedsKey: true},
	{Name: "vertex", Addressed: true, Version: "v1", NeedsKey: true},
	{Name: "bedrock", Addressed: true},
	{Name: Scripted},
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

// ProviderNames returns the names of Providers.
func ProviderNames() []string {
	var out []string
	for _, p := range Providers {
		out = append(out, p.Name)
	}
	return out
}

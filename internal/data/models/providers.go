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
	// Free means that requests cost nothing: they are answered on this machine.
	Free bool
	// Writes means that the API reports tokens that were written to its cache.
	Writes bool
}

// Scripted is the provider that returns replies from the manifest without a network.
const Scripted = "scripted"

// Providers contains the providers in the order in which messages list them.
var Providers = []Provider{
	{Name: "openai", Base: "https://api.openai.com/v1", Version: "v1", NeedsKey: true, Writes: true},
	{Name: "anthropic", Base: "https://api.anthropic.com/v1", Version: "v1", NeedsKey: true, Writes: true},
	{Name: "gemini", Base: "https://generativelanguage.googleapis.com/v1beta", Version: "v1beta", NeedsKey: true},
	{Name: "ollama", Base: "http://localhost:11434/api", Version: "api", Free: true},
	{Name: "azure", Addressed: true, NeedsKey: true, Writes: true},
	{Name: "vertex", Addressed: true, Version: "v1", NeedsKey: true},
	{Name: "bedrock", Addressed: true, Writes: true},
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

// ProviderNames returns the names of Providers.
func ProviderNames() []string {
	var out []string
	for _, p := range Providers {
		out = append(out, p.Name)
	}
	return out
}

// Package provider holds the providers of models as data: the values of a
// connection's `provider`, and the address of each. The manifest and the models'
// client read it. Only the client knows how to speak to a provider.
package provider

// Info is a provider.
type Info struct {
	Name string // the manifest's word
	// Base is the address of the provider's own servers, with the version; ""
	// when it has none.
	Base string
	// Version is appended to a base_url that does not end in a version.
	Version string
	// Addressed reports that each user has an address of their own, in the connection; Base is ""
	// then.
	Addressed bool
	// NeedsKey reports that its own servers require a key.
	NeedsKey bool
}

// Scripted replays replies from the manifest without a network.
const Scripted = "scripted"

// All are the providers, in the order in which messages list them.
var All = []Info{
	{Name: "openai", Base: "https://api.openai.com/v1", Version: "v1", NeedsKey: true},
	{Name: "anthropic", Base: "https://api.anthropic.com/v1", Version: "v1", NeedsKey: true},
	{Name: "gemini", Base: "https://generativelanguage.googleapis.com/v1beta", Version: "v1beta", NeedsKey: true},
	{Name: "ollama", Base: "http://localhost:11434/api", Version: "api"},
	{Name: "azure", Addressed: true, NeedsKey: true},
	{Name: "vertex", Addressed: true, Version: "v1", NeedsKey: true},
	{Name: "bedrock", Addressed: true},
	{Name: Scripted},
}

// Named returns a provider by its name, the zero Info when there is none.
func Named(name string) Info {
	for _, p := range All {
		if p.Name == name {
			return p
		}
	}
	return Info{}
}

// Names returns the names of All.
func Names() []string {
	var out []string
	for _, p := range All {
		out = append(out, p.Name)
	}
	return out
}

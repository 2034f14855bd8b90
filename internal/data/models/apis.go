package models

import (
	"net/url"
	"strings"
)

// APIs of OpenAI's models: values of `api` in a connection. Auto is also a value of `cache`.
const (
	Auto      = "auto"
	Responses = "responses"
	Chat      = "chat" // chat completions
)

// Endpoint contains the keys of a connection that determine its API and what its models accept.
type Endpoint struct {
	Provider, API, BaseURL, APIVersion string
	Models                             Overrides
}

// Uses returns the API of the connection's requests: Responses, Chat, or "" for providers that have
// only one. With Auto, a request that Responses does not support uses Chat nevertheless.
func (e Endpoint) Uses() string {
	switch {
	case !e.IsChoice():
		return ""
	case e.API == Responses, e.API == Chat:
		return e.API
	case e.Provider == "azure":
		if IsDated(e.APIVersion) {
			return Chat
		}
		return Responses
	case e.BaseURL == "":
		return Responses
	}
	if u, err := url.Parse(e.BaseURL); err == nil && IsOpenAI(u.Hostname()) {
		return Responses
	}
	return Chat // compatible servers
}

// IsChoice reports whether the provider's servers have both APIs.
func (e Endpoint) IsChoice() bool { return ProviderNamed(e.Provider).TwoAPIs }

// IsDated reports whether a version of Azure's API is a date. Versions without a date have both
// APIs at the same paths as OpenAI.
func IsDated(version string) bool {
	return len(version) > 4 && version[:2] == "20" && version[4] == '-'
}

// IsOpenAI reports whether a host is a server of OpenAI, in any region
// (developers.openai.com/api/docs/guides/data-residency).
func IsOpenAI(host string) bool {
	return host == "api.openai.com" || strings.HasSuffix(host, ".api.openai.com")
}

// ChatAccepts reports whether chat completions accept a request with or without tools. effort is
// its reasoning effort, or "". A nil model, about which nothing is known, accepts all.
func (m *Model) ChatAccepts(tools bool, effort string) bool {
	switch {
	case m == nil || !tools:
		return true
	case m.ChatTools == EffortNone:
		return effort == "" || effort == "none"
	}
	return m.ChatTools != Refuse
}

// chatMembers contains the members of a request that only chat completions have, with their names
// in the Responses API, or "" (npm openai 7.59.0, resources/chat/completions/completions.d.ts and
// resources/responses/responses.d.ts).
var chatMembers = [...]struct{ name, instead string }{
	{"messages", "input"}, {"max_tokens", "max_output_tokens"}, {"max_completion_tokens", "max_output_tokens"}, {"reasoning_effort", "reasoning.effort"},
	{"response_format", "text.format"}, {"verbosity", "text.verbosity"}, {"functions", "tools"}, {"function_call", "tool_choice"},
	{name: "audio"}, {name: "frequency_penalty"}, {name: "logit_bias"}, {name: "logprobs"}, {name: "modalities"}, {name: "n"}, {name: "prediction"},
	{name: "presence_penalty"}, {name: "seed"}, {name: "stop"}, {name: "web_search_options"},
}

// OnlyChat returns the problem with a member of a request that only chat completions have, and what
// to write instead; "" for other members.
func OnlyChat(member string) (problem, instead string) {
	for _, m := range chatMembers {
		if m.name != member {
			continue
		}
		if instead = "remove it"; m.instead != "" {
			instead = "write `" + m.instead + "`"
		}
		return "`" + member + "` is a member of chat completions, which the Responses API lacks", instead + ", or write `api = \"chat\"`"
	}
	return "", ""
}

package manifest

import (
	"encoding/json"

	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
)

// Config returns the connection as a JSON object, in the form that the IR contains and the model
// client reads. It contains the keys that the manifest sets. replies are the replies in the
// connection's script, or nil without a script. origin is the position of the connection for
// messages, such as "Concerto.toml:8". Secrets are represented by the names of their environment
// variables.
func (c *Connection) Config(replies json.RawMessage, origin string) json.RawMessage {
	if replies == nil {
		replies = c.Replies
	}
	var models map[string]string
	for _, a := range c.Models {
		if models == nil {
			models = map[string]string{}
		}
		models[a.Name] = a.Model
	}
	return jsonwrite.MustEncode(struct {
		Provider     string            `json:"provider"`
		APIKeyEnv    string            `json:"api_key_env,omitempty"`
		TokenCommand []string          `json:"token_command,omitempty"`
		BaseURL      string            `json:"base_url,omitempty"`
		DefaultModel string            `json:"default_model,omitempty"`
		Timeout      float64           `json:"timeout,omitempty"`
		Connect      float64           `json:"connect_timeout,omitempty"`
		FirstToken   float64           `json:"first_token_timeout,omitempty"`
		Organization string            `json:"organization,omitempty"`
		Project      string            `json:"project,omitempty"`
		Retry        *Retry            `json:"retry,omitempty"`
		RateLimit    *RateLimit        `json:"rate_limit,omitempty"`
		Fallback     []string          `json:"fallback,omitempty"`
		Prices       map[string]Price  `json:"prices,omitempty"`
		Models       map[string]string `json:"models,omitempty"`
		Replies      json.RawMessage   `json:"replies,omitempty"`
		Request
		Origin string `json:"origin,omitempty"`
	}{c.Provider, c.APIKeyEnv, c.TokenCommand, c.BaseURL, c.DefaultModel, c.Timeout, c.ConnectTimeout, c.FirstTokenTimeout,
		c.Organization, c.Project, c.Retry, c.RateLimit, c.Fallback, c.Prices, models, replies, c.Request, origin})
}

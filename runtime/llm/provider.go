package llm

import (
	"context"
	"net/http"
	"time"

	"github.com/concerto-lang/concerto/effect"
)

// Provider is one wire form: it puts a request to a model, once.
type Provider interface {
	// Ask sends req and gives the reply, whose Provider and LatencyMS are set
	// by the caller. An error is a *Failure, or what ctx ended with. Safe for
	// concurrent use.
	Ask(ctx context.Context, req *Request) (*effect.AgentReply, error)
}

// Request is a call with its model resolved.
type Request struct {
	*effect.AgentCall
	Model string

	chosen *chosen // of a script, for the first attempt; nil when it is yet to be chosen
}

// Prompt is the last user message: what scripted replies look at.
func (r *Request) Prompt() string {
	for i := len(r.Messages) - 1; i >= 0; i-- {
		if r.Messages[i].Role == "user" {
			return r.Messages[i].Content
		}
	}
	return ""
}

// world is what providers need from outside.
type world struct {
	getenv func(string) (string, bool)
	http   *http.Client
	sleep  func(context.Context, time.Duration) error
}

// providers is the table of providers, by the manifest's word. A row opens a
// connection; its error says what is wrong with the connection.
var providers = map[string]func(*Connection, *world) (Provider, error){
	"openai":    openOpenAI,
	"anthropic": openAnthropic,
	"scripted":  openScripted,
}

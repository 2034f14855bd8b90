package llm

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/models"
	"github.com/concerto-lang/concerto/internal/data/secret"
	http "github.com/concerto-lang/concerto/runtime/llm/httpport"
	"github.com/concerto-lang/concerto/runtime/world/clock"
)

// Provider sends a request to a model, once, with one API. It is safe for concurrent use.
type Provider interface {
	// Capabilities returns the features that the provider supports.
	Capabilities() Capabilities
	// Ask sends req and returns the reply. The caller sets Provider and LatencyMS of the reply. The
	// error is a *Failure or ctx's error.
	Ask(ctx context.Context, req *Request) (*effect.AgentReply, error)
	// Stream is like Ask, but also passes the text of the reply to piece as it arrives, on the
	// calling goroutine. If Stream fails, piece may have received a part of the reply.
	Stream(ctx context.Context, req *Request, piece func(text string)) (*effect.AgentReply, error)
}

// Capabilities describes the features that a provider supports.
type Capabilities struct {
	Schema      SchemaBy // way in which a schema is enforced
	SchemaTools SchemaBy // way in which a schema is enforced if the request also contains tools
	MaxStop     int      // maximum number of stop sequences in a request; 0 means no limit
	// MaxTemperature is the highest temperature; 0 means that the provider has no limit.
	MaxTemperature float64
	NoSeed         bool  // a seed is not supported
	NoStop         bool  // stop sequences are not supported
	MinTokens      int64 // lowest max_tokens
	NoEffort       bool  // a reasoning effort is not supported
	OneSystem      bool  // there is one system text, before the conversation
	// NoFiles lists the media types of files that are not supported.
	NoFiles []string
	// IsLong reports whether the reply to a request may be so long that it must be streamed; nil
	// for never.
	IsLong func(*Request) bool
}

// SchemaBy is the way in which a provider makes a model answer in the form of a schema.
type SchemaBy uint8

// The ways to enforce a schema.
const (
	SchemaNative   SchemaBy = iota // a field of the request
	SchemaTool                     // a tool that the model must call
	SchemaPrompted                 // only text in the prompt
)

// refuses returns the error for a request that needs an unsupported feature, or nil.
func (c Capabilities) refuses(req *Request) error {
	switch {
	case c.MaxStop > 0 && len(req.Stop) > c.MaxStop:
		return &Failure{Class: ClassBadRequest, Message: fmt.Sprintf("%d stop_sequences, but the provider accepts at most %d: remove some", len(req.Stop), c.MaxStop)}
	case c.NoStop && len(req.Stop) > 0:
		return &Failure{Class: ClassBadRequest, Message: "the provider does not support stop_sequences: remove them"}
	case c.NoSeed && req.Seed != nil:
		return &Failure{Class: ClassBadRequest, Message: "the provider does not support seed: remove it"}
	case req.MaxTokens != nil && *req.MaxTokens < c.MinTokens:
		return &Failure{Class: ClassBadRequest, Message: fmt.Sprintf("max_tokens is %d, but the provider accepts at least %d: raise it", *req.MaxTokens, c.MinTokens)}
	case c.NoEffort && req.Effort != "":
		return &Failure{Class: ClassBadRequest, Message: "the provider does not support reasoning_effort: remove it, and set the model's own option in the connection's `extra`"}
	case c.MaxTemperature > 0 && req.Temperature != nil && *req.Temperature > c.MaxTemperature:
		return &Failure{Class: ClassBadRequest, Message: fmt.Sprintf("temperature is %v, but the provider accepts 0 to %v: choose a lower one", *req.Temperature, c.MaxTemperature)}
	}
	for _, m := range req.Messages {
		for _, f := range m.Files {
			if slices.Contains(c.NoFiles, f.Type) {
				return &Failure{Class: ClassBadRequest, Message: fmt.Sprintf("the provider does not support %s (%s): remove it, or use another connection", f.Name, f.Type)}
			}
		}
	}
	return nil
}

// refusedBy returns the error for a request with a parameter that its model does not accept, or
// nil.
func refusedBy(connection string, req *Request) error {
	for _, x := range []struct {
		name  string
		isSet bool
	}{{"temperature", req.Temperature != nil}, {"top_p", req.TopP != nil}, {"reasoning_effort", req.Effort != ""}} {
		if how, step := req.row.Refuses(x.name, models.Use{Connection: connection, Model: req.Model, Effort: req.Effort}); x.isSet && how != "" {
			return &Failure{Class: ClassBadRequest, Message: req.Model + " " + how + ": " + step}
		}
	}
	return nil
}

// Request is a call whose model is resolved.
type Request struct {
	*effect.AgentCall
	Model string
	row   *models.Model // what is known about the model at the connection, or nil

	chosen  *chosen // reply of a script, chosen before the first attempt; nil if not chosen
	plain   bool    // the request contains and requests no hidden content
	caching         // what the request asks of the provider's cache, once it is laid out
	// renamed means that max_tokens has its new name, max_completion_tokens.
	renamed bool
	// failed contains the failed attempts at all connections.
	failed *[]effect.Attempt
}

// Prompt returns the last user message with the names and types of its files. Scripted replies are
// matched against it.
func (r *Request) Prompt() string {
	for i := len(r.Messages) - 1; i >= 0; i-- {
		if r.Messages[i].Role == "user" {
			return listFiles(&r.Messages[i])
		}
	}
	return ""
}

// world contains the functions of the client that providers need.
type world struct {
	getenv func(string) (string, bool)
	// unkeyed is called with the error text for a missing key.
	unkeyed func(message string)
	// log writes a line to the log of the run; nil drops it.
	log func(level, line string)
	// output runs a command and returns its output.
	output func(ctx context.Context, command []string) (string, error)
	http   *http.Transport
	sleep  func(context.Context, time.Duration) error
	clock  *clock.PausableClock

	secrets *secret.Set
	refused *refusals
}

package llm

import (
	"fmt"
	"maps"
	"slices"

	"github.com/concerto-lang/concerto/internal/data/models"
)

// apis chooses between the two APIs of OpenAI's models for each request.
type apis struct {
	chat, responses wire
	uses            string // API of the requests that both support
	isFixed         bool   // the manifest sets the API
}

// newOpenAI returns the provider for a connection to OpenAI's models.
func newOpenAI(c *Connection, e *endpoint, chat, responses wire) (Provider, error) {
	a := &apis{chat: chat, responses: responses, isFixed: c.API == models.Responses || c.API == models.Chat}
	a.uses = c.endpoint().Uses()
	p := &remote{endpoint: e, wire: chat, apis: a}
	if c.Provider == "azure" || models.IsOpenAI(e.root.Hostname()) {
		p.adapt = strictSchema // compatible servers may not know null
	}
	if a.uses == models.Chat {
		return p, nil
	}
	p.wire = responses
	for _, name := range slices.Sorted(maps.Keys(e.extra)) {
		if problem, instead := models.OnlyChat(name); problem != "" {
			return nil, fmt.Errorf("extra: %s: %s", problem, instead)
		}
	}
	return p, nil
}

// isOnlyChat reports whether a request has parameters that only chat completions accept.
func isOnlyChat(req *Request) bool {
	return req.Seed != nil || len(req.Stop) > 0 || req.MaxTokens != nil && *req.MaxTokens < leastOutput
}

// prepare returns the wire for a request.
func (p *remote) prepare(req *Request) wire {
	a := p.apis
	if a == nil {
		return p.wire
	}
	refused := p.world.refused.has(models.RefusedAPI, formKey(req))
	chat := a.uses == models.Chat
	if isOnlyChat(req) && !a.isFixed {
		chat = req.row.ChatAccepts(len(req.Tools) > 0, req.Effort)
	}
	if chat && !refused {
		return a.chat
	}
	return a.responses
}

package llm

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/concerto-lang/concerto/internal/data/models"
)

// apis chooses between the two APIs of OpenAI's models for each request.
type apis struct {
	chat, responses wire
	uses            string // API of the requests that both support
	isFixed         bool   // the manifest sets the API

	refusedChat   sync.Map // formKeys of the requests that chat completions refuse
	refusedHidden sync.Map // models that refuse hidden content
}

// newOpenAI returns the provider for a connection to OpenAI's models.
func newOpenAI(c *Connection, e *endpoint, chat, responses wire) (Provider, error) {
	a := &apis{chat: chat, responses: responses, isFixed: c.API == models.Responses || c.API == models.Chat}
	a.uses = models.Endpoint{Provider: c.Provider, API: c.API, BaseURL: c.BaseURL, APIVersion: c.APIVersion}.Uses()
	p := &remote{endpoint: e, wire: chat, apis: a}
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
	_, refused := a.refusedChat.Load(formKey(req))
	chat := a.uses == models.Chat
	if isOnlyChat(req) && !a.isFixed {
		chat = p.row(req).ChatAccepts(len(req.Tools) > 0, req.Effort)
	}
	if chat && !refused {
		return a.chat
	}
	_, req.plain = a.refusedHidden.Load(req.Model)
	return a.responses
}

// Parts of the texts of errors, in lower case: about a request that only the Responses API accepts,
// and about hidden content that the model cannot give, or that another account or model has made.
var (
	aboutAPI    = []string{"v1/responses"}
	aboutHidden = []string{"encrypted content", "encrypted_content", "required following item"}
)

// isAbout reports whether the text of a failure contains one of the parts.
func (f *Failure) isAbout(parts []string) bool {
	text := strings.ToLower(f.Message)
	return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(text, p) })
}

// repairAPI lets further requests use the Responses API, or no hidden content, if a failure shows
// that the provider refuses what was sent. The failure is then repaired, and the request is sent
// again.
func (p *remote) repairAPI(req *Request, used wire, err error) {
	f, ok := err.(*Failure)
	if !ok || p.apis == nil || f.HTTPStatus != 400 && f.HTTPStatus != 404 {
		return
	}
	switch isResponses := used.Capabilities().NoStop; {
	case isResponses && !req.plain && f.isAbout(aboutHidden):
		p.learn(&p.apis.refusedHidden, req.Model, req.Model+" refuses hidden content; requests are sent without it", f)
	case isResponses || p.apis.isFixed || !f.isAbout(aboutAPI):
	case isOnlyChat(req):
		f.Message += fmt.Sprintf("; the Responses API has neither seed nor stop_sequences, and max_tokens must be at least %d there", leastOutput)
	default:
		p.learn(&p.apis.refusedChat, formKey(req), "chat completions refuse requests to "+req.Model+"; the Responses API is used", f)
	}
}

// learn remembers what a failure shows, and repairs the failure.
func (p *remote) learn(refused *sync.Map, key, line string, f *Failure) {
	f.repaired = true
	if _, known := refused.LoadOrStore(key, true); !known && p.world.log != nil {
		p.world.log("info", fmt.Sprintf("connection '%s': %s from now on (%s)", p.name, line, f.Message))
	}
}

package llm

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/models"
)

// refusals are what a connection's provider has refused since the process began.
type refusals struct {
	forms  sync.Map // number of forms of a schema, by formKey
	causes sync.Map // causes of refusals, each with a formKey or a model
}

func (r *refusals) has(cause, key string) bool {
	_, known := r.causes.Load(cause + " " + key)
	return known
}

// omitRefused sets what a request must not contain because its model has refused it before.
func (p *remote) omitRefused(req *Request) {
	req.renamed = p.world.refused.has(models.RefusedLimit, req.Model)
	req.plain = p.world.refused.has(models.RefusedHidden, req.Model)
}

// repair lets the request be sent again in another form, or without a part that the provider
// refuses, if the failure shows that and the request then has the same meaning. The process
// remembers it. asked is what this request has asked of the provider's cache, which concurrent
// requests may have been refused before. Otherwise repair adds to the failure which value of the
// agent, or which member of the connection's `extra`, is refused.
func (p *remote) repair(req *Request, by wire, w *replySchema, asked caching, f *Failure) {
	all := models.RefusalsIn(f.HTTPStatus, f.Message)
	for i := range all {
		if f.repaired = p.repairCause(all[i].Cause, req, by, w, asked, f); f.repaired {
			return
		}
	}
	if f.Class == ClassBadRequest {
		f.Message = strings.Replace(f.Message, classes[ClassBadRequest].hint, p.explain(req, all, f.Message), 1)
	}
}

// repairCause reports whether the request can be sent again without what the provider refuses.
func (p *remote) repairCause(cause string, req *Request, by wire, w *replySchema, asked caching, f *Failure) bool {
	chat := p.apis == nil || by == p.apis.chat
	switch cause {
	case models.RefusedAPI:
		if p.apis == nil || !chat || p.apis.isFixed || isOnlyChat(req) {
			return false
		}
		p.learn(cause, formKey(req), "chat completions refuse requests to "+req.Model+"; the Responses API is used", f)
	case models.RefusedHidden:
		if req.plain {
			return false
		}
		p.learn(cause, req.Model, req.Model+" refuses hidden content; requests are sent without it", f)
	case models.RefusedNative, models.RefusedTool:
		form := map[string]SchemaBy{models.RefusedNative: SchemaNative, models.RefusedTool: SchemaTool}[cause]
		if w == nil || w.rest == 0 || w.by != form {
			return false
		}
		p.world.refused.forms.Store(formKey(req), len(p.forms(req))-w.rest)
	case models.RefusedCaching:
		switch {
		case asked.marks:
			p.learn(cause, req.Model, req.Model+" does not accept cache marks; requests are sent without them", f)
		case asked.off:
			p.learn(cause, req.Model, req.Model+" does not accept prompt_cache_options; requests are sent without them, and may be cached", f)
		}
		return asked.marks || asked.off
	case models.RefusedLimit:
		if _, isChat := by.(openAI); !isChat || req.renamed || req.MaxTokens == nil {
			return false
		}
		p.learn(cause, req.Model, req.Model+" has another name for max_tokens, max_completion_tokens; it is used", f)
	default:
		return false
	}
	return true
}

// learn remembers what a failure shows.
func (p *remote) learn(cause, key, line string, f *Failure) {
	if _, known := p.world.refused.causes.LoadOrStore(cause+" "+key, true); !known && p.world.log != nil {
		p.world.log("info", fmt.Sprintf("connection '%s': %s from now on (%s)", p.name, line, f.Message))
	}
}

// explain returns the next step after an error that has one of the causes.
func (p *remote) explain(req *Request, all []models.Refusal, text string) string {
	set := parameters(req)
	for _, r := range all {
		switch {
		case r.Cause == models.RefusedAPI && isOnlyChat(req):
			return fmt.Sprintf("the Responses API has neither seed nor stop_sequences, and max_tokens must be at least %d there: remove them from agent '%s'", leastOutput, req.Agent)
		case r.Cause == models.RefusedModel:
			return "write the name of an inference profile as the model, such as global." + req.Model
		case r.Cause == models.RefusedParameter && slices.Contains(set, r.Parameter):
			return fmt.Sprintf("the model does not accept this %s: change or remove it in agent '%s'", r.Parameter, req.Agent)
		}
	}
	text = strings.ToLower(text)
	extra := slices.Sorted(maps.Keys(p.extra))
	for _, name := range extra {
		if strings.Contains(text, strings.ToLower(name)) {
			return fmt.Sprintf("change or remove %s in extra of [connections.%s]", name, p.name)
		}
	}
	if len(extra) > 0 {
		set = append(set, "extra")
	}
	if len(set) == 0 {
		return classes[ClassBadRequest].hint
	}
	return "check what the request sets against what the model supports: " + strings.Join(set, ", ")
}

// parameters returns the names of the agent's fields that a request contains and that a model may
// refuse.
func parameters(req *Request) (set []string) {
	hasFiles := slices.ContainsFunc(req.Messages, func(m effect.ChatMessage) bool { return len(m.Files) > 0 })
	for _, x := range []struct {
		name string
		set  bool
	}{
		{"temperature", req.Temperature != nil}, {"top_p", req.TopP != nil}, {"reasoning_effort", req.Effort != ""},
		{"seed", req.Seed != nil}, {"stop_sequences", len(req.Stop) > 0}, {"max_tokens", req.MaxTokens != nil}, {"files", hasFiles},
	} {
		if x.set {
			set = append(set, x.name)
		}
	}
	return set
}

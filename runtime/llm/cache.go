package llm

import (
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/models"
)

// Providers store the beginnings of requests. A request that begins like an earlier one costs less,
// and an API may require that the request marks the ends of the stored parts.

// caching is what a request asks of the provider's cache; the zero value is nothing.
type caching struct {
	marks bool  // ends are marked
	hour  bool  // what is stored has a lifetime of one hour
	least int64 // number of tokens below which nothing is stored
	off   bool  // an API that needs no marks must store nothing
}

// cachingOf returns what a request asks of the provider's cache.
func (p *remote) cachingOf(req *Request) caching {
	row := req.row
	if row == nil || p.ownCaching {
		return caching{}
	}
	if p.world.refused.has(models.RefusedCaching, req.Model) {
		return caching{}
	}
	isOff := p.cache == models.CacheOff
	return caching{
		marks: !isOff && (row.Cache == models.Marks || row.Cache == models.Points),
		hour:  p.cache == models.CacheHour, least: row.CacheMin,
		off: isOff && row.CacheOptions,
	}
}

// cachingMembers are the members of requests that control caches. If `extra` contains one, it alone
// decides.
var cachingMembers = []string{"cache_control", "cachePoint", "prompt_cache_options"}

// setsCaching reports whether a value of `extra` contains a member that controls a cache.
func setsCaching(extra any) bool {
	switch x := extra.(type) {
	case map[string]any:
		for k, v := range x {
			if slices.Contains(cachingMembers, k) || setsCaching(v) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(x, setsCaching)
	}
	return false
}

// layOut returns a request as it is sent: with the hidden content of the connection's own replies,
// and what changes from call to call follows what does not. Records contain the request as the
// program has made it.
func (p *remote) layOut(req *Request, by wire) *Request {
	call := *req.AgentCall
	call.Tools = sortListed(call.Tools)
	role := "system"
	if by.Capabilities().OneSystem {
		role = "user"
	}
	call.Messages = effect.KnowledgeLast(req.itemsFor(p.name), role)
	if req.row != nil && req.row.Temperature == models.Drop {
		call.Temperature = nil
	}
	if req.row != nil && req.row.TopP == models.Drop {
		call.TopP = nil
	}
	out := *req
	out.AgentCall, out.caching = &call, p.cachingOf(req)
	return &out
}

// sortListed returns tools in an order that does not depend on the answer of a server. Declared
// functions have the order of the program. The members of all schemas have an order already.
func sortListed(tools []effect.ToolSpec) []effect.ToolSpec {
	if !slices.ContainsFunc(tools, func(t effect.ToolSpec) bool { return t.Listed }) {
		return tools
	}
	tools = slices.Clone(tools)
	for from := 0; from < len(tools); from++ {
		to := from
		for to < len(tools) && tools[to].Listed {
			to++
		}
		slices.SortFunc(tools[from:to], func(a, b effect.ToolSpec) int { return strings.Compare(a.Name, b.Name) })
		from = to
	}
	return tools
}

// marks are the places in a request of Anthropic or Bedrock whose ends are marked: at most four,
// which is the vendors' limit.
type marks struct {
	tools, system bool
	messages      []int // indices
}

// marksOf returns the marks of a request with a system text and messages. w is the schema of the
// reply, or nil. The ends of messages are marked only if another request is likely to repeat them.
// The end of the previous request is marked in addition to that of this one because the vendor
// searches the cache only for the last 20 blocks before a mark
// (dev.to/ji_ai/claude-prompt-caching-why-agent-loops-miss-the-20-block-lookback-d36).
func (req *Request) marksOf(w *replySchema, system string, messages []anthropicMessage) (out marks) {
	c := req.caching
	if !c.marks {
		return out
	}
	n := int64(0)
	for _, t := range req.Tools {
		n += tokens(t.Name) + tokens(t.Description) + tokens(string(t.Parameters))
	}
	if w.asTool() {
		n += tokens(string(w.schema))
	}
	out.tools = n >= c.least && (len(req.Tools) > 0 || w.asTool())
	n += tokens(system)
	out.system = n >= c.least && system != ""
	before := -1 // the end of the previous request
	for i, m := range messages {
		if m.Role == "assistant" {
			before = i - 1
		}
	}
	if len(req.Tools) == 0 && !slices.ContainsFunc(messages, func(m anthropicMessage) bool { return m.Role == "assistant" }) {
		return out
	}
	for i, m := range messages {
		for _, b := range m.Content {
			n += b.tokens()
		}
		if n >= c.least && (i == before || i == len(messages)-1) {
			out.messages = append(out.messages, i)
		}
	}
	return out
}

// tokens estimates the number of tokens of a block.
func (b *anthropicBlock) tokens() int64 {
	n := tokens(b.Text) + tokens(string(b.Input))
	if b.Content != nil {
		n += tokens(*b.Content)
	}
	if s := b.Source; s != nil {
		n += fileTokens(&effect.AttachedFile{Type: s.MediaType, Size: int64(len(s.Data)) / 4 * 3})
	}
	return n
}

package llm

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

// The hidden content of replies. A reasoning model must receive the reasoning that has led to its
// tool calls together with their results, as it has sent it.

// The APIs of effect.Items.
const (
	itemsAnthropic = "anthropic"
	itemsChat      = "chat"
	itemsResponses = "responses" // without the marks, because all items of a reply have IDs
)

// Marks in effect.Items for what a reply itself contains.
var (
	itemText = json.RawMessage(`"text"`)
	itemCall = json.RawMessage(`"call"`)
)

// ownItems returns the hidden content of a reply with its connection and model, or nil if it
// contains a secret: no provider accepts a changed block.
func (c *Client) ownItems(items *effect.Items, l *route, req *Request) *effect.Items {
	if items == nil || slices.ContainsFunc(items.Content, func(b json.RawMessage) bool { return !bytes.Equal(c.cfg.Secrets.JSON(b), b) }) {
		return nil
	}
	items.Connection, items.Model = l.Name, req.Model
	return items
}

// itemsFor returns the messages of a request to a connection without the hidden content that
// belongs to another connection or model, or without any if the request is plain.
func (req *Request) itemsFor(connection string) []effect.ChatMessage {
	isForeign := func(m effect.ChatMessage) bool {
		return m.Items != nil && (req.plain || m.Items.Connection != connection || m.Items.Model != req.Model)
	}
	all := req.Messages
	if !slices.ContainsFunc(all, isForeign) {
		return all
	}
	all = slices.Clone(all)
	for i := range all {
		if isForeign(all[i]) {
			all[i].Items = nil
		}
	}
	return all
}

// itemsOf returns the hidden content of a message for an API, or nil.
func itemsOf(m *effect.ChatMessage, api string) []json.RawMessage {
	if m.Items == nil || m.Items.API != api {
		return nil
	}
	return m.Items.Content
}

// isMark reports whether a block of hidden content represents what the reply itself contains.
func isMark(block, mark json.RawMessage) bool { return string(block) == string(mark) }

package llm

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
)

// stopPause is the reason of a reply of Anthropic whose tools, which only `extra` can request, need
// more time. The reply is no result: its content is returned, and the model continues.
const stopPause = "pause"

// maxPauses is the maximum number of such replies in one call.
const maxPauses = 10

// throughPauses calls send until a reply is no pause, and returns all replies as one.
func (p *remote) throughPauses(req *Request, send func(*Request) (*effect.AgentReply, error)) (*effect.AgentReply, error) {
	whole, err := send(req)
	for n := 1; err == nil && whole.StopReason == stopPause; n++ {
		if whole.Items == nil || n > maxPauses {
			return nil, &Failure{Class: ClassBadAnswer, Sent: true, Message: fmt.Sprintf("the provider broke off the reply %d times: pause_turn (try again, or change the prompt)", n)}
		}
		whole.Items.Connection, whole.Items.Model = p.name, req.Model
		call, next := *req.AgentCall, *req
		call.Messages = append(slices.Clip(call.Messages), effect.ChatMessage{Role: "assistant", Items: whole.Items})
		next.AgentCall = &call
		var more *effect.AgentReply
		if more, err = send(&next); err == nil {
			whole = join(whole, more)
		}
	}
	return whole, err
}

// join returns a paused reply and the one that continues it as one reply.
func join(paused, more *effect.AgentReply) *effect.AgentReply {
	out := *more
	items := *paused.Items
	switch {
	case more.StopReason == stopPause && more.Items == nil:
		out.Items = nil
		return &out
	case more.Items != nil:
		for _, x := range more.Items.Content {
			if isMark(x, itemText) {
				x = rawText(more.Text)
			}
			items.Content = append(items.Content, x)
		}
	default:
		if more.Text != "" {
			items.Content = append(items.Content, rawText(more.Text))
		}
		for range more.ToolCalls {
			items.Content = append(items.Content, itemCall)
		}
	}
	out.Items, out.Text = &items, paused.Text+more.Text
	out.TokensIn, out.TokensOut = paused.TokensIn+more.TokensIn, paused.TokensOut+more.TokensOut
	out.Parts = paused.Parts.Plus(more.Parts)
	out.TokensCacheWrite1h = paused.TokensCacheWrite1h + more.TokensCacheWrite1h
	out.Estimated = paused.Estimated || more.Estimated
	return &out
}

// rawText returns a text as a block of hidden content.
func rawText(text string) json.RawMessage {
	return jsonwrite.MustEncode(anthropicBlock{Type: "text", Text: text})
}

package effect

import (
	"slices"
	"strings"
)

// knowledgeHead begins the message with the entries of an agent's ledgers (stdlib/agent.conc).
const knowledgeHead = "Knowledge:\n\n"

// KnowledgeLast moves the entries of ledgers, which depend on the prompt, from the beginning of the
// conversation to the prompt: the last message of the user before a reply of this call. role is the
// role of a text that the program adds to a conversation.
func KnowledgeLast(all []ChatMessage, role string) []ChatMessage {
	if len(all) == 0 || all[0].Role != "system" || !strings.HasPrefix(all[0].Content, knowledgeHead) {
		return all
	}
	prompt := 0
	for i := range all {
		m := &all[i]
		if m.Role == "assistant" && (m.Items != nil || len(m.ToolCalls) > 0) {
			break
		}
		if m.Role == "user" {
			prompt = i
		}
	}
	if prompt == 0 {
		return all
	}
	entries := all[0]
	entries.Role = role
	return slices.Concat(all[1:prompt], []ChatMessage{entries}, all[prompt:])
}

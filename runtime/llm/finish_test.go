package llm

import (
	"testing"

	"github.com/concerto-lang/concerto/internal/agents/modelserver"
	"github.com/concerto-lang/concerto/internal/data/effect"
)

// TestFinishReasons checks that a reply contains the reason that the provider has given for its
// end, also if the reply was streamed.
func TestFinishReasons(t *testing.T) {
	for provider, wire := range map[string]string{"openai": "length", "anthropic": "max_tokens", "gemini": "MAX_TOKENS", "ollama": "length", "bedrock": "max_tokens"} {
		t.Run(provider, func(t *testing.T) {
			_, conn := server(t, provider, modelserver.Reply{Text: "x", Stop: wire}, modelserver.Reply{Text: "x", Stop: wire})
			c, _ := client(t, conn)
			check := func(got *effect.AgentReply, err error) {
				if err != nil || got.FinishReason != wire || got.StopReason != "length" {
					t.Errorf("reply %+v (error %v), want the finish reason %s and the stop reason length", got, err, wire)
				}
			}
			check(ask(c, effect.AgentCall{}))
			_, got, err := streamed(t.Context(), c, effect.AgentCall{})
			check(got, err)
		})
	}
}

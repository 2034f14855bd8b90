package sim

import (
	"context"
	"fmt"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/sim/simdisk"
	"github.com/concerto-lang/concerto/runtime/llm"
)

// reply returns the model of a process. No two replies are equal.
func (w *world) reply(p *process) llm.Function {
	return func(_ context.Context, r *llm.Request) (*effect.AgentReply, error) {
		if p.dead.Load() {
			return nil, simdisk.ErrDead
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		prompt := r.Messages[len(r.Messages)-1].Content
		text := fmt.Sprintf("reply %d to %s", len(w.models[prompt])+1, prompt)
		w.models[prompt] = append(w.models[prompt], text)
		w.note("model", "replies %q", text)
		return &effect.AgentReply{Text: text, TokensIn: 1, TokensOut: 1, Model: "m"}, nil
	}
}

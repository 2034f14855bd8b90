package testllm

import (
	"fmt"
	"math/big"
	"net/http"

	"github.com/concerto-lang/concerto/internal/agents/modelserver"
)

// rates are prices in US dollars for a million tokens, as the vendor publishes them: of input and
// output, of input that is read from the cache, and of input that is written to it for five minutes
// or an hour.
type rates struct{ input, output, read, write, write1h string }

// published contains the prices of models
// (https://platform.claude.com/docs/zh-CN/models/opus-5-5/overview,
// https://platform.claude.com/docs/zh-CN/models/overview,
// https://platform.claude.com/docs/en/docs/about-claude/pricing).
var published = map[string]rates{
	"claude-opus-5-5":  {"4", "20", "0.20", "5", "8"},
	"claude-haiku-4-5": {"1", "5", "0.10", "1.25", "2"},
	"claude-sonnet-5":  {"2", "10", "0.20", "2.50", "4"},
}

// Bill returns what a server charges for its replies, in dollars with all digits. The computation
// shares nothing with that of Concerto.
func Bill(s *modelserver.Server) (string, error) {
	sum := new(big.Rat)
	for _, r := range s.Requests() {
		if r.Reply.Status >= http.StatusMultipleChoices {
			continue // an error is free
		}
		model, _ := r.Body["model"].(string)
		price, ok := published[model]
		if !ok {
			return "", fmt.Errorf("model %q has no published price", model)
		}
		x := &r.Reply
		for _, part := range []struct {
			tokens int
			usd    string
		}{
			{x.TokensIn - x.Cached - x.CacheWrite, price.input}, {x.Cached, price.read}, {x.CacheWrite - x.CacheWrite1h, price.write},
			{x.CacheWrite1h, price.write1h}, {x.TokensOut, price.output},
		} {
			usd, _ := new(big.Rat).SetString(part.usd)
			sum.Add(sum, usd.Mul(usd, big.NewRat(int64(part.tokens), 1_000_000)))
		}
	}
	return sum.FloatString(12), nil
}

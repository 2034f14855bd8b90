package testllm

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"regexp"
	"sync"
	"unicode/utf8"

	"github.com/concerto-lang/concerto/internal/agents/modelserver"
)

// Rules of Anthropic's prompt cache (https://platform.claude.com/docs/en/build-with-claude/prompt-caching).
const (
	mostMarks = 4
	lookback  = 20 // number of blocks before a mark in which the server searches for an earlier one
)

// shortest contains the number of tokens below which a model's prefix is not stored.
var shortest = map[string]int{"claude-opus-5-5": 512, "claude-sonnet-5": 1024, "claude-haiku-4-5": 4096}

// cache is the prompt cache of a server, which loses nothing. Its computation shares nothing with
// that of Concerto.
type cache struct {
	stored map[[32]byte]bool // hashes of a model's name and a prefix
}

// promptBlock is a part of a request, without its mark.
type promptBlock struct {
	text string
	mark string // "", "5m" or "1h"
}

// mark matches the member that marks a block.
var mark = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`,?"cache_control":(\{"type":"ephemeral"(,"ttl":"(5m|1h)")?\})`)
})

func newBlock(raw []byte) promptBlock {
	b := promptBlock{text: string(mark().ReplaceAll(raw, nil))}
	if m := mark().FindSubmatch(raw); m != nil {
		b.mark = "5m"
		if m[3] != nil {
			b.mark = string(m[3])
		}
	}
	return b
}

// promptOf returns the model and the blocks of a request in the order in which the model reads
// them.
func promptOf(body []byte) (model string, blocks []promptBlock, err error) {
	var request struct {
		Model    string
		Tools    []json.RawMessage
		System   json.RawMessage
		Messages []struct {
			Role    string
			Content json.RawMessage
		}
	}
	if err := json.Unmarshal(body, &request); err != nil {
		return "", nil, err
	}
	add := func(before string, content json.RawMessage) {
		var all []json.RawMessage
		if json.Unmarshal(content, &all) != nil {
			all = []json.RawMessage{content} // a text
		}
		for _, raw := range all {
			b := newBlock(raw)
			b.text = before + b.text
			blocks = append(blocks, b)
		}
	}
	for _, t := range request.Tools {
		blocks = append(blocks, newBlock(t))
	}
	if request.System != nil {
		add("system", request.System)
	}
	for _, m := range request.Messages {
		add(m.Role, m.Content)
	}
	return request.Model, blocks, nil
}

// count computes the tokens of a request to Anthropic's API: those of all blocks, of the longest
// stored prefix, and of what is stored in addition.
func (c *cache) count(api string, body []byte, r *modelserver.Reply) {
	model, blocks, err := promptOf(body)
	if least, ok := shortest[model]; api != "anthropic" || err != nil || !ok {
		panic(fmt.Sprintf("tokens of model %q are counted only for Anthropic's API: %v", model, err))
	} else {
		r.TokensIn, r.Cached, r.CacheWrite, r.CacheWrite1h = c.store(model, blocks, least)
	}
}

func (c *cache) store(model string, blocks []promptBlock, least int) (all, cached, written, hour int) {
	ends, keys, text := make([]int, len(blocks)), make([][32]byte, len(blocks)), model
	for i, b := range blocks {
		all += (utf8.RuneCountInString(b.text) + 3) / 4
		text += "\n" + b.text
		ends[i], keys[i] = all, sha256.Sum256([]byte(text))
	}
	for i, b := range blocks {
		for j := i; b.mark != "" && j >= 0 && j > i-lookback; j-- {
			if c.stored[keys[j]] {
				cached = max(cached, ends[j])
				break
			}
		}
	}
	done := cached
	for i, b := range blocks {
		if b.mark == "" || ends[i] < least {
			continue
		}
		c.stored[keys[i]] = true
		if n := ends[i] - done; n > 0 {
			written, done = written+n, ends[i]
			if b.mark == "1h" {
				hour += n
			}
		}
	}
	return all, cached, written, hour
}

// checkMarks checks the number of marks in a request to Anthropic's API. The request conforms to
// requests/anthropic.json.
func checkMarks(body map[string]any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	_, blocks, err := promptOf(text)
	n := 0
	for _, b := range blocks {
		if b.mark != "" {
			n++
		}
	}
	if n > mostMarks {
		return fmt.Errorf("anthropic: A maximum of 4 blocks with cache_control may be provided. Found %d", n)
	}
	return err
}

package lsp

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"slices"

	"github.com/concerto-lang/concerto/internal/editor/lsp/protocol"
	"github.com/concerto-lang/concerto/internal/text/source"
)

// tokens returns the tokens in a range in the protocol's encoding. Each token has five numbers. Its
// line and character are relative to the previous token.
func (c *call) tokens(uri protocol.DocumentURI, within func(source.Span) bool) (data []uint32) {
	path := c.path(uri)
	file := c.snapshot.File(path)
	if file == nil {
		return nil
	}
	l := c.translation().lines(file)
	var last protocol.Position
	for _, x := range c.snapshot.Tokens(c, path) {
		if !within(x.Span) {
			continue
		}
		r := l.rng(x.Span)
		if r.Start.Line != r.End.Line {
			continue
		}
		character := r.Start.Character
		if r.Start.Line == last.Line {
			character -= last.Character
		}
		data = append(data, r.Start.Line-last.Line, character, r.End.Character-r.Start.Character, x.Type, x.Modifiers)
		last = r.Start
	}
	return data
}

// sentTokens is the list of tokens that the client received last for a document.
type sentTokens struct {
	id   string
	data []uint32
}

func newSentTokens(data []uint32) sentTokens {
	h := sha256.New()
	if err := binary.Write(h, binary.LittleEndian, data); err != nil {
		panic(err) // writing to a hash never fails
	}
	return sentTokens{hex.EncodeToString(h.Sum(nil)[:8]), data}
}

func everything(source.Span) bool { return true }

// refreshTokens returns the current tokens of a document and those that the client received before.
// If the document was edited after the request arrived, it does not store the tokens.
func (c *call) refreshTokens(uri protocol.DocumentURI) (now, was sentTokens, err error) {
	now = newSentTokens(c.tokens(uri, everything))
	if err := c.Err(); err != nil {
		return now, was, err
	}
	c.runInLoop(func() {
		was = c.loop.sentTokens[uri]
		if c.loop.view.docs[uri] != nil {
			c.loop.sentTokens[uri] = now
		}
	})
	return now, was, nil
}

func semanticTokensFull(c *call, p *protocol.SemanticTokensParams) (*protocol.SemanticTokens, error) {
	now, _, err := c.refreshTokens(p.TextDocument.URI)
	if err != nil {
		return nil, err
	}
	return &protocol.SemanticTokens{ResultID: now.id, Data: now.data}, nil
}

func semanticTokensDelta(c *call, p *protocol.SemanticTokensDeltaParams) (any, error) {
	now, was, err := c.refreshTokens(p.TextDocument.URI)
	if err != nil {
		return nil, err
	}
	if was.id != p.PreviousResultID || was.id == "" {
		return &protocol.SemanticTokens{ResultID: now.id, Data: now.data}, nil
	}
	return &protocol.SemanticTokensDelta{ResultID: now.id, Edits: tokenEdits(was.data, now.data)}, nil
}

// tokenEdits returns the edits that change one list of tokens into another. The result has at most
// one edit.
func tokenEdits(was, is []uint32) protocol.List[protocol.SemanticTokensEdit] {
	start := 0
	for start < len(was) && start < len(is) && was[start] == is[start] {
		start++
	}
	end, stop := len(was), len(is)
	for end > start && stop > start && was[end-1] == is[stop-1] {
		end, stop = end-1, stop-1
	}
	if start == end && start == stop {
		return nil
	}
	return protocol.List[protocol.SemanticTokensEdit]{{Start: uint32(start), DeleteCount: uint32(end - start), Data: slices.Clone(is[start:stop])}}
}

func semanticTokensRange(c *call, p *protocol.SemanticTokensRangeParams) (*protocol.SemanticTokens, error) {
	var data []uint32
	if file := c.snapshot.File(c.path(p.TextDocument.URI)); file != nil {
		at := c.translation().lines(file).orderedSpan(p.Range)
		data = c.tokens(p.TextDocument.URI, func(s source.Span) bool { return s.Start < at.End && s.End > at.Start })
	}
	return &protocol.SemanticTokens{Data: data}, c.Err()
}

package mock

import (
	"context"
	"fmt"
	"strings"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

// stream is a streamed reply of a mocked agent. Its pieces are the words of the reply. Opening the
// stream consumes the answer. The prompt is recorded, and the delay passes, before the first piece.
type stream struct {
	call   *effect.AgentCall
	begun  bool
	pieces []string
	reply  *effect.AgentReply
}

// openStream opens the stream of a mocked agent. The IDs of mocked streams are negative, those of
// other streams are positive.
func (w *World) openStream(ctx context.Context, r *effect.StreamOpen, next effect.Performer) (effect.Result, error) {
	w.mu.Lock()
	a := w.agents[r.Agent]
	if a == nil {
		w.mu.Unlock()
		return w.performUnmocked(ctx, r, next, missingAgent(r.Agent))
	}
	defer w.mu.Unlock()
	a.answerTo(&r.AgentCall)
	w.opened++
	w.streams[-w.opened] = &stream{call: &r.AgentCall}
	return &effect.StreamOpened{ID: -w.opened}, nil
}

// nextPiece returns the next word, or the end of the reply.
func (w *World) nextPiece(ctx context.Context, r *effect.StreamNext, next effect.Performer) (effect.Result, error) {
	w.mu.Lock()
	s := w.streams[r.ID]
	w.mu.Unlock()
	switch {
	case s == nil && r.ID > 0:
		return w.performUnmocked(ctx, r, next, nil)
	case s == nil:
		return nil, fmt.Errorf("mock: there is no stream %d", r.ID)
	case !s.begun:
		s.begun = true
		res, err := w.answerModel(ctx, s.call, next)
		if err != nil {
			return nil, err
		}
		s.reply = res.(*effect.AgentReply)
		if s.reply.Text != "" {
			s.pieces = strings.SplitAfter(s.reply.Text, " ")
		}
	}
	if len(s.pieces) == 0 {
		return &effect.StreamPiece{Reply: s.reply}, nil
	}
	p := s.pieces[0]
	s.pieces = s.pieces[1:]
	return &effect.StreamPiece{Text: p}, nil
}

// closeStream removes a mocked stream.
func (w *World) closeStream(ctx context.Context, r *effect.StreamClose, next effect.Performer) (effect.Result, error) {
	if r.ID > 0 {
		return w.performUnmocked(ctx, r, next, nil)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.streams, r.ID)
	return nil, nil
}

package main

import (
	"bufio"
	"context"
	"fmt"
	"net/http"

	"github.com/concerto-lang/concerto/relay/protocol"
)

// localSeat is at this machine's hostd.
type localSeat struct {
	*end
	run string
	off string // where its output begins, in bytes; a negative one is so much before its end
}

func (s *localSeat) follow(ctx context.Context, give func(protocol.Envelope) error) error {
	r, err := s.open(ctx, http.MethodGet, runPath(s.run)+"/stream?off="+s.off, nil)
	if err != nil {
		return err
	}
	defer r.Close()
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, protocol.MaxFrame)
	for lines.Scan() {
		env, refused := protocol.Parse(lines.Bytes())
		if refused != nil {
			return fmt.Errorf("%s says what is no envelope: %w", s.name, refused)
		}
		if err := give(env); err != nil || env.Type == protocol.RunExited {
			return err
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return fmt.Errorf("hostd has gone away; the run goes on, and `concerto-relay attach %s%s` comes back once hostd is there", s.run, s.again)
}

func (s *localSeat) keys(ctx context.Context, text string) error {
	return s.call(ctx, http.MethodPost, runPath(s.run)+"/keys", protocol.SendKeys{Keys: text}, nil)
}

func (s *localSeat) stop(ctx context.Context) error {
	return s.call(ctx, http.MethodPost, runPath(s.run)+"/stop", protocol.Stop{}, nil)
}

func (s *localSeat) resize(ctx context.Context, cols, rows int64) {
	_ = s.call(ctx, http.MethodPost, runPath(s.run)+"/resize", protocol.Resize{Cols: cols, Rows: rows}, nil) // the run may have ended
}

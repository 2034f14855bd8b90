package runs

import (
	"bufio"
	"context"
	"fmt"
	"net/http"

	"github.com/concerto-lang/concerto/internal/relaycli/connect"
	"github.com/concerto-lang/concerto/relay/protocol"
)

// localSession follows a run through this machine's hostd.
type localSession struct {
	*connect.Endpoint
	run string
	off string // offset of the first output to show, in bytes; a negative one counts from the end of the output
}

func (s *localSession) follow(ctx context.Context, handle func(protocol.Envelope) error) error {
	r, err := s.Send(ctx, http.MethodGet, RunPath(s.run)+"/stream?off="+s.off, nil)
	if err != nil {
		return err
	}
	defer r.Close()
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, protocol.MaxFrame)
	for lines.Scan() {
		env, refused := protocol.Parse(lines.Bytes())
		if refused != nil {
			return fmt.Errorf("%s sent an invalid message: %w", s.Name, refused)
		}
		if err := handle(env); err != nil || env.Type == protocol.RunExited {
			return err
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return fmt.Errorf("hostd has stopped; the run continues. When hostd runs again, attach with `concerto-relay attach %s%s`", s.run, s.Flags)
}

func (s *localSession) keys(ctx context.Context, text string) error {
	return s.Call(ctx, http.MethodPost, RunPath(s.run)+"/keys", protocol.SendKeys{Keys: text}, nil)
}

func (s *localSession) stop(ctx context.Context) error {
	return s.Call(ctx, http.MethodPost, RunPath(s.run)+"/stop", protocol.Stop{}, nil)
}

func (s *localSession) resize(ctx context.Context, cols, rows int64) {
	_ = s.Call(ctx, http.MethodPost, RunPath(s.run)+"/resize", protocol.Resize{Cols: cols, Rows: rows}, nil) // the run may have ended
}

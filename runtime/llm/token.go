package llm

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"
)

// tokenAge is how long a command's token is used. Google's tokens are valid for an hour.
const tokenAge = 30 * time.Minute

// tokenSource is a command that prints a key, such as an access token. It is safe for concurrent
// use.
type tokenSource struct {
	command []string
	world   *world
	origin  string // position of the connection's section, for messages

	mu    sync.Mutex
	token string // "" if a new one is needed
	since time.Time
}

// get returns the token. It runs the command if there is none, or it is too old.
func (t *tokenSource) get(ctx context.Context) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.world.clock.Now()
	if t.token != "" && now.Sub(t.since) < tokenAge {
		return t.token, nil
	}
	out, err := t.world.output(ctx, t.command)
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if out = strings.TrimSpace(out); err == nil && (out == "" || strings.ContainsFunc(out, func(c rune) bool { return c < ' ' || c > '~' })) {
		err = fmt.Errorf("it printed no token")
	}
	if err != nil {
		message := fmt.Sprintf("token_command `%s`%s failed: %v", strings.Join(t.command, " "), t.origin, err)
		if t.world.unkeyed != nil {
			t.world.unkeyed(message)
		}
		return "", &Failure{Class: ClassAuth, Message: message}
	}
	t.token, t.since = out, now
	return out, nil
}

// discard discards a token that was refused.
func (t *tokenSource) discard() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.token = ""
}

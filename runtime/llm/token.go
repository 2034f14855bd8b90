package llm

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"
)

// tokenAge is how long a token of token_command is used. Google's tokens are valid for an hour.
const tokenAge = 30 * time.Minute

// tokenSource runs a command that prints a key, such as an access token. It is safe for concurrent
// use.
type tokenSource struct {
	command []string
	world   *world
	origin  string // position of the connection's section, for error texts

	mu    sync.Mutex
	token string // current token; "" if a new one is needed
	since time.Time
}

// get returns the current token. It runs the command if there is no token or the token is too old.
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

// discard removes the current token, which the provider has refused.
func (t *tokenSource) discard() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.token = ""
}

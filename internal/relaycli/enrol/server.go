package enrol

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/concerto-lang/concerto/internal/relaycli/console"
	"github.com/concerto-lang/concerto/internal/relaycli/daemon"
	"github.com/concerto-lang/concerto/relay/client/machineapi"
)

// accessTokens are the prefixes of the tokens of users and of sessions. A machine's token has
// neither.
var accessTokens = []string{"ct_", "cs_"}

// newServer returns the client of the server that has the roster of the account. The commands
// identify themselves as this machine, or as the user of an access token.
func newServer(id *daemon.Identity) (*machineapi.Client, error) {
	if id.Server == "" {
		return nil, console.Usage("pair this machine with `concerto-relay pair --server URL`, or add --server URL --token-file FILE, with an access token", "no server is set")
	}
	base, err := machineapi.BaseURL(id.Server)
	if err != nil {
		return nil, err
	}
	for _, prefix := range accessTokens {
		if strings.HasPrefix(id.Token, prefix) {
			return &machineapi.Client{Base: base, Token: id.Token}, nil
		}
	}
	if id.MachineID == "" || id.Key == nil && id.Token == "" {
		return nil, console.Usage("pair this machine with `concerto-relay pair`, or add --token-file FILE, with an access token", "this machine has no credentials for %s", id.Server)
	}
	return &machineapi.Client{Base: base, MachineID: id.MachineID, Key: id.Key, Token: id.Token}, nil
}

// maxWait is how long the server may wait for a message, in seconds.
const maxWait = 25

// mailbox is the connection of one side of an enrolment to the other.
type mailbox struct {
	server        *machineapi.Client
	session, side string
	after         int64 // number of messages of the other side that were received
	queue         []string
}

func (m *mailbox) send(ctx context.Context, text []byte) error {
	body, err := json.Marshal(map[string]string{"side": m.side, "text": string(text)})
	if err != nil {
		return err
	}
	_, err = m.server.Do(ctx, http.MethodPost, url.Values{}, body, 0, "seal", "join", m.session)
	return err
}

// receive waits until the other side has sent a message. It waits at most the given number of
// seconds, and returns nil if there is none.
func (m *mailbox) receive(ctx context.Context, seconds int64) ([]byte, error) {
	if len(m.queue) == 0 {
		params := url.Values{"side": {m.side}, "after": {strconv.FormatInt(m.after, 10)}, "wait": {strconv.FormatInt(seconds, 10)}}
		text, err := m.server.Do(ctx, http.MethodGet, params, nil, time.Duration(seconds)*time.Second, "seal", "join", m.session)
		if err != nil {
			return nil, err
		}
		var got struct {
			Messages []string
			Next     int64
		}
		if err := json.Unmarshal(text, &got); err != nil {
			return nil, fmt.Errorf("read the messages of the other device: %w", err)
		}
		m.queue, m.after = got.Messages, got.Next
	}
	if len(m.queue) == 0 {
		return nil, nil
	}
	text := m.queue[0]
	m.queue = m.queue[1:]
	return []byte(text), nil
}

// next waits for the next message until the enrolment expires.
func (m *mailbox) next(ctx context.Context, expires time.Time) ([]byte, error) {
	for time.Now().Before(expires) {
		text, err := m.receive(ctx, maxWait)
		if ctx.Err() != nil {
			return nil, errStopped
		}
		if text != nil || err != nil {
			return text, err
		}
	}
	return nil, errExpired
}

var (
	errStopped = errors.New("stopped before the device was added")
	errExpired = errors.New("no device was added within 10 minutes: start again")
)

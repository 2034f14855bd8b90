package link

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/coder/websocket"

	"github.com/concerto-lang/concerto/internal/process/userfile"
	"github.com/concerto-lang/concerto/relay/protocol"
)

// connectTimeout is the time limit for establishing a connection.
const connectTimeout = 30 * time.Second

// endpoint returns the WebSocket URL at which a machine connects to a server.
func endpoint(server, machine string) (string, error) {
	if !protocol.IsID(machine) {
		return "", fmt.Errorf("the machine's id %q is invalid: it must be 1 to 64 of A-Z a-z 0-9 _ -", machine)
	}
	u, err := url.Parse(server)
	if err != nil {
		return "", fmt.Errorf("the server's URL: %w", err)
	}
	schemes := map[string]string{"http": "ws", "https": "wss", "ws": "ws", "wss": "wss"}
	if u.Scheme = schemes[strings.ToLower(u.Scheme)]; u.Scheme == "" || u.Host == "" {
		return "", fmt.Errorf("the server's URL %q: it must begin with http://, https://, ws:// or wss:// and name a host", server)
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return "", errors.New("the server's URL must have no user, query or fragment; the token belongs in --token-file")
	}
	u.Path = strings.TrimSuffix(u.Path, "/") + "/ws/host"
	u.RawQuery = url.Values{"host_id": {machine}}.Encode()
	return u.String(), nil
}

// TokenFile returns a function that returns the first line of a file. It reads the file at each
// call.
func TokenFile(file string) func() (string, error) {
	return func() (string, error) {
		b, err := userfile.ReadStream(file, userfile.MaxSecret)
		if err != nil {
			return "", fmt.Errorf("read the machine's token: %w", err)
		}
		line, _, _ := strings.Cut(string(b), "\n")
		if line = strings.TrimSpace(line); line == "" {
			return "", fmt.Errorf("read the machine's token: %s is empty", file)
		}
		return line, nil
	}
}

// dial connects to the server. It sends the token in a header, which servers do not log. If the
// server refuses that, dial sends the token as a query parameter, which protocol 1 requires.
func (l *Link) dial(ctx context.Context, key *Key) (*websocket.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	if key != nil {
		conn, status, err := l.dialWith(ctx, url.Values{"auth": {"key"}}, nil)
		if status == http.StatusUnauthorized {
			err = fmt.Errorf("%s does not know this machine's key (401): an owner may have removed the machine; pair again (concerto-relay pair --server %s)", l.o.URL, l.o.URL)
		}
		return conn, err
	}
	token, err := l.o.Token()
	if err != nil {
		return nil, err
	}
	conn, status, err := l.dialWithToken(ctx, token, l.query)
	if status == http.StatusUnauthorized {
		if other, resp2, err2 := l.dialWithToken(ctx, token, !l.query); err2 == nil {
			l.query = !l.query
			return other, nil
		} else if resp2 != http.StatusUnauthorized {
			return nil, err2
		}
	}
	return conn, err
}

func (l *Link) dialWithToken(ctx context.Context, token string, query bool) (conn *websocket.Conn, status int, err error) {
	params, header := url.Values{}, http.Header{}
	if query {
		params.Set("host_token", token)
	} else {
		header.Set("Authorization", "Bearer "+token)
	}
	conn, status, err = l.dialWith(ctx, params, header)
	if err != nil {
		err = removeToken(err, token)
	}
	return conn, status, err
}

// dialWith connects with parameters and headers that authenticate the machine. It also returns the
// HTTP status.
func (l *Link) dialWith(ctx context.Context, params url.Values, header http.Header) (conn *websocket.Conn, status int, err error) {
	where, o := l.url, &websocket.DialOptions{HTTPClient: l.o.HTTP, HTTPHeader: header}
	o.OnPingReceived = func(ctx context.Context, _ []byte) bool {
		if s := l.session(); s != nil {
			s.touch()
		}
		return true
	}
	if len(params) > 0 {
		where += "&" + params.Encode()
	}
	conn, response, err := websocket.Dial(ctx, where, o)
	if response != nil {
		status = response.StatusCode
	}
	switch {
	case err == nil:
		conn.SetReadLimit(protocol.MaxFrame)
		return conn, status, nil
	case status == http.StatusUnauthorized:
		err = fmt.Errorf("%s refused this machine: its token is wrong, or the server accepts no new machines (401); set its token, or pair the machine", l.o.URL)
	case status != 0:
		err = fmt.Errorf("%s answered %d: check that it is a relay's server", l.o.URL, status)
	default:
		err = fmt.Errorf("connect to %s: %w", l.o.URL, err)
	}
	return nil, status, err
}

// removeToken removes the token from an error, because the errors of net/http contain the URL.
func removeToken(err error, token string) error {
	text := err.Error()
	clean := strings.NewReplacer(token, "***", url.QueryEscape(token), "***").Replace(text)
	if clean == text {
		return err
	}
	return errors.New(clean)
}

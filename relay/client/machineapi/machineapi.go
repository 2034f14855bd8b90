// Package machineapi sends requests of a machine to the HTTP API of the relay's server: for the
// roster of an account, and for the messages of an enrolment (relay/seal).
package machineapi

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/concerto-lang/concerto/relay/protocol"
)

// Client identifies itself as a machine by its key or its token, or as a user by an access token.
type Client struct {
	Base      string             // see BaseURL
	MachineID string             // "" for a user
	Key       ed25519.PrivateKey // of a paired machine; nil for others
	Token     string
	HTTP      *http.Client // nil means http.DefaultClient
}

// Error is the server's error response.
type Error struct {
	Code    protocol.Code `json:"code"`
	Message string        `json:"message"`
}

func (e *Error) Error() string { return e.Message + " (" + string(e.Code) + ")" }

// Errors of this package. Match them with errors.Is.
var (
	// ErrUnknownAccount means that the server has no roster of an account, or nothing of a host.
	ErrUnknownAccount = errors.New("the server has no roster of this account")
	ErrUnsupported    = errors.New("the server does not support accounts: update it")
)

// Limits of requests.
const (
	timeout     = 30 * time.Second
	MaxResponse = 8 << 20  // in bytes
	maxPost     = 60 << 10 // of the lines in a request, in bytes
)

// Do sends a request and returns the body of the response. wait is the time for which the server
// may wait for a message. The error is ErrUnknownAccount, an *Error, or states the server.
func (c *Client) Do(ctx context.Context, method string, params url.Values, body []byte, wait time.Duration, path ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout+wait)
	defer cancel()
	u, err := url.Parse(c.Base)
	if err != nil {
		return nil, err
	}
	u = u.JoinPath(path...)
	if c.MachineID != "" {
		params.Set("host_id", c.MachineID)
	}
	u.RawQuery = params.Encode()
	q, err := http.NewRequestWithContext(ctx, method, u.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	c.identify(q)
	once := http.Client{}
	if c.HTTP != nil {
		once = *c.HTTP
	}
	// A redirect would lead to a server that the user has not named.
	once.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	r, err := once.Do(q)
	if err != nil {
		return nil, fmt.Errorf("send a request to %s: %w", c.Base, errors.Unwrap(err)) // without the query
	}
	defer r.Body.Close()
	text, err := io.ReadAll(io.LimitReader(r.Body, MaxResponse))
	if err != nil {
		return nil, fmt.Errorf("read the response of %s: %w", c.Base, err)
	}
	if r.StatusCode >= 300 {
		return nil, c.failure(r, text)
	}
	return text, nil
}

// identify adds the credentials to a request.
func (c *Client) identify(q *http.Request) {
	if c.Key == nil || c.MachineID == "" {
		q.Header.Set("Authorization", "Bearer "+c.Token)
		return
	}
	ms := time.Now().UnixMilli()
	text := protocol.RequestProofText(protocol.OriginOf(q.URL), c.MachineID, q.Method, q.URL.RequestURI(), ms)
	q.Header.Set(protocol.RequestProofHeader, fmt.Sprintf("%d.%s", ms, protocol.KeyText(ed25519.Sign(c.Key, text))))
}

func (c *Client) failure(r *http.Response, text []byte) error {
	var failure struct{ Error Error }
	switch {
	case json.Unmarshal(text, &failure) != nil || failure.Error.Code == "":
		return fmt.Errorf("%s responded %s", c.Base, r.Status)
	case failure.Error.Code == protocol.UnknownAccount:
		return ErrUnknownAccount
	case r.StatusCode == http.StatusNotFound:
		return fmt.Errorf("%s: %w", c.Base, ErrUnsupported)
	}
	return &failure.Error
}

// BaseURL returns the URL of a server with the scheme http or https.
func BaseURL(server string) (string, error) {
	u, err := url.Parse(server)
	if err != nil || u.Host == "" {
		return "", fmt.Errorf("the server's URL %q: it must begin with http://, https://, ws:// or wss:// and name a host", server)
	}
	to := map[string]string{"http": "http", "https": "https", "ws": "http", "wss": "https"}[strings.ToLower(u.Scheme)]
	if to == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return "", fmt.Errorf("the server's URL: it must begin with http://, https://, ws:// or wss:// and have no user, query or fragment")
	}
	u.Scheme, u.Path = to, strings.TrimSuffix(u.Path, "/")
	return u.String(), nil
}

// Roster returns the lines of a roster after a line.
func (c *Client) Roster(ctx context.Context, account string, after int64) ([]byte, error) {
	return c.Do(ctx, http.MethodGet, url.Values{"after": {strconv.FormatInt(after, 10)}}, nil, 0, "seal", account, "roster")
}

// Publish appends the lines of a roster that the server does not have. It sends them in parts,
// because the size of a request is limited.
func (c *Client) Publish(ctx context.Context, account string, text []byte) error {
	for len(text) > 0 {
		n := len(text)
		if n > maxPost {
			n = bytes.LastIndexByte(text[:maxPost], '\n') + 1
		}
		if _, err := c.Do(ctx, http.MethodPost, url.Values{}, text[:n], 0, "seal", account, "roster"); err != nil {
			return err
		}
		text = text[n:]
	}
	return nil
}

// KeyRecords returns the key records of a host after an epoch, or ErrUnknownAccount if the server
// has none.
func (c *Client) KeyRecords(ctx context.Context, account, host string, after int64) ([]byte, error) {
	return c.Do(ctx, http.MethodGet, url.Values{"host": {host}, "after": {strconv.FormatInt(after, 10)}}, nil, 0, "seal", account, "keys")
}

// PublishKeys appends a key record of this machine.
func (c *Client) PublishKeys(ctx context.Context, account string, record []byte) error {
	_, err := c.Do(ctx, http.MethodPost, url.Values{}, record, 0, "seal", account, "keys")
	return err
}

// OldestEpoch returns the lowest epoch of the events of a host that the server stores, or 0 if the
// server does not know it. The error is ErrUnsupported if the server is an older one.
func (c *Client) OldestEpoch(ctx context.Context, account, host string) (int64, error) {
	text, err := c.Do(ctx, http.MethodGet, url.Values{"host": {host}}, nil, 0, "seal", account, "oldest")
	if err != nil {
		return 0, err
	}
	var oldest struct {
		Epoch int64 `json:"epoch"`
	}
	if err := json.Unmarshal(text, &oldest); err != nil {
		return 0, fmt.Errorf("the oldest epoch that %s stores: %w", c.Base, err)
	}
	return oldest.Epoch, nil
}

// PublishShare stores the keys of a share of this machine.
func (c *Client) PublishShare(ctx context.Context, account, share string, text []byte) error {
	_, err := c.Do(ctx, http.MethodPost, url.Values{"account": {account}}, text, 0, "seal", "share", share)
	return err
}

// History returns the newest history of a host for a device, or ErrUnknownAccount if the server has
// none.
func (c *Client) History(ctx context.Context, account, host, device string) ([]byte, error) {
	return c.Do(ctx, http.MethodGet, url.Values{"host": {host}, "device": {device}}, nil, 0, "seal", account, "history")
}

// PublishHistory stores a history of a host for a device.
func (c *Client) PublishHistory(ctx context.Context, account, host, device string, history []byte) error {
	_, err := c.Do(ctx, http.MethodPost, url.Values{"host": {host}, "device": {device}}, history, 0, "seal", account, "history")
	return err
}

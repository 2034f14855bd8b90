package pair

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
	"time"

	"github.com/concerto-lang/concerto/relay/client/machineapi"
	"github.com/concerto-lang/concerto/relay/protocol"
)

// Options configures a pairing request.
type Options struct {
	Server           string // URL of the server: http, https, ws or wss
	Dir              string // state directory of hostd
	Name             string // name of the machine
	MachineID, Token string // id and token that the machine uses so far; "" if it has none
	HTTP             *http.Client
	Poll             func(ctx context.Context) error // waits between two polls; nil waits for a second
}

// Request is a pairing request that an owner must confirm.
type Request struct {
	o           Options
	key         ed25519.PrivateKey
	id          string
	serverKey   string
	Code        string
	Link        string // URL of the page on which an owner confirms
	Fingerprint string
	ExpiresIn   time.Duration // time until the request expires
}

const (
	responseTimeout = 30 * time.Second
	maxResponse     = 64 << 10
)

// Begin creates the machine's key if necessary, and sends a pairing request to the server.
func Begin(ctx context.Context, o Options) (*Request, error) {
	u, err := machineapi.BaseURL(o.Server)
	if err != nil {
		return nil, err
	}
	o.Server = u
	if o.HTTP == nil {
		o.HTTP = &http.Client{Timeout: responseTimeout}
	}
	once := *o.HTTP
	// A redirect would lead to a server that the user has not named.
	once.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	o.HTTP = &once
	b := &Request{o: o}
	if b.key, err = LoadOrCreateKey(o.Dir); err != nil {
		return nil, err
	}
	public := b.key.Public().(ed25519.PublicKey)
	b.Fingerprint = protocol.Fingerprint(public)
	body := map[string]string{"public_key": protocol.KeyText(public), "name": o.Name}
	if o.MachineID != "" && o.Token != "" {
		body["host_id"], body["host_token"] = o.MachineID, o.Token
	}
	var resp struct {
		PairID    string `json:"pair_id"`
		Code      string `json:"code"`
		ExpiresIn int64  `json:"expires_in"`
		ServerKey string `json:"server_key"`
	}
	if err := b.do(ctx, "POST", "/pair/start", body, &resp); err != nil {
		return nil, err
	}
	if resp.PairID == "" || resp.Code == "" || resp.ExpiresIn < 1 {
		return nil, fmt.Errorf("%s did not start a pairing: its response has no code", o.Server)
	}
	b.id, b.Code, b.ExpiresIn, b.serverKey = resp.PairID, resp.Code, time.Duration(resp.ExpiresIn)*time.Second, resp.ServerKey
	b.Link = o.Server + "/#/hosts/pair?code=" + url.QueryEscape(b.Code)
	return b, nil
}

// serverError is the body of an error response.
type serverError struct {
	code, why string
	status    int
}

func (r *serverError) Error() string { return r.why }

// do sends a request to the server and decodes the response.
func (b *Request) do(ctx context.Context, method, path string, body, into any) error {
	var in io.Reader = http.NoBody
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return err
		}
		in = bytes.NewReader(text)
	}
	r, err := http.NewRequestWithContext(ctx, method, b.o.Server+path, in)
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	answer, err := b.o.HTTP.Do(r)
	if err != nil {
		return fmt.Errorf("send a request to the server: %w", err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxResponse))
	if err != nil {
		return fmt.Errorf("read the server's answer: %w", err)
	}
	if answer.StatusCode != http.StatusOK {
		var resp struct {
			Error struct{ Code, Message string }
		}
		if json.Unmarshal(text, &resp) != nil || resp.Error.Code == "" {
			resp.Error.Message = "check that it is a relay's server with pairing"
		}
		return &serverError{resp.Error.Code, fmt.Sprintf("%s answers %d: %s", b.o.Server, answer.StatusCode, resp.Error.Message), answer.StatusCode}
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("read the server's answer: %w", err)
	}
	return nil
}

// Wait polls until an owner confirms the pairing, and then stores the pairing. It retries while the
// server is not reachable. It returns an error when the request expires.
func (b *Request) Wait(ctx context.Context) (*Pairing, error) {
	// The server normally reports the expiry earlier.
	ctx, cancel := context.WithTimeoutCause(ctx, b.ExpiresIn+time.Minute, errors.New("the pairing was not confirmed in time"))
	defer cancel()
	poll := b.o.Poll
	if poll == nil {
		poll = waitSecond
	}
	for {
		var resp struct {
			State     string `json:"state"`
			MachineID string `json:"host_id"`
			ServerKey string `json:"server_key"`
		}
		err := b.do(ctx, "GET", "/pair/"+url.PathEscape(b.id), nil, &resp)
		var no *serverError
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case errors.As(err, &no) && no.status < 500 && no.status != http.StatusTooManyRequests:
			return nil, err
		case err == nil && resp.State == "confirmed":
			if resp.ServerKey == "" {
				resp.ServerKey = b.serverKey
			}
			return b.store(resp.MachineID, resp.ServerKey)
		case err == nil && resp.State != "waiting":
			return nil, fmt.Errorf("%s answered with the unknown pairing state %q: update concerto-relay", b.o.Server, resp.State)
		}
		if err := poll(ctx); err != nil {
			return nil, err
		}
	}
}

func waitSecond(ctx context.Context) error {
	select {
	case <-time.After(time.Second):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// store stores a confirmed pairing.
func (b *Request) store(machine, serverKey string) (*Pairing, error) {
	if !protocol.IsID(machine) {
		return nil, fmt.Errorf("%s assigned no id to this machine", b.o.Server)
	}
	if b.serverKey != "" && serverKey != b.serverKey {
		return nil, errors.New("the server's key has changed while the pairing waited: pair again, and compare the fingerprint")
	}
	k := &Pairing{Server: b.o.Server, MachineID: machine, ServerKey: serverKey, dir: b.o.Dir, key: b.key}
	if _, err := k.Pinned(); err != nil {
		return nil, fmt.Errorf("the server's key: %w", err)
	}
	if err := k.save(); err != nil {
		return nil, fmt.Errorf("store the pairing: %w", err)
	}
	return k, nil
}

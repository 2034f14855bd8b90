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
	"strings"
	"time"

	"github.com/concerto-lang/concerto/relay/protocol"
)

// Options say who wants to be paired with whom.
type Options struct {
	Server        string // its URL: http, https, ws or wss
	Dir           string // hostd's state
	Name          string // the machine's
	HostID, Token string // that the machine has at present; "" when it has none
	HTTP          *http.Client
	Poll          func(ctx context.Context) error // waits between two looks; nil: a second
}

// Begun is a pairing that waits for an owner.
type Begun struct {
	o           Options
	key         ed25519.PrivateKey
	id          string
	serverKey   string
	Code        string
	Link        string // to the page where an owner confirms it
	Fingerprint string
	For         time.Duration // how long it waits
}

const (
	answerWithin = 30 * time.Second
	mostAnswer   = 64 << 10
)

// Begin makes the key, if there is none, and asks the server to know it.
func Begin(ctx context.Context, o Options) (*Begun, error) {
	u, err := base(o.Server)
	if err != nil {
		return nil, err
	}
	o.Server = u
	if o.HTTP == nil {
		o.HTTP = &http.Client{Timeout: answerWithin}
	}
	once := *o.HTTP
	once.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse } // another server is not the one that was named
	o.HTTP = &once
	b := &Begun{o: o}
	if b.key, err = Key(o.Dir); err != nil {
		return nil, err
	}
	public := b.key.Public().(ed25519.PublicKey)
	b.Fingerprint = protocol.Fingerprint(public)
	body := map[string]string{"public_key": protocol.KeyText(public), "name": o.Name}
	if o.HostID != "" && o.Token != "" {
		body["host_id"], body["host_token"] = o.HostID, o.Token
	}
	var said struct {
		PairID    string `json:"pair_id"`
		Code      string `json:"code"`
		ExpiresIn int64  `json:"expires_in"`
		ServerKey string `json:"server_key"`
	}
	if err := b.ask(ctx, "POST", "/pair/start", body, &said); err != nil {
		return nil, err
	}
	if said.PairID == "" || said.Code == "" || said.ExpiresIn < 1 {
		return nil, fmt.Errorf("%s begins no pairing: it says no code", o.Server)
	}
	b.id, b.Code, b.For, b.serverKey = said.PairID, said.Code, time.Duration(said.ExpiresIn)*time.Second, said.ServerKey
	b.Link = o.Server + "/#/hosts/pair?code=" + url.QueryEscape(b.Code)
	return b, nil
}

// base is a server's URL, without what stands behind its host, in a form of http.
func base(server string) (string, error) {
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

// refusal is what a server says that does not do it.
type refusal struct {
	code, why string
	status    int
}

func (r *refusal) Error() string { return r.why }

// ask asks the server, and reads its answer.
func (b *Begun) ask(ctx context.Context, method, path string, body, into any) error {
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
		return fmt.Errorf("ask the server: %w", err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, mostAnswer))
	if err != nil {
		return fmt.Errorf("read the server's answer: %w", err)
	}
	if answer.StatusCode != http.StatusOK {
		var said struct {
			Error struct{ Code, Message string }
		}
		if json.Unmarshal(text, &said) != nil || said.Error.Code == "" {
			said.Error.Message = "is it a relay's server that pairs?"
		}
		return &refusal{said.Error.Code, fmt.Sprintf("%s answers %d: %s", b.o.Server, answer.StatusCode, said.Error.Message), answer.StatusCode}
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("read the server's answer: %w", err)
	}
	return nil
}

// Wait waits until an owner has confirmed it, and keeps it. A server that cannot be reached meanwhile is
// asked again. The error says when the time is over.
func (b *Begun) Wait(ctx context.Context) (*Kept, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, b.For+time.Minute, errors.New("nobody has confirmed the pairing in time")) // the server says so before
	defer cancel()
	poll := b.o.Poll
	if poll == nil {
		poll = aSecond
	}
	for {
		var said struct {
			State     string `json:"state"`
			HostID    string `json:"host_id"`
			ServerKey string `json:"server_key"`
		}
		err := b.ask(ctx, "GET", "/pair/"+url.PathEscape(b.id), nil, &said)
		var no *refusal
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case errors.As(err, &no) && no.status < 500 && no.status != http.StatusTooManyRequests:
			return nil, err
		case err == nil && said.State == "confirmed":
			if said.ServerKey == "" {
				said.ServerKey = b.serverKey
			}
			return b.keep(said.HostID, said.ServerKey)
		case err == nil && said.State != "waiting":
			return nil, fmt.Errorf("%s says that the pairing is %q", b.o.Server, said.State)
		}
		if err := poll(ctx); err != nil {
			return nil, err
		}
	}
}

func aSecond(ctx context.Context) error {
	select {
	case <-time.After(time.Second):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// keep keeps what was confirmed.
func (b *Begun) keep(host, serverKey string) (*Kept, error) {
	if !protocol.IsID(host) {
		return nil, fmt.Errorf("%s gives no id to this host", b.o.Server)
	}
	if b.serverKey != "" && serverKey != b.serverKey {
		return nil, errors.New("the server's key has changed while the pairing waited: pair again, and compare the fingerprint")
	}
	k := &Kept{Server: b.o.Server, HostID: host, ServerKey: serverKey, dir: b.o.Dir, key: b.key}
	if _, err := k.Pinned(); err != nil {
		return nil, fmt.Errorf("the server's key: %w", err)
	}
	if err := k.save(); err != nil {
		return nil, fmt.Errorf("keep the pairing: %w", err)
	}
	return k, nil
}

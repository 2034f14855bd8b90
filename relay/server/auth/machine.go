package auth

import (
	"context"
	"crypto/ed25519"
	"crypto/subtle"
	"errors"
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/concerto-lang/concerto/internal/record/audit"
	"github.com/concerto-lang/concerto/internal/text/hexsum"
	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/server/httpguard"
	"github.com/concerto-lang/concerto/relay/store"
)

// TOFU ("trust on first use") controls which unknown machines are accepted.
type TOFU string

// The values of TOFU.
const (
	TOFUOn  TOFU = "on"
	TOFUOff TOFU = "off"
	// TOFULoopback accepts unknown machines only from this machine and without a proxy, and only if
	// the server has no public URL.
	TOFULoopback TOFU = "loopback"
)

// MachineCredentials returns the id and token that a machine's request contains. The id is in
// ?host_id=, and the token is in the Authorization header or in ?host_token=.
func MachineCredentials(r *http.Request) (machine, token string) {
	query := r.URL.Query()
	machine, token = query.Get("host_id"), query.Get("host_token")
	const bearer = "Bearer "
	if header := r.Header.Get("Authorization"); len(header) > len(bearer) && header[:len(bearer)] == bearer {
		token = header[len(bearer):]
	}
	return machine, token
}

// Machine authenticates a machine by the token with which it first connected. TOFU decides whether
// an unknown machine is accepted. For a refused machine it returns an *httpguard.Refusal with code
// unauthorized.
func (a *Auth) Machine(ctx context.Context, id, token string, r *http.Request) error {
	if !protocol.IsID(id) {
		return httpguard.Refused(protocol.BadMessage, "host_id must be 1 to 64 of letters, digits, _ and -")
	}
	if token == "" {
		return httpguard.Refused(protocol.Unauthorized, "missing machine token: send ?host_token= or Authorization: Bearer")
	}
	machine, err := a.c.Store.Machine(ctx, id)
	if errors.Is(err, store.ErrUnknown) {
		if why := a.refuseNewMachine(r); why != "" {
			return a.refuseMachine(ctx, id, why, "", r)
		}
		machine, err = a.c.Store.AddMachine(ctx, store.Machine{ID: id, Name: id, TokenHash: hexsum.SHA256(token), LastSeenAt: a.now()}, machineRecord("host_tofu", id, a.c.Guard.Address(r).String(), ""))
	}
	switch {
	case err != nil:
		return err
	case machine.TokenHash == "":
		return a.refuseMachine(ctx, id, "the machine is paired and must authenticate with its key", id, r)
	case subtle.ConstantTimeCompare([]byte(machine.TokenHash), []byte(hexsum.SHA256(token))) != 1:
		return a.refuseMachine(ctx, id, "the token differs from the one this machine first used; an owner can remove the machine, which lets it register again", id, r)
	}
	return nil
}

// HasToken reports whether the machine is registered with this token.
func (a *Auth) HasToken(ctx context.Context, id, token string) (bool, error) {
	return a.machineHas(ctx, id, func(h *store.Machine) bool { return h.TokenHash == hexsum.SHA256(token) })
}

// HasKey reports whether the machine is registered with this key.
func (a *Auth) HasKey(ctx context.Context, id string, key ed25519.PublicKey) (bool, error) {
	return a.machineHas(ctx, id, func(h *store.Machine) bool { return h.PublicKey == protocol.KeyText(key) })
}

// machineHas reports whether the machine is registered and has valid credentials.
func (a *Auth) machineHas(ctx context.Context, id string, valid func(*store.Machine) bool) (bool, error) {
	machine, err := a.c.Store.Machine(ctx, id)
	if errors.Is(err, store.ErrUnknown) {
		return false, nil
	}
	return err == nil && valid(machine), err
}

// Admit registers the machine that runs in the server's own process, regardless of TOFU. If the
// machine is registered with another token or with a key, it returns an *httpguard.Refusal.
func (a *Auth) Admit(ctx context.Context, id, token string) error {
	machine, err := a.c.Store.Machine(ctx, id)
	if errors.Is(err, store.ErrUnknown) {
		machine, err = a.c.Store.AddMachine(ctx, store.Machine{ID: id, Name: id, TokenHash: hexsum.SHA256(token), LastSeenAt: a.now()}, machineRecord("host_tofu", id, "", "it is the server's own"))
	}
	switch {
	case err != nil:
		return err
	case subtle.ConstantTimeCompare([]byte(machine.TokenHash), []byte(hexsum.SHA256(token))) != 1:
		return httpguard.Refused(protocol.Unauthorized, "machine %s is registered with other credentials: use another machine id, or remove the machine from the server", id)
	}
	return nil
}

// refuseNewMachine returns why an unknown machine is refused, or "" if it is accepted.
func (a *Auth) refuseNewMachine(r *http.Request) string {
	switch {
	case a.c.TOFU == TOFUOn:
		return ""
	case a.c.TOFU == TOFUOff:
		return "this machine is not paired, and the server accepts no unpaired machines (--tofu off): pair it"
	case a.c.Guard.Public() != nil:
		return "this machine is not paired, and a server with a public URL accepts no tokens of unpaired machines (--tofu loopback): pair it"
	case !a.c.Guard.Local(r):
		return "this machine is not paired, and the server accepts unpaired machines only from loopback addresses (--tofu loopback): pair it"
	}
	return ""
}

// refuseMachine records a refused machine and returns the refusal. stored is the id of an existing
// machine and "" for an unknown one; all unknown machines share one audit record.
func (a *Auth) refuseMachine(ctx context.Context, id, why, stored string, r *http.Request) error {
	place := a.c.Guard.Address(r).String()
	if a.reported.allow("machine "+stored+" "+place, a.c.Now()) {
		a.record(ctx, machineRecord("host_refused", id, place, why))
		a.c.Log.Warn("rejected a machine", "machine", id, "from", place, "why", why)
	}
	return httpguard.Refused(protocol.Unauthorized, "%s", why)
}

// IsHostName reports whether name is a valid name of a machine.
func IsHostName(name string) bool {
	return name != "" && len(name) <= 64 && utf8.ValidString(name) && !strings.ContainsFunc(name, unicode.IsControl)
}

func machineRecord(kind, id, place, why string) audit.Record {
	data := map[string]any{"address": place}
	if why != "" {
		data["reason"] = why
	}
	return audit.Record{Kind: kind, Actor: audit.Actor{Type: "host", Name: id}, Subject: object(map[string]any{"host": id}), Data: object(data)}
}

package server

import (
	"encoding/json"
	"errors"
	"net/http"
	"unicode/utf8"

	"github.com/concerto-lang/concerto/internal/record/audit"
	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/server/auth"
	"github.com/concerto-lang/concerto/relay/server/httpguard"
	"github.com/concerto-lang/concerto/relay/store"
)

// Limits of passkeys.
const (
	maxPasskey  = 4 << 10 // of a text, in bytes
	maxPasskeys = 20      // of a user
)

// passkeyCaller refuses callers other than a session of a user: a link or a token must neither read
// nor replace the keys of its user's devices.
func (s sealAPI) passkeyCaller(r *http.Request, who *auth.Identity) error {
	if who == nil || who.Kind != auth.Session || who.IsRestricted() {
		return refuse(protocol.Forbidden, "only a user who has logged in may use passkeys")
	}
	if f := s.rates.allow(callerID(r, who)); f != nil {
		return f
	}
	return nil
}

// getPasskeys serves GET /seal/ACCOUNT/passkeys: those of the user.
func (s sealAPI) getPasskeys(w http.ResponseWriter, r *http.Request, who *auth.Identity, account string) error {
	if err := s.passkeyCaller(r, who); err != nil {
		return err
	}
	all, err := store.Passkeys(r.Context(), s.store, account, who.Name)
	if err != nil {
		return s.failed(err, protocol.UnknownAccount)
	}
	if all == nil {
		all = []store.Passkey{}
	}
	w.Header().Set("Cache-Control", "no-store")
	httpguard.Answer(w, http.StatusOK, all)
	return nil
}

// postPasskey serves POST /seal/ACCOUNT/passkeys. The server cannot read the text.
func (s sealAPI) postPasskey(w http.ResponseWriter, r *http.Request, who *auth.Identity, account string) error {
	if err := s.passkeyCaller(r, who); err != nil {
		return err
	}
	body, f := readAtMost(w, r, 2*maxPasskey)
	if f != nil {
		return f
	}
	var p store.Passkey
	switch err := json.Unmarshal(body, &p); {
	case err != nil || !protocol.IsID(account) || !protocol.IsID(p.Device):
		return refuse(protocol.BadMessage, "device must be an id, and text a text")
	case len(p.Text) > maxPasskey || !utf8.ValidString(p.Text):
		return refuse(protocol.TooLarge, "text has at most %d bytes", maxPasskey)
	}
	kind := "passkey_stored"
	if p.Text == "" {
		kind = "passkey_removed"
	}
	record := audit.Record{Kind: kind, Actor: who.Actor(), Subject: mustJSON(map[string]any{"account": account, "device": p.Device})}
	err := store.PutPasskey(r.Context(), s.store, account, who.Name, p, maxPasskeys, s.now(), record)
	if errors.Is(err, store.ErrTooMany) {
		return &Failure{Code: protocol.TooLarge, Why: "a user has at most 20 passkeys: forget a device that has one", Status: http.StatusConflict}
	}
	if err != nil {
		return s.failed(err, protocol.UnknownAccount)
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

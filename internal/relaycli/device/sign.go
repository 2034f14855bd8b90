package device

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/relaycli/connect"
	"github.com/concerto-lang/concerto/internal/relaycli/console"
	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/seal"
)

// StateFlag defines the flag that names the directory with the device's files.
func StateFlag(a *console.Console, c *cobra.Command, state *string) {
	c.Flags().StringVar(state, "state", console.DefaultState(a), "use the keys in `DIR` (default: ~/.local/state/concerto/hostd)")
	console.FromTable(c.Flags(), "state", "hostd")
}

// Signer signs and seals commands to a machine of the account. It is safe for concurrent use.
type Signer struct {
	device *Device
	server *connect.Endpoint
	host   string
	reader *Reader

	mu      sync.Mutex
	fresh   string    // token of the machine's time
	freshAt time.Time // when it was received
}

// JoinHint is the next step for a command line that is no device of an account.
const JoinHint = "on a device of the account: `concerto-relay devices add --by-code`; then here: `concerto-relay devices join CODE --server URL --token-file FILE`"

// NewSigner returns a signer for a machine of a server, or nil if the machine has no account. Its
// error is a *console.UsageError if the machine has one and this command line is no device of it.
func NewSigner(ctx context.Context, state string, server *connect.Endpoint, host string) (*Signer, error) {
	d, err := Load(state)
	if err != nil {
		return nil, err
	}
	name := console.DisplayText(host, 64)
	if d != nil {
		if err := d.refresh(ctx, server); err != nil {
			return nil, err
		}
		// A machine of the roster receives signed commands only, whatever the server reports.
		if m, ok := d.Roster.Member(host); ok && m.Kind == seal.Host {
			if !d.IsMember() {
				return nil, console.Usage(JoinHint, "this command line, %s, was removed from the account of machine %s", d.ID, name)
			}
			r, err := d.newReader(server, host)
			if err == nil {
				err = r.awaitKeys(ctx) // commands are sealed for the newest epoch
			}
			return &Signer{device: d, server: server, host: host, reader: r}, err
		}
	}
	account, err := accountOf(ctx, server, host)
	if err != nil || account == "" {
		return nil, err
	}
	if d != nil && d.Roster.Account() == account {
		return nil, console.Usage("on that machine: `concerto-relay seal status`", "machine %s is no member of the account of this command line any more", name)
	}
	return nil, console.Usage(JoinHint, "machine %s performs only commands that a device of its account has signed, and this command line is none", name)
}

// accountOf returns the account of a machine, or "". A token for single runs cannot read it: the
// machine then refuses the command itself.
func accountOf(ctx context.Context, server *connect.Endpoint, host string) (string, error) {
	var all []struct{ ID, Account string }
	err := server.Call(ctx, http.MethodGet, "/hosts", nil, &all)
	var refused *connect.ResponseError
	if errors.As(err, &refused) && refused.Code == protocol.Forbidden {
		return "", nil
	}
	for _, m := range all {
		if m.ID == host {
			return m.Account, err
		}
	}
	return "", err
}

// refresh reads the server's new lines of the roster. A server that has none, or does not answer,
// is no error: the machine checks the statement with its own roster.
func (d *Device) refresh(ctx context.Context, server *connect.Endpoint) error {
	text, err := server.API().Roster(ctx, d.Roster.Account(), d.Roster.Head().N-1)
	if err != nil {
		return nil
	}
	if err := d.Extend(text); err != nil {
		return ForkError(err)
	}
	return nil
}

// ForkError describes a fork to the user. It returns other errors unchanged.
func ForkError(err error) error {
	var why *seal.Refusal
	if errors.As(err, &why) && why.Code == seal.RosterFork {
		return console.Usage("`concerto-relay seal status` shows both lists", "the server has another list of members than this command line: %s (roster_fork)", why.Why)
	}
	return err
}

// Decide signs a decision about a request, as the server shows it.
func (s *Signer) Decide(run string, q *protocol.PermissionRequested, d protocol.Decide, decision string) (*connect.Command, error) {
	text, err := json.Marshal(q)
	if err != nil {
		return nil, err
	}
	sum, err := seal.HashRequest(text)
	if err != nil {
		return nil, err
	}
	st := seal.Statement{Run: run, Kind: seal.KindDecide, ID: q.RequestID, Fresh: q.Fresh, RequestSHA256: sum, ArgsSHA256: q.ArgsSHA256, Decision: decision, Scope: d.Scope}
	if st.Scope == "" {
		st.Scope = "once"
	}
	typ := protocol.RunApprove
	if decision == protocol.DecisionDeny {
		typ = protocol.RunDeny
	}
	return s.sign(st, typ, d)
}

// Sign signs a command to a run. id is that of the command's envelope.
func (s *Signer) Sign(ctx context.Context, kind, typ, run, id string, data any) (*connect.Command, error) {
	age := maxTokenAge
	if kind == seal.KindKeys {
		age = maxKeysAge
	}
	fresh, err := s.token(ctx, age)
	if err != nil {
		return nil, err
	}
	return s.sign(seal.Statement{Run: run, Kind: kind, ID: id, Fresh: fresh}, typ, data)
}

// sign completes a statement and returns the command with the signature.
func (s *Signer) sign(st seal.Statement, typ string, data any) (*connect.Command, error) {
	s.mu.Lock() // statements are signed in the order of their counters
	defer s.mu.Unlock()
	text, err := json.Marshal(data)
	if err != nil {
		return nil, err
	}
	st.Account, st.Host, st.Roster = s.device.Roster.Account(), s.host, s.device.Roster.Head()
	if st.Counter, st.After, err = s.device.next(s.host, st.Run, st.Kind == seal.KindInput || st.Kind == seal.KindKeys); err != nil {
		return nil, err
	}
	c, err := st.Sign(s.device.Keys, text, time.Now())
	if err != nil {
		return nil, err
	}
	return s.reader.sealCommand(typ, st.ID, c)
}

// Maximum ages of a token of the machine's time. The machine refuses keys after a minute.
const (
	maxKeysAge   = 30 * time.Second
	maxTokenAge  = 5 * time.Minute
	tokenTimeout = 5 * time.Second
)

// token returns a token of the machine's time that is not older than age. With a new token it reads
// the newest keys: a session can last longer than an epoch.
func (s *Signer) token(ctx context.Context, age time.Duration) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fresh != "" && time.Since(s.freshAt) < age {
		return s.fresh, nil
	}
	asked := time.Now()
	fresh, _, err := s.reader.beat(ctx)
	if err != nil {
		return "", err
	}
	s.reader.mu.Lock()
	err = s.reader.readKeys(ctx)
	s.reader.mu.Unlock()
	if err != nil {
		return "", err
	}
	s.fresh, s.freshAt = fresh, asked
	return s.fresh, nil
}

// infoOf reads what a machine reports about its account. It has a token of the machine's time.
func infoOf(ctx context.Context, server *connect.Endpoint, host string) (info protocol.SealInfo, err error) {
	ctx, cancel := context.WithTimeout(ctx, tokenTimeout)
	defer cancel()
	request := map[string]any{"type": protocol.RPCMachineInfo, "data": protocol.MachineRequest{RequestID: rand.Text(), MachineID: host}}
	var e struct {
		Data struct {
			Error  string               `json:"error"`
			Result protocol.MachineInfo `json:"result"`
		} `json:"data"`
	}
	if err := server.Call(ctx, http.MethodPost, "/rpc", request, &e); err != nil {
		return info, fmt.Errorf("read the time of machine %s: %w", console.DisplayText(host, 64), err)
	}
	if e.Data.Result.Fresh == "" {
		return info, fmt.Errorf("machine %s sent no time: %s", console.DisplayText(host, 64), console.DisplayText(e.Data.Error, 200))
	}
	return e.Data.Result.SealInfo, nil
}

// Refused handles a refusal of the machine. It reports whether the refused command was signed here.
// If an earlier input did not arrive, the next one follows the last that the machine has accepted.
func (s *Signer) Refused(run string, r *protocol.OwnRefused) bool {
	if r.Device != s.device.ID {
		return false
	}
	if r.Code == protocol.Reordered {
		s.mu.Lock()
		defer s.mu.Unlock()
		_ = s.device.setInput(s.host, run, r.After) // the next input reports an error of the disk
	}
	return true
}

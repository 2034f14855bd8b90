// Package sealer decides which commands of the server hostd performs on a machine with an account
// (relay/seal): only those that a device of the account has signed. It follows the roster at the
// server, stores that a statement is used before its command is performed, and records decisions
// and refusals in a ledger. Without an account it admits all commands.
//
// # Files
//
// The command line creates the account in STATE/seal, and then calls POST /seal/reload of hostd's
// socket. All files have the mode 0600, and are replaced atomically.
//
//	roster.ndjson  the verified roster; the machine has an account if it exists
//	keys.json      the machine's keys (seal.Keys)
//	fresh.key      the key of the machine's tokens; a new one invalidates earlier statements
//	epochs.json    the secrets of the epochs of which events are stored
//	keys.ndjson    their key records and those of the last month, which the server has, too
//	shares.json    the shares of runs, with their keys
//	devices.json   the state of each device, stored before its command is performed
//	fork.json      {at, why}, if the server has another roster: all commands are refused until the
//	               file is removed
//
// The directory cli in it belongs to the command line (internal/relaycli/device). hostd does not
// read it.
package sealer

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/concerto-lang/concerto/internal/record/audit"
	"github.com/concerto-lang/concerto/relay/hostd/link"
	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/seal"
)

// Options configures a Sealer.
type Options struct {
	State     string // the state directory of hostd
	MachineID string
	// Server returns a client of the relay's server. Nil means that there is none.
	Server func(context.Context) (Server, error)
	// SealEvents means that the events of new runs are sealed. Those of a run that began so remain
	// sealed without it.
	SealEvents bool
	Required   bool   // without an account, no event is accepted
	Name       string // of the machine, for the devices of the account; "" for none
	// Request returns an open request of a run, or nil.
	Request func(run, id string) *protocol.PermissionRequested
	// Ends returns the ends of the newest n sealed runs of an account. Nil means that there are
	// none.
	Ends func(account string, n int) map[string]seal.End
	// Spooled returns the lowest epoch of the events that the server may not have, or 0 if there
	// are none.
	Spooled func(context.Context) (int64, error)
	// IsLive reports whether a run has not ended.
	IsLive func(run string) bool
	// Refused commits that a command of a run was refused, as an event of the run. It does nothing
	// if the run is unknown or has ended.
	Refused func(run string, what protocol.OwnRefused) error
	// Changed is called when the machine has another account than before.
	Changed func()
	Log     *slog.Logger
	Now     func() time.Time // nil means time.Now
}

// Server has the rosters of accounts, and the keys that hosts have wrapped for devices. It is a
// *machineapi.Client.
type Server interface {
	// Roster returns the lines of a roster after a line, or machineapi.ErrUnknownAccount.
	Roster(ctx context.Context, account string, after int64) ([]byte, error)
	// Publish appends the lines of a roster that the server does not have.
	Publish(ctx context.Context, account string, text []byte) error
	// KeyRecords returns the key records of a machine after an epoch, or
	// machineapi.ErrUnknownAccount if there are none.
	KeyRecords(ctx context.Context, account, host string, after int64) ([]byte, error)
	PublishKeys(ctx context.Context, account string, record []byte) error
	PublishHistory(ctx context.Context, account, host, device string, history []byte) error
	PublishShare(ctx context.Context, account, share string, text []byte) error
	// OldestEpoch returns the lowest epoch of the stored events of a machine, or 0 if it is not
	// known. An older server returns machineapi.ErrUnsupported.
	OldestEpoch(ctx context.Context, account, host string) (int64, error)
}

// Sealer admits the commands of the server. It is safe for concurrent use.
type Sealer struct {
	o      Options
	dir    string
	follow chan struct{} // requests to read the server's roster

	mu       lock // guards the following
	account  *account
	ledger   *audit.Log
	results  results
	refusals refusals

	described time.Time // when Describe has called Follow
}

// lock is a mutex that is held while its holder writes a file. Virtual time, in which crashes are
// simulated, does not stop for those who wait for a channel.
type lock chan struct{}

func (l lock) Lock()   { l <- struct{}{} }
func (l lock) Unlock() { <-l }

// Open loads the account of the machine, if it has one.
func Open(o Options) (*Sealer, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &Sealer{o: o, dir: filepath.Join(o.State, "seal"), follow: make(chan struct{}, 1), mu: make(lock, 1)}
	a, err := loadAccount(s.dir, o.MachineID)
	if err != nil {
		return nil, err
	}
	s.account = a
	return s, s.openLedger()
}

// openLedger opens the ledger of a machine with an account.
func (s *Sealer) openLedger() (err error) {
	if s.account == nil || s.ledger != nil {
		return nil
	}
	s.ledger, err = audit.Open(filepath.Join(s.o.State, "ledger.ndjson"), audit.Options{What: "ledger", Bare: true, SyncEach: true, Now: s.o.Now})
	return err
}

// Close closes the ledger. Commands must not be admitted afterwards.
func (s *Sealer) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ledger == nil {
		return nil
	}
	return s.ledger.Close()
}

// Status describes the account, for the command line.
type Status struct {
	Account string                   `json:"account,omitempty"` // "" if there is none
	Epoch   int64                    `json:"epoch,omitempty"`   // the present one; 0 if no events were sealed
	Roster  *protocol.RosterPosition `json:"roster,omitempty"`
	Fork    string                   `json:"fork,omitempty"` // why commands are refused; "" if they are not
}

// Status returns the present state.
func (s *Sealer) Status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.account == nil {
		return Status{}
	}
	return Status{s.account.roster.Account(), s.account.epochs.Last.N, s.account.position(), s.account.fork}
}

// Reload reads the files again, which the command line has changed.
func (s *Sealer) Reload() (Status, error) {
	s.mu.Lock()
	was := s.account
	a, err := loadAccount(s.dir, s.o.MachineID)
	if err == nil && a != nil && was != nil {
		err = a.adopt(was)
	}
	if err == nil {
		s.account = a
		err = s.openLedger()
	}
	changed := err == nil && was.id() != a.id()
	s.mu.Unlock()
	if err != nil {
		return Status{}, err
	}
	if changed && s.o.Changed != nil {
		s.o.Changed()
	}
	s.Follow()
	return s.Status(), nil
}

// Info returns the account and a token, for rpc.host.info.
func (s *Sealer) Info() protocol.SealInfo {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.account == nil {
		return protocol.SealInfo{}
	}
	return protocol.SealInfo{Account: s.account.id(), Fresh: s.account.fresh.Token(s.o.Now()), Roster: s.account.position()}
}

// maxEnds is the maximum number of runs in a beat.
const maxEnds = 1000

// followPause is the minimum time between two readings of the roster that requests cause.
const followPause = time.Second

// Describe returns Info with a beat, if the machine seals events. A device calls it before it sends
// its first command, so that the machine reads the roster, in which the device may be new.
func (s *Sealer) Describe() protocol.SealInfo {
	out := s.Info()
	s.mu.Lock()
	if now := s.o.Now(); now.Sub(s.described) >= followPause {
		s.described = now
		s.Follow()
	}
	s.mu.Unlock()
	if s.o.Ends == nil || !s.Seals() {
		return out
	}
	ends := s.o.Ends(out.Account, maxEnds)
	s.mu.Lock()
	defer s.mu.Unlock()
	if a := s.account; a != nil && a.id() == out.Account {
		beat, err := seal.NewBeat(a.keys, a.id(), a.machine, ends, out.Fresh)
		if err != nil {
			s.o.Log.Error("could not sign the ends of the runs", "error", err)
			return out
		}
		out.Beat = beat
	}
	return out
}

// Account returns the id of the account, or "".
func (s *Sealer) Account() string { return s.Info().Account }

// Seals reports whether events of runs are sealed, so that the server must support it: those of new
// runs, or those of runs that began while events were sealed.
func (s *Sealer) Seals() bool {
	account := s.Account()
	return account != "" && (s.o.SealEvents || s.o.Ends != nil && len(s.o.Ends(account, 1)) > 0)
}

// Token returns a token of the machine's time, or "" without an account.
func (s *Sealer) Token() string { return s.Info().Fresh }

// refuse returns a refusal of this package.
func refuse(code seal.Code, format string, args ...any) *seal.Refusal {
	return &seal.Refusal{Code: code, Why: fmt.Sprintf(format, args...)}
}

// maxResults is the maximum number of outcomes of performed commands that are remembered.
const maxResults = 4096

// results contains the outcomes of the last performed commands by the hash of their statement. A
// command that the server sends again has the same outcome.
type results struct {
	of    map[string]link.Outcome
	order []string // oldest first
}

func (r *results) add(statement string, out link.Outcome) {
	if r.of == nil {
		r.of = map[string]link.Outcome{}
	}
	r.of[statement] = out
	if r.order = append(r.order, statement); len(r.order) > maxResults {
		delete(r.of, r.order[0])
		r.order = r.order[1:]
	}
}

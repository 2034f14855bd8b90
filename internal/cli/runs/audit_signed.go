package runs

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/data/decision"
	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/internal/data/secret"
	"github.com/concerto-lang/concerto/internal/process/userfile"
	"github.com/concerto-lang/concerto/internal/record/audit"
	"github.com/concerto-lang/concerto/internal/record/ledger"
	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/seal"
)

// signatures verifies and counts the signed decisions of a ledger.
type signatures struct {
	roster   *seal.Roster
	signed   int64 // by devices
	devices  map[string]bool
	guests   map[string]bool // of links
	local    int64
	unsigned int64
	redacted int64           // decisions of programs about arguments with secrets, which the ledger does not contain
	seen     map[string]bool // signatures of earlier records

	isMachine, isProgram bool // the ledger has signed decisions of a machine, of a program
}

// readRoster returns a verifier for the file of --roster, or nil without the flag.
func (cmd *verifyCommand) readRoster() (*signatures, error) {
	if cmd.roster == "" {
		if cmd.account != "" {
			return nil, console.Usage("add --roster FILE", "--account requires --roster")
		}
		return nil, nil
	}
	text, err := userfile.Read(cmd.console.Abs(cmd.roster), userfile.MaxText)
	if err != nil {
		return nil, console.Usage("name the file STATE/seal/roster.ndjson of a machine of the account", "read the roster %s: %v", cmd.roster, console.Cause(err))
	}
	r, err := seal.ParseRoster(text, cmd.account, seal.Position{})
	if err != nil {
		fmt.Fprintf(cmd.console.Stderr, "%s: the roster is invalid: %v\n", cmd.roster, err)
		return nil, console.ExitError(console.ExitBroken)
	}
	return &signatures{roster: r, devices: map[string]bool{}, guests: map[string]bool{}, seen: map[string]bool{}}, nil
}

func (cmd *verifyCommand) verifySigned(f io.Reader, path, head string, s *signatures) error {
	sum, err := audit.VerifyEach(f, path, head, s.check)
	if err != nil {
		return auditReadError(cmd.console, err)
	}
	hidden := ""
	if s.redacted > 0 {
		hidden = fmt.Sprintf(", %d with arguments that are not compared because of a secret", s.redacted)
	}
	guests := ""
	if len(s.guests) > 0 {
		guests = fmt.Sprintf(" and %d guests", len(s.guests))
	}
	_, err = fmt.Fprintf(cmd.console.Stdout, "%d records, %d decisions by %d devices%s, %d local, %d unsigned%s, head %s\n", sum.Records, s.signed, len(s.devices), guests, s.local, s.unsigned, hidden, sum.Head.Hash)
	return err
}

// Kinds of records that contain decisions: that of the ledger of a machine, and those of the ledger
// of a program, whose rules and models sign nothing.
const kindDecision = "decision"

var programDecisions = map[string]bool{hostmsg.Question: true, hostmsg.Approval: true, ledger.KindTool: true, ledger.KindAwait: true}

// signedData is the data of a record with a decision.
type signedData struct {
	Answer        json.RawMessage `json:"answer"`
	ArgsSHA256    string          `json:"args_sha256"`
	Asked         json.RawMessage `json:"asked"`
	Decision      string          `json:"decision"`
	Path          []ledger.Part   `json:"path"`
	RequestSHA256 string          `json:"request_sha256"`
	Scope         string          `json:"scope"`
	Seal          *seal.Signed    `json:"seal"`
}

// check verifies the decision in a record. The chain has no key: an attacker who writes the whole
// file again can change what is next to the signature.
func (s *signatures) check(l audit.Line) error {
	var d signedData
	var about struct {
		ID json.RawMessage `json:"id"`
	}
	isDecision := l.Kind == kindDecision
	if err := checkNames(l.Text); err != nil {
		return err
	}
	if err := errors.Join(checkNames(l.Data), checkNames(l.Subject), json.Unmarshal(l.Data, &d), json.Unmarshal(l.Subject, &about)); err != nil && (isDecision || programDecisions[l.Kind]) {
		return fmt.Errorf("the decision has another form: %w", err)
	}
	if d.Seal == nil {
		// If a handler asked a person at a place of the program, that has a record of kind await.
		if isDecision || programDecisions[l.Kind] && l.Actor.Type == "human" && l.Actor.At == "" {
			s.unsigned++
		}
		return nil
	}
	at, err := time.Parse(time.RFC3339, l.Time)
	if err != nil {
		return fmt.Errorf("the decision has no time: %w", err)
	}
	args := d.ArgsSHA256
	if !isDecision {
		if args, err = s.argsOf(&d); err != nil {
			return err
		}
	}
	st, by, err := s.roster.VerifyDecision(*d.Seal, at, args)
	if err != nil {
		return fmt.Errorf("the decision does not verify: %w", err)
	}
	id, _ := json.Marshal(st.ID) // a string
	name, local := by.User, "local"
	if isDecision {
		s.isMachine = true
	} else {
		s.isProgram, local = true, effect.ByRelay
	}
	if st.Local != nil {
		name = local
	}
	switch {
	case s.isMachine && s.isProgram:
		return errors.New("the file has signed decisions of a machine and of a program: each has its own ledger")
	case isDecision && (l.Run != st.Run || string(about.ID) != string(id) || d.Decision != st.Decision || d.Scope != st.Scope || d.RequestSHA256 != st.RequestSHA256),
		!isDecision && st.Decision == protocol.DecisionDeny && !isNo(l.Kind, d.Answer):
		return fmt.Errorf("the signature is for another decision: %s of request %s of run %s", st.Decision, st.ID, st.Run)
	case l.Actor.Name != name && !slices.ContainsFunc(d.Path, func(p ledger.Part) bool { return p.Name == name }):
		return fmt.Errorf("the decision is by %q, and its signature by %q", l.Actor.Name, name)
	case !isDecision && s.seen[d.Seal.Sig]:
		return fmt.Errorf("the signature is that of an earlier record: request %s of run %s", st.ID, st.Run)
	case s.seen[d.Seal.Sig]: // the machine was killed when it had recorded the decision
	case st.Local != nil:
		s.local++
	case d.Seal.Guest != nil:
		s.signed++
		s.guests[st.Device] = true
	default:
		s.signed++
		s.devices[st.Device] = true
	}
	s.seen[d.Seal.Sig] = true
	return nil
}

// argsOf returns the hash of the arguments that a program has asked about, or "" if there are none.
// If they contain a mark in the place of a secret, it returns the hash that was signed, and counts
// the record.
func (s *signatures) argsOf(d *signedData) (string, error) {
	var asked struct {
		Args json.RawMessage `json:"args"`
	}
	if json.Unmarshal(d.Asked, &asked) != nil || asked.Args == nil || string(asked.Args) == "null" {
		return "", nil
	}
	if !secret.HasMark(string(asked.Args)) {
		return decision.Hash(asked.Args), nil
	}
	var st seal.Statement
	if err := json.Unmarshal(d.Seal.Statement, &st); err != nil {
		return "", fmt.Errorf("the decision has another form: %w", err)
	}
	s.redacted++
	return st.ArgsSHA256, nil
}

// isNo reports whether a program can have received the answer to a request of a kind for a denial.
func isNo(kind string, answer json.RawMessage) bool {
	if kind == hostmsg.Approval || kind == ledger.KindTool {
		return !decision.Parse(answer).Allow
	}
	return slices.Contains([]string{"", "null", "false", `"no"`}, string(answer))
}

// checkNames returns an error if the name of a member of an object does not consist of lower-case
// letters, digits and underscores: for decoders that ignore case, such as that of package json,
// other names can be equal to those of the members.
func checkNames(text json.RawMessage) error {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(text, &all); err != nil {
		return err
	}
	for name := range all {
		if strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_") != "" {
			return fmt.Errorf("%q is no name of a member", name)
		}
	}
	return nil
}

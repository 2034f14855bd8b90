package guard

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/concerto-lang/concerto/internal/compile/manifest"
	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/hostpolicy"
	"github.com/concerto-lang/concerto/internal/record/audit"
	"github.com/concerto-lang/concerto/internal/record/ledger"
)

// kindRelease is the kind of records with which a person releases a stopped session.
const kindRelease = "guard_release"

// record is what the guard reads of a record of the ledger.
type record struct {
	Kind    string      `json:"kind"`
	Time    time.Time   `json:"time"`
	Actor   audit.Actor `json:"actor"`
	Subject struct {
		Host string `json:"host"`
	} `json:"subject"`
	Data struct {
		Asked struct {
			Args    json.RawMessage `json:"args"`
			Cwd     string          `json:"cwd"`
			Event   string          `json:"event"`
			Names   []string        `json:"names"`
			Project string          `json:"project"`
		} `json:"asked"`
		Call     string `json:"call"`
		Decision string `json:"decision"`
		Hash     string `json:"args_sha256"`
		MS       int64  `json:"ms"`
		Reason   string `json:"reason"`
		Tool     string `json:"tool"`
	} `json:"data"`
}

func readRecord(line []byte) (x record, err error) {
	err = json.Unmarshal(line, &x)
	return x, err
}

// isProbe reports whether the record is about a probe of `guard check`: its line was printed, or
// its file was not written.
func (x *record) isProbe() bool {
	c := contractOf(x.Subject.Host)
	if c == nil || !bytes.Contains(x.Data.Asked.Args, []byte(probeName)) {
		return false
	}
	call := Call{Agent: c.agent, Tool: x.Data.Tool, Dir: x.Data.Asked.Cwd, Args: x.Data.Asked.Args}
	if c.classify(&call, nil) != nil {
		return false
	}
	return call.isHarmless() || call.probe() == ProbeFile && x.Data.Decision == string(hostpolicy.Deny)
}

// stopped returns why the session is stopped after the record, or "".
func (x *record) stopped() string {
	if x.Actor.Name != stoppedBy {
		return ""
	}
	_, why, _ := strings.Cut(x.Data.Reason, " is stopped: ")
	return why
}

// lastLines returns the whole lines in the last bytes of a file, and whether these are all.
func lastLines(path string, size int64) (lines [][]byte, whole bool, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, false, err
	}
	text := make([]byte, min(info.Size(), size))
	if _, err := f.ReadAt(text, info.Size()-int64(len(text))); err != nil {
		return nil, false, err
	}
	whole = int64(len(text)) == info.Size()
	if !whole {
		_, text, _ = bytes.Cut(text, []byte("\n"))
	}
	if text = bytes.TrimSuffix(text, []byte("\n")); len(text) == 0 {
		return nil, whole, nil
	}
	return bytes.Split(text, []byte("\n")), whole, nil
}

// keepDays is the default of guard.keep.
const keepDays = 90

// prune removes the ledgers that are older than the policies require.
func (p *Places) prune(policies []*Policy, now time.Time) {
	days := keepDays
	for i, x := range policies {
		if n, ok := manifest.Days(x.rules.Keep); ok && (i == 0 || n < days) {
			days = n
		}
	}
	names, _ := filepath.Glob(filepath.Join(p.Guard(), "*.ndjson")) // the pattern is valid
	for _, name := range names {
		if info, err := os.Stat(name); err == nil && now.Sub(info.ModTime()) > time.Duration(days)*24*time.Hour {
			_ = os.Remove(name) // the next session tries again
		}
	}
}

// Session is a guarded session, as its ledger shows it.
type Session struct {
	ID       string    `json:"session"`
	Agent    string    `json:"agent"`
	Dir      string    `json:"dir"`
	Time     time.Time `json:"time"` // of the last record
	Tool     string    `json:"tool"`
	Decision string    `json:"decision"`
	Stopped  string    `json:"stopped,omitempty"` // why the session is stopped
}

// Sessions returns all sessions, the latest first, without those of `guard check`.
func (p *Places) Sessions() ([]Session, error) {
	names, err := filepath.Glob(filepath.Join(p.Guard(), "*.ndjson"))
	if err != nil {
		return nil, err
	}
	var all []Session
	for _, name := range names {
		lines, _, err := lastLines(name, verified)
		if err != nil {
			return nil, err
		}
		s := Session{ID: strings.TrimSuffix(filepath.Base(name), ".ndjson")}
		for i, line := range slices.Backward(lines) {
			x, err := readRecord(line)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			if x.isProbe() {
				s.Agent = ""
				break
			}
			if i == len(lines)-1 {
				s.Time, s.Agent, s.Tool, s.Decision, s.Stopped = x.Time, x.Subject.Host, x.Data.Tool, x.Data.Decision, x.stopped()
			}
			if s.Dir = x.Data.Asked.Cwd; s.Dir != "" {
				break
			}
		}
		if s.Agent != "" {
			all = append(all, s)
		}
	}
	slices.SortFunc(all, func(a, b Session) int { return cmp.Or(b.Time.Compare(a.Time), strings.Compare(a.ID, b.ID)) })
	return all, nil
}

// NotStoppedError means that a session cannot be released.
type NotStoppedError struct {
	Session string
	Unknown bool // there is no such session
}

func (e *NotStoppedError) Error() string {
	if e.Unknown {
		return fmt.Sprintf("there is no session %q", e.Session)
	}
	return fmt.Sprintf("session %s is not stopped", e.Session)
}

// Release records that a person allows further calls of a stopped session. It returns why the
// session was stopped. The error may be a *NotStoppedError.
func (p *Places) Release(session, person string) (why string, err error) {
	path := filepath.Join(p.Guard(), session+".ndjson")
	if _, err := os.Lstat(path); !sessionName().MatchString(session) || errors.Is(err, fs.ErrNotExist) {
		return "", &NotStoppedError{session, true}
	}
	h := Hook{Places: *p}
	log, err := h.open(path, time.Now())
	if err != nil {
		return "", err
	}
	defer log.Close()
	lines, _, err := lastLines(path, verified)
	if err != nil || len(lines) == 0 {
		return "", cmp.Or(err, error(&NotStoppedError{session, true}))
	}
	x, err := readRecord(lines[len(lines)-1])
	if err != nil {
		return "", err
	}
	if why = x.stopped(); why == "" {
		return "", &NotStoppedError{Session: session}
	}
	run, err := ledger.Begin(log, ledger.RunOptions{ID: session})
	if err != nil {
		return "", err
	}
	return why, run.Record(kindRelease, audit.Actor{Type: effect.ActorHuman, Name: person}, ledger.Subject{Host: &x.Subject.Host, ID: []byte(`""`)}, &ledger.Data{Decision: "released", Reason: why, Session: session})
}

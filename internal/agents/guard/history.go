package guard

import (
	"bytes"
	"cmp"
	"container/heap"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/hostmsg/request"
	"github.com/concerto-lang/concerto/internal/data/hostpolicy"
	"github.com/concerto-lang/concerto/internal/record/audit"
	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
)

// Past is a recorded decision about a call.
type Past struct {
	Time     time.Time       `json:"time"`
	Session  string          `json:"session"`
	Agent    string          `json:"agent"`
	Dir      string          `json:"dir"`
	Project  string          `json:"-"`
	Tool     string          `json:"tool"`
	Args     json.RawMessage `json:"args,omitempty"` // without secrets
	Decision string          `json:"decision"`
	Actor    audit.Actor     `json:"actor"`
	Reason   string          `json:"reason"`
	Ran      string          `json:"ran,omitempty"` // "ran" or "alarm" if the call was executed

	ID   string        `json:"call"`
	Hash string        `json:"args_sha256"` // of the arguments
	Took time.Duration `json:"-"`           // that the decision took

	event string
	names []string // see Call
}

// History returns the recorded decisions of all sessions since a time, the latest first, without
// those about probes.
func (p *Places) History(since time.Time) iter.Seq2[Past, error] {
	return func(yield func(Past, error) bool) {
		names, err := filepath.Glob(filepath.Join(p.Guard(), "*.ndjson"))
		if err != nil {
			yield(Past{}, err)
			return
		}
		var all readings
		for _, name := range names {
			if info, err := os.Stat(name); err == nil && !info.ModTime().Before(since) {
				// Until the file is read, the time of its last change is that of its last record.
				all = append(all, &reading{path: name, at: info.ModTime()})
			}
		}
		heap.Init(&all)
		for len(all) > 0 {
			s := all[0]
			if s.next == nil {
				s.open()
			} else if s.at.Before(since) || !yield(s.past, s.err) || s.err != nil {
				break
			}
			if !s.advance() {
				heap.Pop(&all)
				continue
			}
			heap.Fix(&all, 0)
		}
		for _, s := range all {
			s.close()
		}
	}
}

// reading is a ledger whose decisions are read from its end.
type reading struct {
	path string
	at   time.Time // of past
	past Past
	err  error
	next func() (Past, error, bool)
	stop func()
}

func (s *reading) open() {
	s.next, s.stop = iter.Pull2(decisions(s.path))
}

// advance reads the next decision, and returns false after the last one.
func (s *reading) advance() (ok bool) {
	if s.past, s.err, ok = s.next(); !ok {
		s.close()
		return false
	}
	if s.err == nil {
		s.at = s.past.Time
	}
	return true
}

func (s *reading) close() {
	if s.stop != nil {
		s.stop()
	}
}

// readings is a heap, the latest first.
type readings []*reading

func (s readings) Len() int           { return len(s) }
func (s readings) Less(i, j int) bool { return s[i].at.After(s[j].at) }
func (s readings) Swap(i, j int)      { s[i], s[j] = s[j], s[i] }
func (s *readings) Push(x any)        { *s = append(*s, x.(*reading)) }
func (s *readings) Pop() any {
	last := (*s)[len(*s)-1]
	*s = (*s)[:len(*s)-1]
	return last
}

// decisions returns the decisions in a ledger, the last one first.
func decisions(path string) iter.Seq2[Past, error] {
	return func(yield func(Past, error) bool) {
		ran := map[string]string{} // results of calls by id; a call is executed after its decision
		for line, err := range linesBackward(path) {
			var x record
			if err == nil {
				x, err = readRecord(line)
			}
			if err != nil {
				yield(Past{}, fmt.Errorf("%s: %w", path, err))
				return
			}
			switch x.Kind {
			case kindRan:
				ran[x.Data.Call] = x.Data.Decision
			case kindCall:
				if x.isProbe() {
					continue
				}
				p := Past{Time: x.Time, Session: strings.TrimSuffix(filepath.Base(path), ".ndjson"), Agent: x.Subject.Host, Dir: x.Data.Asked.Cwd, Project: x.Data.Asked.Project, Tool: x.Data.Tool,
					Args: x.Data.Asked.Args, Decision: x.Data.Decision, Actor: x.Actor, Reason: x.Data.Reason, Ran: ran[x.Data.Call], ID: x.Data.Call, Hash: x.Data.Hash, Took: time.Duration(x.Data.MS) * time.Millisecond, event: x.Data.Asked.Event, names: x.Data.Asked.Names}
				if !yield(p, nil) {
					return
				}
			}
		}
	}
}

// linesBackward returns the whole lines of a file, the last one first.
func linesBackward(path string) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		f, err := os.Open(path)
		if err != nil {
			yield(nil, err)
			return
		}
		defer f.Close()
		at, err := f.Seek(0, io.SeekEnd)
		var rest []byte // begin of a line whose end was not yet read
		for err == nil && at > 0 {
			part := make([]byte, min(at, verified))
			at -= int64(len(part))
			if _, err = f.ReadAt(part, at); err != nil {
				break
			}
			text := append(part, rest...)
			for {
				i := bytes.LastIndexByte(text, '\n')
				if i < 0 {
					break
				}
				if line := text[i+1:]; len(line) > 0 && !yield(line, nil) {
					return
				}
				text = text[:i]
			}
			rest = slices.Clone(text)
		}
		if err != nil {
			yield(nil, err)
		} else if len(rest) > 0 {
			yield(rest, nil)
		}
	}
}

// call returns the call again, for another decision.
func (p *Past) call() (*Call, error) {
	c := contractOf(p.Agent)
	switch {
	case c == nil:
		return nil, fmt.Errorf("unknown agent %q", p.Agent)
	case p.Args == nil:
		return nil, errors.New("the arguments are not recorded")
	}
	call := &Call{Agent: p.Agent, Tool: p.Tool, Dir: p.Dir, Project: p.Project, Args: p.Args}
	if err := c.classify(call, nil); err != nil {
		return nil, err
	}
	if p.names != nil {
		call.Kind, call.names = "mcp", p.names
	}
	return call, nil
}

// verdict returns the decision of the rules: a decision of a person, or without one, was a
// question.
func (p *Past) verdict() hostpolicy.Verdict {
	if p.Actor.Type == effect.ActorHuman || p.Actor.Name == byUnattended {
		return hostpolicy.Ask
	}
	return hostpolicy.Verdict(p.Decision)
}

// answer returns what a person has decided, or "" if none has: directly, or in the agent's own
// dialog, after which an allowed call runs.
func (p *Past) answer() hostpolicy.Verdict {
	switch {
	case p.Actor.Type == effect.ActorHuman:
		return hostpolicy.Verdict(p.Decision)
	case p.Decision != string(hostpolicy.Ask):
		return ""
	case p.Ran != "":
		return hostpolicy.Allow
	}
	return hostpolicy.Deny
}

// Difference is a call about which the policy decides otherwise than it did.
type Difference struct {
	Was   hostpolicy.Verdict `json:"was"`
	Now   hostpolicy.Verdict `json:"now"`
	By    string             `json:"by"` // reason of the decision now
	Times int                `json:"times"`
	Last  Past               `json:"last"`
}

// Replayed is the result of a replay.
type Replayed struct {
	Calls       int          `json:"calls"`
	Skipped     int          `json:"skipped"` // calls that are not recorded completely
	Differences []Difference `json:"differences"`
}

// Replay decides about the recorded calls since a time again, by the policies as they are now.
func (p *Places) Replay(since time.Time) (*Replayed, error) {
	out := &Replayed{Differences: []Difference{}}
	type key struct{ agent, tool, hash, dir, was string }
	at := map[key]int{}
	for past, err := range p.History(since) {
		if err != nil {
			return nil, err
		}
		call, err := past.call()
		if past.Actor.Name == stoppedBy || err != nil {
			out.Skipped++
			continue
		}
		out.Calls++
		was := past.verdict()
		k := key{past.Agent, past.Tool, past.Hash, past.Dir, string(was)}
		if i, ok := at[k]; ok {
			if i >= 0 {
				out.Differences[i].Times++
			}
			continue
		}
		now := p.Decide(call)
		if at[k] = -1; now.Verdict != was {
			at[k] = len(out.Differences)
			out.Differences = append(out.Differences, Difference{was, now.Verdict, now.Reason, 1, past})
		}
	}
	slices.SortStableFunc(out.Differences, func(a, b Difference) int {
		return cmp.Compare(slices.Index(strictness, a.Now), slices.Index(strictness, b.Now)) // what is loosened is first
	})
	return out, nil
}

// Text returns the call in one line: its title, and a command itself.
func (p *Past) Text() string {
	kind := ""
	if c := contractOf(p.Agent); c != nil {
		if kind = c.kind(p.Tool); kind == inside || kind == "other" {
			kind = ""
		}
	}
	payload, err := jsonwrite.Encode(map[string]any{"tool": p.Tool, "kind": kind, "args": p.Args})
	if err != nil {
		return p.Tool
	}
	v := request.Of(payload, nil)
	if v.Command != "" {
		first, rest, _ := strings.Cut(v.Command, "\n")
		if rest != "" {
			first += " …"
		}
		return first
	}
	return v.Title
}

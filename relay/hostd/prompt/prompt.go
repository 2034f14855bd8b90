// Package prompt detects questions on a terminal (spec/relay.md). It matches regular expressions
// against the visible text.
package prompt

import (
	_ "embed"
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/concerto-lang/concerto/internal/process/userfile"
	"github.com/concerto-lang/concerto/internal/text/tomlkeys"
)

// Tail is the number of bytes at the end of a run's output that are searched for questions. Quiet
// is the time without output after which they are searched.
const (
	Tail  = 4 << 10
	Quiet = 250 * time.Millisecond
)

// Rule describes how one kind of question is detected and answered.
type Rule struct {
	Tool    string `toml:"tool"` // name of the tool; * matches all tools
	Match   string `toml:"match"`
	Reason  string `toml:"reason"` // permission, choice, prompt or unknown
	Approve string `toml:"approve"`
	Deny    string `toml:"deny"`

	match *regexp.Regexp
}

// Rules is a list of rules, of which the first match applies.
type Rules []Rule

//go:embed prompts.toml
var embedded string

// Load returns the rules in a file, followed by the built-in rules. If file is "", it returns only
// the built-in rules. An error contains the file and the number of the rule.
func Load(file string) (Rules, error) {
	own, err := parse("prompts.toml", embedded)
	if err != nil || file == "" {
		return own, err
	}
	text, err := userfile.Read(file, userfile.MaxText)
	if err != nil {
		return nil, fmt.Errorf("could not read the prompt rules: %w", err)
	}
	users, err := parse(file, string(text))
	return append(users, own...), err
}

func parse(file, text string) (Rules, error) {
	var table struct {
		Prompt Rules `toml:"prompt"`
	}
	meta, err := tomlkeys.Decode(text, &table)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if odd := meta.Undecoded(); len(odd) > 0 {
		return nil, fmt.Errorf("%s: unknown key %s: a [[prompt]] has tool, match, reason, approve, deny", file, odd[0])
	}
	for i := range table.Prompt {
		if err := table.Prompt[i].compile(); err != nil {
			return nil, fmt.Errorf("%s: [[prompt]] %d: %w", file, i+1, err)
		}
	}
	return table.Prompt, nil
}

func (r *Rule) compile() (err error) {
	switch r.Reason {
	case "permission", "choice", "prompt", "unknown":
	case "":
		r.Reason = "permission"
	default:
		return fmt.Errorf("reason %q is invalid: it must be permission, choice, prompt or unknown", r.Reason)
	}
	if r.Tool == "" || r.Match == "" {
		return fmt.Errorf("tool and match are required; tool may be *")
	}
	if r.match, err = regexp.Compile(r.Match); err != nil {
		return fmt.Errorf("match: %w", err)
	}
	return nil
}

// Find returns the first rule that matches the visible text of a tool's terminal, and the question.
// It returns nil if no rule matches.
func (rules Rules) Find(tool, shown string) (*Rule, string) {
	for _, of := range []string{tool, "*"} {
		for i := range rules {
			r := &rules[i]
			if r.Tool != of {
				continue
			}
			if at := r.match.FindStringIndex(shown); at != nil {
				return r, question(shown, at)
			}
		}
	}
	return nil, ""
}

// MaxQuestion is the maximum length of a question in characters.
const MaxQuestion = 500

// question returns the text from the beginning of the line in which the match begins.
func question(shown string, at []int) string {
	text := shown[strings.LastIndexByte(shown[:at[0]], '\n')+1:]
	return Short(text)
}

// Short returns the last MaxQuestion characters of a text.
func Short(text string) string {
	text = strings.TrimSpace(text)
	if n := utf8.RuneCountInString(text); n > MaxQuestion {
		runes := []rune(text)
		text = string(runes[n-MaxQuestion:])
	}
	return text
}

package workdirfs

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/concerto-lang/concerto/relay/protocol"
)

// Limits of a search.
const (
	MaxMatches    = 200
	MaxMatchText  = 500 // maximum length of a matching line in characters
	SearchTimeout = 10 * time.Second

	searchOutput = 16 << 20 // maximum output of ripgrep in bytes
)

// Search searches the files below the directory with a ripgrep pattern.
func (s *Scope) Search(ctx context.Context, q protocol.Search) (*protocol.SearchResult, error) {
	if strings.ContainsRune(q.Q, 0) {
		return nil, errorf(protocol.BadPattern, "a pattern must not contain NUL")
	}
	ctx, cancel := context.WithTimeout(ctx, SearchTimeout)
	defer cancel()
	out, err := s.run(ctx, searchOutput, nil, "rg", "--no-config", "--json", "-e", q.Q, "--", ".")
	if err != nil {
		return nil, err
	}
	found := &protocol.SearchResult{Matches: []protocol.Match{}, Truncated: out.truncated}
	var all []*protocol.Match
	for line := range bytes.Lines(out.stdout) {
		m, ok := parseMatch(line)
		if !ok {
			continue
		}
		if len(all) == MaxMatches {
			found.Truncated = true
			break
		}
		all = append(all, &m)
	}
	slices.SortFunc(all, func(a, b *protocol.Match) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line))
	})
	for _, m := range all {
		found.Matches = append(found.Matches, *m)
	}
	// Exit code 1 means that nothing matches. Exit code 2 means an error, possibly in only some of
	// the files.
	if out.exit.Code == 2 && len(found.Matches) == 0 && strings.Contains(out.exit.Stderr, "regex") {
		return nil, errorf(protocol.BadPattern, "%s", out.exit.Stderr)
	}
	return found, nil
}

// parseMatch parses a line of ripgrep's JSON output. ok is false if the line is not a match.
func parseMatch(line []byte) (protocol.Match, bool) {
	var m struct {
		Type string `json:"type"`
		Data struct {
			Path       struct{ Text string }   `json:"path"`
			Lines      struct{ Text string }   `json:"lines"`
			LineNumber int64                   `json:"line_number"`
			Submatches []struct{ Start int64 } `json:"submatches"`
		} `json:"data"`
	}
	if json.Unmarshal(line, &m) != nil || m.Type != "match" || len(m.Data.Submatches) == 0 || m.Data.Path.Text == "" {
		return protocol.Match{}, false // matches whose path or line is not UTF-8 are omitted
	}
	text := strings.TrimRight(m.Data.Lines.Text, "\r\n")
	if utf8.RuneCountInString(text) > MaxMatchText {
		text = string([]rune(text)[:MaxMatchText])
	}
	return protocol.Match{Path: strings.TrimPrefix(m.Data.Path.Text, "./"), Line: m.Data.LineNumber, Column: m.Data.Submatches[0].Start + 1, Text: text}, true
}

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/concerto-lang/concerto/internal/agents"
	"github.com/concerto-lang/concerto/internal/record/hosttrace"
)

// rule describes the changes to a recording; it is the recording's first line.
const rule = "Paths of the machine, its ports, ids and times are replaced. In lines of more than 3000 bytes, lists are cut after 3 elements and texts after 300 characters."

// Limits for the length of texts in recordings.
const (
	longLine = 3000
	longList = 3
	longText = 300
)

var (
	ids    = regexp.MustCompile(`\b(?:[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|(?:ses|msg|prt|req|call)_[0-9a-zA-Z]{12,})\b`)
	stamps = regexp.MustCompile(`\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z`)
	// Dates in paths, and times in file names.
	days    = regexp.MustCompile(`/20\d\d/\d\d/\d\d/`)
	named   = regexp.MustCompile(`\b20\d\d-\d\d-\d\dT\d\d-\d\d-\d\d`)
	moment  = regexp.MustCompile(`1[78]\d{11}`)       // milliseconds since 1970, as in ids
	sockets = regexp.MustCompile(`/tmp/cc-socks/\d+`) // of Claude Code, with the id of its process
	// Members with times or process ids.
	times     = regexp.MustCompile(`("(?:\w+(?:Ms|_ms|At|AtMs)|duration|timestamp|created|updated|start|end|time|pid)":\s*)\d+(?:\.\d+)?`)
	processes = regexp.MustCompile(`("processId":\s*")\d+`)
)

// recording holds the messages of a conversation.
type recording struct {
	lines []hosttrace.Line
	hide  []hidden
}

// hidden is a text of this machine and its replacement in recordings.
type hidden struct{ text, shown string }

// newRecording reads a recording of the command.
func newRecording(from *agents.Recording, bin string) (*recording, error) {
	flat := strings.ReplaceAll(from.Dir, "/", "-") // the name that Claude Code derives from the directory's path
	r := &recording{hide: []hidden{{flat, "-work"}, {from.Dir, "/work"}, {from.Home, "/home/user"}, {from.Temp, "/tmp"}, {from.URL, "http://127.0.0.1:1"}, {bin, "/npm"}}}
	_, lines, _ := strings.Cut(from.Wire, "\n") // after the header
	for text := range strings.Lines(lines) {
		var l hosttrace.Line
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			return nil, err
		}
		r.lines = append(r.lines, l)
	}
	return r, nil
}

// text returns the contents of the recording's file.
func (r *recording) text(a *agents.Agent) []byte {
	replaced := map[string]string{}
	var b bytes.Buffer
	w := hosttrace.NewWriter(&b, struct {
		hosttrace.Header
		Agent string `json:"agent"`
		Rule  string `json:"rule"`
	}{hosttrace.Header{Version: hosttrace.Version, Started: "2026-01-01T00:00:00Z", Program: "main.conc"}, a.Package + "@" + a.Version, rule}, func() float64 { return 0 })
	for _, l := range r.lines {
		l.Session, l.Text = r.clean(l.Session, replaced), r.clean(shortenLine(l.Text), replaced)
		w.Add(l)
	}
	return b.Bytes()
}

// clean replaces texts that depend on the machine and the time.
func (r *recording) clean(line string, replaced map[string]string) string {
	for _, h := range r.hide {
		line = strings.ReplaceAll(line, h.text, h.shown)
	}
	line = ids.ReplaceAllStringFunc(line, func(id string) string {
		if replaced[id] == "" {
			kind, _, found := strings.Cut(id, "_")
			if replaced[id] = fmt.Sprintf("%s_%08d", kind, len(replaced)+1); !found {
				replaced[id] = fmt.Sprintf("00000000-0000-4000-8000-%012d", len(replaced))
			}
		}
		return replaced[id]
	})
	line = sockets.ReplaceAllString(line, "/socks/0")
	line = moment.ReplaceAllString(line, "1700000000000")
	line = stamps.ReplaceAllString(line, "2026-01-01T00:00:00.000Z")
	line = days.ReplaceAllString(line, "/2026/01/01/")
	line = named.ReplaceAllString(line, "2026-01-01T00-00-00")
	return processes.ReplaceAllString(times.ReplaceAllString(line, "${1}0"), "${1}0")
}

// shortenLine shortens a long line of JSON.
func shortenLine(line string) string {
	if len(line) <= longLine {
		return line
	}
	d := json.NewDecoder(strings.NewReader(line))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return line
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(shorten(v)); err != nil {
		panic(err) // line was valid JSON
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func shorten(v any) any {
	switch v := v.(type) {
	case string:
		if runes := []rune(v); len(runes) > longText {
			return string(runes[:longText]) + "…"
		}
	case []any:
		if len(v) > longList {
			v = v[:longList]
		}
		for i := range v {
			v[i] = shorten(v[i])
		}
		return v
	case map[string]any:
		for k := range v {
			v[k] = shorten(v[k])
		}
	}
	return v
}

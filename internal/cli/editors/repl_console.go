package editors

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/data/secret"
	"github.com/concerto-lang/concerto/internal/editor/repl"
	"github.com/concerto-lang/concerto/internal/term/screen"
	"github.com/concerto-lang/concerto/internal/term/terminal"
)

// openLines returns the source of lines. end restores the terminal.
func openLines(a *console.Console) (c lineSource, end func()) {
	switch {
	case !a.TTY.In:
		return &piped{bufio.NewReader(a.Stdin)}, func() {}
	case !a.TTY.ErrScreen || a.TTY.Raw == nil:
		return &dumb{piped{bufio.NewReader(a.Stdin)}, a}, func() {}
	}
	end = a.BeginDrawing()
	h := &history{path: a.StateFile("repl_history"), secrets: &secret.Set{}}
	h.secrets.AddFromEnviron(a.Environ)
	h.load()
	return &drawn{screen: a.Bottom(), history: h, color: a.TTY.Color}, end
}

// dumb reads lines from a terminal that cannot redraw lines.
type dumb struct {
	piped
	app *console.Console
}

func (d *dumb) next(ctx context.Context, prompt string) (string, error) {
	fmt.Fprint(d.app.Stderr, prompt)
	return d.piped.next(ctx, prompt)
}

func (d *dumb) interactive() bool { return true }

// drawn reads lines from a terminal with line editing: Tab completes, the arrow keys recall
// entries, and the input is coloured.
type drawn struct {
	screen  *screen.Screen
	history *history
	session *repl.Session
	color   bool
	before  string // the earlier lines of the input
	at      int    // index of the shown entry in the history
	typed   string // the unfinished input, while an earlier entry is shown
}

func (d *drawn) interactive() bool          { return true }
func (d *drawn) setSession(s *repl.Session) { d.session = s }
func (d *drawn) remember(entry string)      { d.history.add(entry) }

func (d *drawn) next(ctx context.Context, prompt string) (string, error) {
	if prompt == firstPrompt {
		d.before = ""
	}
	d.at, d.typed = len(d.history.entries), ""
	line, err := d.screen.Ask(ctx, screen.Prompt{Label: prompt, Help: d})
	if errors.Is(err, screen.ErrCancelled) {
		d.screen.PrintAbove(prompt + "^C")
		return "", console.ErrInterrupted
	}
	if err != nil {
		return "", err
	}
	shown := screen.Painted(terminal.Escape(line), d.Paint(line))
	d.screen.PrintAbove(prompt + strings.ReplaceAll(shown, "\n", "\n"+furtherPrompt))
	d.before += line + "\n"
	return line, nil
}

// Complete completes the word before the cursor, up to the common prefix of all candidates.
func (d *drawn) Complete(text string, at int) (completed string, to int, choices []string) {
	line := []rune(text)
	bytes := len(string(line[:at]))
	c := d.complete(text, bytes)
	if len(c.Items) == 0 {
		return text, at, nil
	}
	common := c.Items[0]
	for _, item := range c.Items[1:] {
		for !strings.HasPrefix(item, common) {
			common = common[:len(common)-1]
		}
	}
	for !utf8.ValidString(common) {
		common = common[:len(common)-1]
	}
	typed := text[c.From:bytes]
	if len(common) <= len(typed) {
		common = typed
		if len(c.Items) > 1 {
			choices = c.Items[:min(len(c.Items), mostChoices)]
			if more := len(c.Items) - len(choices); more > 0 {
				choices = append(choices[:len(choices):len(choices)], fmt.Sprintf("… %d more", more))
			}
		}
	}
	return text[:c.From] + common + text[bytes:], utf8.RuneCountInString(text[:c.From] + common), choices
}

// mostChoices is the maximum number of candidates that are shown.
const mostChoices = 40

// complete returns the candidates for the word before the cursor: names of the session, or the
// session's commands.
func (d *drawn) complete(text string, at int) repl.Completion {
	if strings.HasPrefix(text, ":") && d.before == "" && !strings.Contains(text[:at], " ") {
		c := repl.Completion{From: 0, To: at}
		for _, x := range sessionActions {
			if name := ":" + x.name; strings.HasPrefix(name, text[:at]) {
				c.Items = append(c.Items, name)
			}
		}
		return c
	}
	skip := 0
	if name, _, is := sessionCommand(text); is && d.before == "" {
		skip = min(len(name)+2, at)
	}
	if d.session == nil {
		return repl.Completion{From: at, To: at}
	}
	whole := d.before + text[skip:]
	c := d.session.Complete(context.Background(), whole, len(d.before)+at-skip)
	c.From += skip - len(d.before)
	c.To += skip - len(d.before)
	if c.From < 0 {
		return repl.Completion{From: at, To: at}
	}
	return c
}

// sgr maps token classes to the parameters of ANSI colour sequences.
var sgr = map[repl.TokenClass]string{repl.Keyword: "35", repl.Text: "32", repl.Number: "33", repl.Comment: "90", repl.TypeName: "36", repl.Function: "34"}

// Paint returns the colours of the input.
func (d *drawn) Paint(text string) (all []screen.Paint) {
	if !d.color || d.session == nil || strings.HasPrefix(text, ":") {
		return nil
	}
	for _, c := range d.session.Highlight(context.Background(), d.before+text) {
		from, to := max(c.From-len(d.before), 0), c.To-len(d.before)
		if to > from && to <= len(text) {
			all = append(all, screen.Paint{From: utf8.RuneCountInString(text[:from]), To: utf8.RuneCountInString(text[:to]), Code: sgr[c.Class]})
		}
	}
	return all
}

// Earlier returns the previous entry.
func (d *drawn) Earlier(text string) (string, bool) {
	if d.at == 0 {
		return "", false
	}
	if d.at == len(d.history.entries) {
		d.typed = text
	}
	d.at--
	return d.history.entries[d.at], true
}

// Later returns the next entry. After the last entry it returns the unfinished input.
func (d *drawn) Later(string) (string, bool) {
	if d.at >= len(d.history.entries) {
		return "", false
	}
	if d.at++; d.at == len(d.history.entries) {
		return d.typed, true
	}
	return d.history.entries[d.at], true
}

// history contains the entries of this session and of earlier ones.
type history struct {
	path    string // "" if entries are not stored
	entries []string
	secrets *secret.Set
}

// continued marks the second and later lines of an entry in the file.
const continued = "\t"

// mostHistory is the maximum number of stored entries.
const mostHistory = 1000

// load reads the entries of earlier sessions. It ignores errors.
func (h *history) load() {
	if h.path == "" {
		return
	}
	text, _ := os.ReadFile(h.path)
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		if more, ok := strings.CutPrefix(line, continued); ok && len(h.entries) > 0 {
			h.entries[len(h.entries)-1] += "\n" + more
		} else if line != "" {
			h.entries = append(h.entries, line)
		}
	}
	if over := len(h.entries) - mostHistory; over > 0 {
		h.entries = h.entries[over:]
		var latest strings.Builder
		for _, entry := range h.entries {
			latest.WriteString(encodeEntry(entry))
		}
		_ = os.WriteFile(h.path, []byte(latest.String()), 0o600)
	}
}

// encodeEntry returns an entry in the format of the history file.
func encodeEntry(entry string) string { return strings.ReplaceAll(entry, "\n", "\n"+continued) + "\n" }

// add adds an entry, unless it begins with a space or contains a secret.
func (h *history) add(entry string) {
	last := len(h.entries) > 0 && h.entries[len(h.entries)-1] == entry
	if strings.TrimSpace(entry) == "" || entry[0] == ' ' || h.secrets.Contains(entry) || last {
		return
	}
	h.entries = append(h.entries, entry)
	if h.path == "" || os.MkdirAll(filepath.Dir(h.path), 0o700) != nil {
		return
	}
	f, err := os.OpenFile(h.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	_, _ = f.WriteString(encodeEntry(entry)) // a failed write is ignored: only the history is lost
	_ = f.Close()
}

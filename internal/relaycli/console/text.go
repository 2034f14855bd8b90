package console

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"github.com/concerto-lang/concerto/internal/term/terminal"
	"github.com/concerto-lang/concerto/relay/protocol"
)

// DisplayText returns an untrusted text as one line without control characters, cut to a width of
// maxCells.
func DisplayText(text string, maxCells int) string {
	return terminal.Cut(terminal.OneLine(strings.NewReplacer("\n", " ", "\t", " ").Replace(text)), maxCells)
}

// RequestText returns an untrusted text as one line, cut to a width of maxCells. It shows line ends
// as ⏎, and appends the number of omitted characters.
func RequestText(text string, maxCells int) string {
	line := strings.ReplaceAll(text, "\n", "⏎")
	short := DisplayText(line, maxCells)
	if cut := utf8.RuneCountInString(terminal.OneLine(line)) - utf8.RuneCountInString(short) + 1; strings.HasSuffix(short, "…") && cut > 1 {
		short += fmt.Sprintf(" (%d more characters)", cut)
	}
	return short
}

// TextOf returns the content of a JSON string, and the JSON text of any other value.
func TextOf(v json.RawMessage) string {
	var text string
	if json.Unmarshal(v, &text) == nil {
		return text
	}
	return string(v)
}

const (
	MostPrompt = 500  // maximum width of a prompt, in cells
	MostArgs   = 2000 // maximum width of arguments, in cells
	MostValue  = 200  // maximum width of an answer or message, in cells
)

// DecisionText returns a decision as text, followed by the value of an answer.
func DecisionText(decision string, answer json.RawMessage) string {
	switch decision {
	case protocol.DecisionApprove:
		return "approved"
	case protocol.DecisionDeny:
		return "denied"
	case protocol.DecisionAnswer:
		if answer == nil {
			return "answered"
		}
		return "answered " + RequestText(string(answer), MostValue)
	}
	return DisplayText(decision, 20) // such as withdrawn or expired
}

// ShellLine returns a command line for the shell. A single argument is a complete command line and
// remains unchanged; otherwise each argument is quoted as one word.
func ShellLine(args []string) string {
	if len(args) == 1 {
		return args[0]
	}
	words := make([]string, len(args))
	for i, arg := range args {
		words[i] = ShellWord(arg)
	}
	return strings.Join(words, " ")
}

// ShellWord quotes a text, if necessary, so that the shell reads it as one word.
func ShellWord(text string) string {
	if plain.MatchString(text) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// ToolOf returns the name of the program that args execute, or bash if the name is not a plain
// word.
func ToolOf(args []string) string {
	first := args[0]
	if words := strings.Fields(first); len(args) == 1 && len(words) > 0 {
		first = words[0]
	}
	name := filepath.Base(first)
	if !plain.MatchString(name) || len(name) > 64 {
		return "bash"
	}
	return name
}

var plain = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./-]+$`)

// PrintJSON prints a value as one line of JSON.
func (a *Console) PrintJSON(v any) error {
	text, err := json.Marshal(v)
	if err == nil {
		_, err = fmt.Fprintf(a.Stdout, "%s\n", text)
	}
	return err
}

// JSONLines writes each value as one line of JSON.
func JSONLines[T any](w io.Writer, all []T) error {
	out := json.NewEncoder(w)
	for _, v := range all {
		if err := out.Encode(v); err != nil {
			return err
		}
	}
	return nil
}

// Table writes rows in aligned columns.
func Table(w io.Writer, rows [][]string) error {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		for i, cell := range row {
			if cell == "" {
				row[i] = "-"
			}
		}
		fmt.Fprintln(out, strings.Join(row, "\t"))
	}
	return out.Flush()
}

// FirstLine returns the first line of an input without its line end.
func FirstLine(in io.Reader) (string, error) {
	line, err := bufio.NewReader(io.LimitReader(in, 4096)).ReadString('\n')
	if err != nil && err != io.EOF {
		return "", fmt.Errorf("read a password: %w", err)
	}
	return strings.TrimRight(line, "\r\n"), nil
}

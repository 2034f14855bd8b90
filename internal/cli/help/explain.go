// Package help has the commands that explain: explain, doc, version, the manual pages and the
// completion scripts.
package help

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/text/suggest"
)

func NewExplain(a *console.Console) *cobra.Command {
	return &cobra.Command{
		Use:   "explain [CODE | WORD]",
		Short: "Explain a diagnostic",
		Long: `Explains an error or warning, with a wrong and a corrected program. WORD searches the titles.
Without an argument, explain lists all diagnostics.`,
		Example: `  concerto explain E0801
  concerto explain 301     explain E0301 or W0301
  concerto explain import  find diagnostics with the word in the title`,
		Args: console.OnePath(false),
		ValidArgsFunction: func(*cobra.Command, []string, string) (codes []string, _ cobra.ShellCompDirective) {
			for _, i := range diag.Catalogue() {
				codes = append(codes, i.Code+"\t"+i.Title)
			}
			return codes, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(c *cobra.Command, args []string) error {
			text, _ := console.Path(c, args)
			return explain(a.Stdout, text)
		},
	}
}

// explain writes the page of the diagnostic that text names. If text names several diagnostics, it
// writes a list.
func explain(w io.Writer, text string) error {
	if text == "" {
		return list(w, diag.Catalogue())
	}
	found, code := find(text)
	switch len(found) {
	case 0:
		return unknown(text, code)
	case 1:
		return WriteDiagnostic(w, found[0])
	}
	return list(w, found)
}

// unknown returns the error for a text that names no diagnostic. code is the text as a full code,
// or "".
func unknown(text, code string) error {
	var codes []string
	for _, i := range diag.Catalogue() {
		codes = append(codes, i.Code)
	}
	hint := "`concerto explain` lists the codes"
	if near := suggest.Nearest(code, codes); near != "" {
		hint = "did you mean " + near + "?"
	}
	if code == "" {
		return console.Usage(hint, "no diagnostic has the code %s, or %q in its title", strings.ToUpper(text), text)
	}
	return console.Usage(hint, "no diagnostic has the code %s", code)
}

// find returns the diagnostics that text names: by a code, whose letter and leading zeros may be
// omitted, or by a part of a title. code is the text as a full code, or "" if the text is not a
// code.
func find(text string) (found []*diag.Info, code string) {
	letters := strings.ToUpper(strings.TrimRight(text, "0123456789"))
	if digits := text[len(letters):]; digits != "" && (letters == "" || letters == "E" || letters == "W") {
		digits = strings.Repeat("0", max(0, 4-len(digits))) + digits
		code = cmp.Or(letters, "E") + digits
		for _, i := range diag.Catalogue() {
			if i.Code == letters+digits || letters == "" && i.Code[1:] == digits {
				found = append(found, i)
			}
		}
		return found, code
	}
	for _, i := range diag.Catalogue() {
		if strings.Contains(strings.ToLower(i.Title), strings.ToLower(text)) {
			found = append(found, i)
		}
	}
	return found, ""
}

// list writes codes with their titles.
func list(w io.Writer, infos []*diag.Info) error {
	b := bufio.NewWriter(w)
	all := slices.Clone(infos)
	slices.SortFunc(all, func(x, y *diag.Info) int { return strings.Compare(x.Code, y.Code) })
	for _, i := range all {
		fmt.Fprintf(b, "%s  %s\n", i.Code, i.Title)
	}
	return b.Flush()
}

// WriteDiagnostic writes the catalogue's text for a diagnostic.
func WriteDiagnostic(w io.Writer, i *diag.Info) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "%s: %s\n\n%s\n", i.Code, i.Title, console.Wrap(i.Explain, 80))
	for _, p := range i.Pairs() {
		for _, part := range [2][2]string{{"Wrong", p.Bad}, {"Right", p.Good}} {
			fmt.Fprintf(b, "\n%s:\n\n", part[0])
			for line := range strings.Lines(strings.TrimRight(part[1], "\n") + "\n") {
				fmt.Fprint(b, "    "+line)
			}
		}
	}
	return b.Flush()
}

package main

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/diag"
	"github.com/concerto-lang/concerto/internal/spell"
)

func (a *app) explainCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "explain [CODE]",
		Short: "Tell more about an error's code",
		Long: `Tells what a diagnostic's code means, with a program that has the mistake and the
same program without it. Without a code, lists them all.

  concerto explain E0801`,
		Args: onePath(false),
		RunE: func(c *cobra.Command, args []string) error {
			code, _ := path(c, args)
			return a.explain(strings.ToUpper(code))
		},
	}
}

func (a *app) explain(code string) error {
	if code == "" {
		return list(a.stdout)
	}
	if i := diag.Lookup(code); i != nil {
		return page(a.stdout, i)
	}
	var codes []string
	for _, i := range diag.Catalogue() {
		codes = append(codes, i.Code)
	}
	hint := "`concerto explain` lists the codes"
	if near := spell.Nearest(code, codes); near != "" {
		hint = "did you mean " + near + "?"
	}
	return usage(hint, "no diagnostic has the code %s", code)
}

// list writes all codes with their titles.
func list(w io.Writer) error {
	b := bufio.NewWriter(w)
	all := slices.Clone(diag.Catalogue())
	slices.SortFunc(all, func(x, y *diag.Info) int { return strings.Compare(x.Code, y.Code) })
	for _, i := range all {
		fmt.Fprintf(b, "%s  %s\n", i.Code, i.Title)
	}
	return b.Flush()
}

// page writes what the catalogue says of one code.
func page(w io.Writer, i *diag.Info) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "%s: %s\n\n%s\n", i.Code, i.Title, fill(i.Explain, 80))
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

// fill breaks prose into lines of at most width characters.
func fill(text string, width int) string {
	var b strings.Builder
	column := 0
	for _, word := range strings.Fields(text) {
		n := len([]rune(word))
		switch {
		case column == 0:
		case column+1+n > width:
			b.WriteByte('\n')
			column = 0
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += n
	}
	return b.String()
}

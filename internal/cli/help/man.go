package help

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/term/cmdline"
)

// manCommand is the command man.
type manCommand struct{ console *console.Console }

func NewMan(a *console.Console) *cobra.Command {
	cmd := manCommand{a}
	return &cobra.Command{
		Use:   "man DIR",
		Short: "Write the manual pages",
		Long:  `Writes a manual page for each command and topic to a directory, from the texts of help.`,
		Example: `  concerto man ~/.local/share/man/man1
  man concerto-run`,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) != 1 {
				return console.Usage("for example: concerto man ~/.local/share/man/man1", "man requires a directory")
			}
			return cmd.write(c.Root(), args[0])
		},
	}
}

// write writes the pages of all commands into dir.
func (cmd *manCommand) write(root *cobra.Command, dir string) error {
	full := cmd.console.Abs(dir)
	if err := os.MkdirAll(full, 0o777); err != nil {
		return console.Usage("", "create %s: %v", dir, console.Cause(err))
	}
	pages := available(root)
	for _, c := range pages {
		if err := console.WriteFile(filepath.Join(full, pageName(c)+".1"), []byte(manPage(c, cmd.console.Binary))); err != nil {
			return console.Usage("", "write %s.1 into %s: %v", pageName(c), dir, err)
		}
	}
	for _, t := range Topics() {
		if err := console.WriteFile(filepath.Join(full, "concerto-"+t.Name+".7"), []byte(topicPage(t, cmd.console.Binary))); err != nil {
			return console.Usage("", "write concerto-%s.7 into %s: %v", t.Name, dir, err)
		}
	}
	cmd.console.Verbosef("wrote %d pages to %s", len(pages)+len(topics), dir)
	return nil
}

// available returns the command c and its visible subcommands.
func available(c *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{c}
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			all = append(all, available(sub)...)
		}
	}
	return all
}

// pageName returns the name of a command's page: concerto, concerto-run, ….
func pageName(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

// manPage returns a command's manual page, in the man macros.
func manPage(c *cobra.Command, binary console.Binary) string {
	var b strings.Builder
	manTitle(&b, pageName(c), 1, binary)
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", roff(pageName(c)), roff(c.Short))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.B %s\n", roff(c.UseLine()))
	b.WriteString(".SH DESCRIPTION\n")
	manText(&b, cmp.Or(c.Long, c.Short+"."))
	if c.Example != "" {
		b.WriteString(".SH EXAMPLES\n")
		manText(&b, c.Example)
	}
	manFlags(&b, "OPTIONS", c.NonInheritedFlags())
	manFlags(&b, "OPTIONS OF ALL COMMANDS", c.InheritedFlags())
	b.WriteString(".SH SEE ALSO\n")
	var others []string
	for _, o := range available(c.Root()) {
		if o != c && (o.Parent() == nil || o.Parent() == c.Root() || o.Parent() == c || o == c.Parent()) {
			others = append(others, fmt.Sprintf(".BR %s (1)", roff(pageName(o))))
		}
	}
	b.WriteString(strings.Join(others, ",\n") + "\n")
	return b.String()
}

// topicPage returns the manual page of a topic.
func topicPage(t cmdline.Topic, binary console.Binary) string {
	var b strings.Builder
	manTitle(&b, "concerto-"+t.Name, 7, binary)
	fmt.Fprintf(&b, ".SH NAME\nconcerto\\-%s \\- %s\n.SH DESCRIPTION\n", roff(t.Name), roff(t.Short))
	manText(&b, t.Text)
	return b.String()
}

// manTitle writes the title of a page. Its date is that of the commit, so that a build always
// writes the same pages.
func manTitle(b *strings.Builder, name string, section int, binary console.Binary) {
	day, _, _ := strings.Cut(binary.Source().Date, "T")
	fmt.Fprintf(b, ".TH %s %d \"%s\" \"concerto %s\" \"Concerto\"\n", strings.ToUpper(name), section, day, binary.Release)
}

// manText writes help text in troff format: indented lines verbatim, other lines as paragraphs.
func manText(b *strings.Builder, text string) {
	verbatim := false
	for line := range strings.SplitSeq(strings.Trim(text, "\n"), "\n") {
		indented := strings.HasPrefix(line, "  ")
		if indented != verbatim && (indented || line != "") {
			b.WriteString(map[bool]string{true: ".nf\n", false: ".fi\n"}[indented])
			verbatim = indented
		}
		if line == "" {
			b.WriteString(".PP\n")
			continue
		}
		b.WriteString(roff(line) + "\n")
	}
	if verbatim {
		b.WriteString(".fi\n")
	}
}

func manFlags(b *strings.Builder, title string, flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	fmt.Fprintf(b, ".SH %s\n", title)
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		names := "--" + f.Name
		if f.Shorthand != "" {
			names = "-" + f.Shorthand + ", " + names
		}
		value, text := pflag.UnquoteUsage(f)
		if value != "" {
			names += " " + value
		}
		fmt.Fprintf(b, ".TP\n.B %s\n%s\n", roff(names), roff(text))
	})
}

// roff escapes a line of text for troff.
func roff(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(s)
	if strings.HasPrefix(s, ".") || strings.HasPrefix(s, "'") {
		s = `\&` + s
	}
	return s
}

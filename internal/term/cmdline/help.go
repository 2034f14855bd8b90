package cmdline

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Width is the maximum width of help text in columns, and Lines the maximum number of lines.
const (
	Width = 100
	Lines = 60
)

// flagGroups is the annotation of a command that stores the groups of the command's flags.
const flagGroups = "concerto/flag-groups"

// groupOfCommand is the annotation of a command that stores the name of its group.
const groupOfCommand = "concerto/group"

// InGroup shows a command in the help of the program only by its name, next to the other commands
// of a group. The name of the group is not a command.
func InGroup(c *cobra.Command, group string) *cobra.Command {
	if c.Annotations == nil {
		c.Annotations = map[string]string{}
	}
	c.Annotations[groupOfCommand] = group
	return c
}

// Group moves flags of a command from the general list to a section with a title. Each row is the
// name of a flag. A row may also describe several flags in one line: it then has the form "NAME… |
// LEFT | TEXT", with the names of the flags and the two columns of the line. topic is the help
// topic with the details, or "".
func Group(c *cobra.Command, title, topic string, rows ...string) {
	if c.Annotations == nil {
		c.Annotations = map[string]string{}
	}
	c.Annotations[flagGroups] += title + "\t" + topic + "\t" + strings.Join(rows, "\t") + "\n"
}

// row is a line of help: a flag or a command, and its description.
type row struct{ left, text string }

// section is a titled list of rows.
type section struct {
	title string
	rows  []row
}

// Help returns the help of a command.
func Help(c *cobra.Command) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s.\n\nUsage: %s\n", c.Short, usageLine(c))
	if c.Long != "" {
		fmt.Fprintf(&b, "\n%s\n", strings.TrimSpace(c.Long))
	}
	if c.Example != "" {
		fmt.Fprintf(&b, "\nExamples:\n%s\n", strings.TrimRight(c.Example, "\n"))
	}
	writeSections(&b, append(subcommands(c), flagSections(c)...))
	if from := flagsFrom(c); from != "" {
		fmt.Fprintf(&b, "\nFlags of '%s' also apply.\n", from)
	}
	if global := globalFlags(c.Root()); global != "" {
		fmt.Fprintf(&b, "\nGlobal flags: %s\n", global)
	}
	return b.String()
}

func usageLine(c *cobra.Command) string {
	if c.HasParent() {
		return c.Parent().CommandPath() + " " + c.Use
	}
	return c.Use
}

func subcommands(c *cobra.Command) []section {
	s := section{title: "Commands:"}
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			s.rows = append(s.rows, row{sub.Name(), sub.Short})
		}
	}
	if s.rows == nil {
		return nil
	}
	return []section{s}
}

// flagSections returns the sections of help that describe the command's own flags.
func flagSections(c *cobra.Command) []section {
	grouped := map[string]bool{"help": true}
	var groups []section
	for line := range strings.Lines(c.Annotations[flagGroups]) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		s := section{title: fields[0] + ":"}
		if fields[1] != "" {
			s.title = fmt.Sprintf("%s ('%s help %s'):", fields[0], c.Root().Name(), fields[1])
		}
		for _, r := range fields[2:] {
			names, shown, joined := strings.Cut(r, " | ")
			for _, name := range strings.Fields(names) {
				grouped[name] = true
			}
			if joined {
				left, text, _ := strings.Cut(shown, " | ")
				s.rows = append(s.rows, row{"    " + left, text})
			} else if f := c.Flags().Lookup(r); !f.Hidden {
				s.rows = append(s.rows, flagRow(f))
			}
		}
		groups = append(groups, s)
	}
	rest := section{title: "Flags:"}
	c.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden && !grouped[f.Name] {
			rest.rows = append(rest.rows, flagRow(f))
		}
	})
	if rest.rows == nil {
		return groups
	}
	return append([]section{rest}, groups...)
}

func flagRow(f *pflag.Flag) row {
	value, text := pflag.UnquoteUsage(f)
	text = strings.TrimSuffix(text, ": "+value)
	left := "    --" + f.Name
	if f.Shorthand != "" {
		left = "-" + f.Shorthand + ", --" + f.Name
	}
	switch {
	case value == "" || value == "count":
	case f.NoOptDefVal != "" && value != "":
		left += "[=" + value + "]"
	default:
		left += " " + value
	}
	return row{left, text}
}

// flagsFrom returns the path of the parent whose flags also apply to the command. It returns "" if
// only the flags of the root command apply.
func flagsFrom(c *cobra.Command) string {
	if p := c.Parent(); p != nil && p.HasParent() && p.HasAvailablePersistentFlags() {
		return p.CommandPath()
	}
	return ""
}

// globalFlags returns the list of the flags that every command inherits from the root.
func globalFlags(root *cobra.Command) string {
	var all []string
	root.PersistentFlags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand
		}
		if value, _ := pflag.UnquoteUsage(f); value != "" && value != "count" {
			name += " " + value
		}
		all = append(all, name)
	})
	if all == nil {
		return ""
	}
	return strings.Join(all, ", ") + "; see '" + root.Name() + " help'"
}

// maxLeft is the maximum width of the left column. If the left part of a row is wider, its text
// follows after two spaces instead of being aligned.
const maxLeft = 30

// writeSections writes sections. The left column has the same width in all of them.
func writeSections(b *strings.Builder, all []section) {
	width := 0
	for _, s := range all {
		for _, r := range s.rows {
			if n := utf8.RuneCountInString(r.left); n <= maxLeft {
				width = max(width, n)
			}
		}
	}
	for _, s := range all {
		fmt.Fprintf(b, "\n%s\n", s.title)
		for _, r := range s.rows {
			pad := max(0, width-utf8.RuneCountInString(r.left))
			fmt.Fprintf(b, "  %s%s  %s\n", r.left, strings.Repeat(" ", pad), r.text)
		}
	}
}

// RootHelp returns the help of a program: an introduction, the commands in first, the groups with
// their commands, the other commands and the topics. first lists the commands that a newcomer
// needs.
func RootHelp(root *cobra.Command, first []string, topics []Topic) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s.\n\nUsage: %s COMMAND [ARGUMENTS]\n", root.Short, root.Name())
	start, groups, others, about := section{title: "Commands:"}, section{title: "Groups:"}, section{title: "More commands:"}, section{title: "Topics ('" + root.Name() + " help TOPIC'):"}
	named := map[string]*cobra.Command{}
	isFirst := map[string]bool{}
	for _, c := range root.Commands() {
		named[c.Name()] = c
	}
	for _, name := range first {
		isFirst[name] = true
		start.rows = append(start.rows, row{name, named[name].Short})
	}
	together := map[string][]string{} // commands by the name of their group
	for _, c := range root.Commands() {
		if !c.IsAvailableCommand() {
			continue
		}
		if group := c.Annotations[groupOfCommand]; group != "" {
			together[group] = append(together[group], c.Name())
			continue
		}
		var names []string
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() {
				names = append(names, sub.Name())
			}
		}
		isOnlyGroup := c.Use == c.Name()+" COMMAND"
		if len(names) > 1 || isOnlyGroup { // the help of a command shows its only subcommand
			groups.rows = append(groups.rows, groupRows(c.Name(), names)...)
		}
		if !isFirst[c.Name()] && !isOnlyGroup {
			others.rows = append(others.rows, row{c.Name(), c.Short})
		}
	}
	for _, group := range slices.Sorted(maps.Keys(together)) {
		groups.rows = append(groups.rows, groupRows(group, together[group])...)
	}
	for _, t := range topics {
		about.rows = append(about.rows, row{t.Name, t.Short})
	}
	global := section{title: "Global flags:"}
	root.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden && f.Name != "help" {
			global.rows = append(global.rows, flagRow(f))
		}
	})
	var shown []section
	for _, s := range []section{start, groups, others, about, global} {
		if s.rows != nil {
			shown = append(shown, s)
		}
	}
	writeSections(&b, shown)
	fmt.Fprintf(&b, "\nUse '%s help COMMAND' for the flags and examples of a command.\n", root.Name())
	return b.String()
}

// groupRows returns the rows with the names of a group's commands.
func groupRows(group string, names []string) []row {
	rows := []row{{left: group}}
	for i, name := range names {
		if i < len(names)-1 {
			name += ", "
		}
		last := &rows[len(rows)-1]
		if len(last.text)+len(name) > Width-maxLeft {
			last.text = strings.TrimRight(last.text, " ")
			rows = append(rows, row{})
			last = &rows[len(rows)-1]
		}
		last.text += name
	}
	return rows
}

// Topic is a page of help that does not describe a single command.
type Topic struct {
	Name  string
	Short string
	Text  string
}

// SetHelp sets the help of the root command and of all other commands. The command `help` also
// shows the topics. usage creates the error for an unknown topic.
func SetHelp(root *cobra.Command, first []string, topics func() []Topic, usage func(hint, format string, args ...any) error) {
	root.SetHelpFunc(func(c *cobra.Command, _ []string) {
		text := ""
		if c == root {
			text = RootHelp(root, first, topics())
		} else {
			text = Help(c)
		}
		fmt.Fprint(c.OutOrStdout(), text)
	})
	root.SetHelpCommand(&cobra.Command{
		Use:     "help [COMMAND | TOPIC]",
		Short:   "Show help for a command or a topic",
		Example: "  " + root.Name() + " help\n  " + root.Name() + " help run",
		ValidArgsFunction: func(*cobra.Command, []string, string) (names []string, _ cobra.ShellCompDirective) {
			for _, c := range root.Commands() {
				if c.IsAvailableCommand() {
					names = append(names, c.Name()+"\t"+c.Short)
				}
			}
			for _, t := range topics() {
				names = append(names, t.Name+"\t"+t.Short)
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(help *cobra.Command, args []string) error {
			c, rest, err := root.Find(args)
			if err == nil && (len(rest) == 0 || c.DisableFlagParsing) {
				return c.Help()
			}
			for _, t := range topics() {
				if len(args) == 1 && args[0] == t.Name {
					_, err := fmt.Fprint(help.OutOrStdout(), strings.Trim(t.Text, "\n")+"\n")
					return err
				}
			}
			return usage("'"+root.Name()+" help' lists the commands and topics", "no command or topic %q", strings.Join(args, " "))
		},
	})
}

package help

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/editor/doc"
)

func NewDoc(a *console.Console) *cobra.Command {
	return &cobra.Command{
		Use:   "doc [NAME]",
		Short: "Show the documentation of a name",
		Long: `NAME is a function, type, method, keyword, decorator, module or key of Concerto.toml. Without NAME,
doc lists all names.`,
		Example: `  concerto doc json::parse       a function of a module
  concerto doc Array.push        a method
  concerto doc push              all methods of that name
  concerto doc listen            a keyword
  concerto doc @retry            a decorator
  concerto doc hosts.*.command   a key of the manifest
  concerto doc fs                a module`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return console.Usage("give one name", "doc takes one name, not %d", len(args))
			}
			return nil
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) (names []string, _ cobra.ShellCompDirective) {
			for _, g := range doc.Groups() {
				for _, t := range g.Topics {
					names = append(names, t.Name+"\t"+t.Summary())
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return docContents(a.Stdout)
			}
			return WriteTopic(a.Stdout, args[0])
		},
	}
}

// WriteTopic writes the documentation of a name.
func WriteTopic(w io.Writer, name string) error {
	topics, group := doc.Find(name)
	b := bufio.NewWriter(w)
	switch {
	case len(topics) == 0 && group == nil:
		hint := "`concerto doc` lists all names"
		if near := doc.Near(name); near != "" {
			hint = "did you mean " + near + "?"
		}
		return console.Usage(hint, "no documentation for %q", name)
	case len(topics) > 3:
		fmt.Fprintf(b, "Several names match %s:\n\n", name)
		docList(b, topics)
	default:
		for i := range topics {
			if i > 0 {
				b.WriteString("\n")
			}
			docTopic(b, &topics[i])
		}
	}
	if len(topics) == 1 {
		if methods := doc.Members(topics[0].Name); len(methods) > 0 {
			fmt.Fprintf(b, "\nMethods:\n\n")
			docList(b, methods)
		}
	}
	if group != nil {
		if len(topics) > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(b, "%s\n\n%s\n\n", group.Title, prose(group.Intro))
		docList(b, group.Topics)
	}
	return b.Flush()
}

// docTopic writes the documentation of one topic.
func docTopic(b io.Writer, t *doc.Topic) {
	fmt.Fprintln(b, t.Name)
	if t.Signature != "" {
		fmt.Fprintf(b, "\n%s", console.Indent(t.Signature+"\n", "    "))
	}
	fmt.Fprintf(b, "\n%s\n", prose(t.Doc))
	if t.Example != "" {
		fmt.Fprintf(b, "\nExample:\n\n%s", console.Indent(t.Example+"\n", "    "))
	}
}

// docList writes a line for each topic.
func docList(b io.Writer, topics []doc.Topic) {
	width := 0
	for _, t := range topics {
		width = max(width, len(t.Name))
	}
	for _, t := range topics {
		fmt.Fprintf(b, "  %-*s  %s\n", width, t.Name, t.Summary())
	}
}

// docContents lists the names of all topics.
func docContents(w io.Writer) error {
	b := bufio.NewWriter(w)
	for _, g := range doc.Groups() {
		fmt.Fprintf(b, "%s\n", g.Title)
		var names []string
		for _, t := range g.Topics {
			names = append(names, strings.TrimPrefix(t.Name, g.Name+"."))
		}
		b.WriteString(console.Indent(console.Wrap(strings.Join(names, " "), 78)+"\n", "  ") + "\n")
	}
	b.WriteString("`concerto doc <name>` shows the documentation of a name.\n")
	return b.Flush()
}

// prose fills the paragraphs of a comment to the width of the output. It does not join lines that
// contain a call or a list element.
func prose(text string) string {
	var out, paragraph []string
	end := func() {
		if len(paragraph) > 0 {
			out = append(out, console.Wrap(strings.Join(paragraph, " "), 80))
			paragraph = nil
		}
	}
	for line := range strings.Lines(strings.TrimSpace(text)) {
		line = strings.TrimSpace(line)
		switch {
		case line == "":
			end()
			out = append(out, "")
		case strings.HasPrefix(line, "- "):
			end()
			out = append(out, "  "+line)
		case strings.HasPrefix(line, "`") && strings.ContainsAny(line, "(["):
			end()
			if n := len(out); n > 0 && !strings.HasPrefix(out[n-1], "    ") {
				out = append(out, "")
			}
			out = append(out, "    "+strings.Replace(strings.TrimSuffix(strings.TrimPrefix(line, "`"), "`"), "` is ", " is ", 1))
		default:
			paragraph = append(paragraph, line)
		}
	}
	end()
	return strings.Join(out, "\n")
}

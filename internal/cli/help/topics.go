package help

import (
	"embed"

	"github.com/concerto-lang/concerto/internal/term/cmdline"
)

//go:embed topics/*.txt
var topicTexts embed.FS

// topics are the help pages that describe something other than a command. The text of each page is
// in topics/NAME.txt.
var topics = []struct{ name, short string }{
	{"paths", "PATH and RUN arguments, and where projects are found"},
	{"permissions", "The permissions of a run, and how to limit them"},
	{"answers", "How awaited emits and questions of hosts are answered"},
	{"journal", "Stored runs: how a run survives its process"},
	{"recordings", "The recordings of a run, and how to read them"},
	{"output", "The output of a run, and its formats"},
	{"environment", "Environment variables that concerto reads"},
	{"exit-codes", "The exit codes of concerto"},
}

// Topics returns the topics of `concerto help`.
func Topics() []cmdline.Topic {
	var all []cmdline.Topic
	for _, t := range topics {
		text, err := topicTexts.ReadFile("topics/" + t.name + ".txt")
		if err != nil {
			panic(err) // the text is missing from the embedded files
		}
		all = append(all, cmdline.Topic{Name: t.name, Short: t.short, Text: string(text)})
	}
	return all
}

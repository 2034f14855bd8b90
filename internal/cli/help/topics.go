package help

import (
	"embed"

	"github.com/concerto-lang/concerto/internal/term/cmdline"
)

//go:embed topics/*.txt
var topicTexts embed.FS

// topics are the pages of help that are about no single command. The text of each is the file
// topics/NAME.txt.
var topics = []struct{ name, short string }{
	{"paths", "PATH and RUN arguments, and where projects are found"},
	{"permissions", "What a run may access, and how to limit it"},
	{"answers", "Who answers awaited emits and questions of hosts"},
	{"journal", "Stored runs: how a run survives its process"},
	{"recordings", "What a run can record, and how to read it"},
	{"output", "What a run prints, and the formats of output"},
	{"environment", "Environment variables that concerto reads"},
	{"exit-codes", "The exit codes of concerto"},
}

// Topics returns the topics of `concerto help`.
func Topics() []cmdline.Topic {
	var all []cmdline.Topic
	for _, t := range topics {
		text, err := topicTexts.ReadFile("topics/" + t.name + ".txt")
		if err != nil {
			panic(err) // the file is missing from the source
		}
		all = append(all, cmdline.Topic{Name: t.name, Short: t.short, Text: string(text)})
	}
	return all
}

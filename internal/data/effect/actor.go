package effect

import "cmp"

// Who decides something in a run: ExchangeReply.By and Answer.By say it in one word.
const (
	ByHandler     = "handler"  // a handler of the program
	ByTools       = "tools"    // the host's tools
	ByDefault     = "default"  // what is declared for when nobody does
	ByTimeout     = "timeout"  // nobody did in time
	ByNone        = "nobody"   // nobody is there: the answer is an error
	ByCommandLine = "--answer" // what was given beforehand
	ByCommand     = "--emit-handler"
	ByTerminal    = "terminal"    // a person, asked there
	ByStdin       = "stdin"       // a line of standard input that is no terminal
	ByRelay       = "relay"       // a person, asked elsewhere
	ByAnswer      = "answer"      // a person, by `concerto runs answer`
	ByApplication = "application" // that embeds the run
	ByRules       = "rules"       // the host's [permissions]
	ByHost        = "host"        // the host itself, which has taken back what it asked
)

// Actor is who decides, as records have it. Its types are those below, and where calls of tools
// are recorded those of their callers.
type Actor struct {
	Type string `json:"type"`
	Name string `json:"name"`
}

// The types of those who decide, the most personal first.
const (
	ActorHuman       = "human"
	ActorApplication = "application"
	ActorFlag        = "flag"
	ActorAgent       = "agent"
	ActorRule        = "rule"    // of the manifest, or of the program
	ActorDefault     = "default" // nobody is there
	ActorTimeout     = "timeout"
	ActorHost        = "host"
)

// actors are those whom a word names, but for who depends on more than that.
var actors = map[string]Actor{
	ByDefault:     {Type: ActorDefault},
	ByTimeout:     {Type: ActorTimeout},
	ByNone:        {Type: ActorDefault},
	ByCommandLine: {ActorFlag, ByCommandLine},
	ByCommand:     {ActorApplication, ByCommand},
	ByTerminal:    {Type: ActorHuman},
	ByStdin:       {ActorFlag, ByStdin},
	ByRelay:       {ActorHuman, ByRelay},
	ByAnswer:      {Type: ActorHuman},
	ByRules:       {Type: ActorRule},
	ByHost:        {Type: ActorHost},
}

// ActorOf is whom a word names, and by which name where that is known; any other word is the
// application's.
func ActorOf(by, name string) Actor {
	a, ok := actors[by]
	if !ok {
		a.Type = ActorApplication
	}
	a.Name = cmp.Or(name, a.Name)
	return a
}

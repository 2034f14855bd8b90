package effect

import "cmp"

// The values of ExchangeReply.By and Answer.By. They name the source of a decision.
const (
	ByHandler     = "handler"  // a handler of the program
	ByTools       = "tools"    // the host's tools
	ByDefault     = "default"  // the declared default, without a decision
	ByTimeout     = "timeout"  // the default after a timeout
	ByNone        = "nobody"   // no one can answer: the answer is an error
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

// Actor is the person or component that made a recorded decision. Its type is one of the Actor
// constants or, in records of tool calls, a type of caller.
type Actor struct {
	Type string `json:"type"`
	Name string `json:"name"`
}

// The types of actors, in decreasing order of personal responsibility.
const (
	ActorHuman       = "human"
	ActorApplication = "application"
	ActorFlag        = "flag"
	ActorAgent       = "agent"
	ActorRule        = "rule"    // of the manifest, or of the program
	ActorDefault     = "default" // without a person who can answer
	ActorTimeout     = "timeout"
	ActorHost        = "host"
)

// actors maps each By constant that identifies one actor to that actor.
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

// ActorOf returns the actor of a By value. name is the name of the person or application, if it is
// known. A value that is not a By constant is the name of an application.
func ActorOf(by, name string) Actor {
	a, ok := actors[by]
	if !ok {
		a.Type = ActorApplication
	}
	a.Name = cmp.Or(name, a.Name)
	return a
}

package effect

import "cmp"

// The values of ExchangeReply.By and Answer.By. They name the source of a decision.
const (
	ByHandler     = "handler"  // by a handler of the program
	ByTools       = "tools"    // by a tool of the host
	ByDefault     = "default"  // by the declared default
	ByTimeout     = "timeout"  // by the default, after a timeout
	ByNone        = "nobody"   // no one can answer, so the answer is an error
	ByCommandLine = "--answer" // by an answer on the command line
	ByCommand     = "--emit-handler"
	ByTerminal    = "terminal"    // by a person at the terminal of the run
	ByStdin       = "stdin"       // by a line of standard input, if that is not a terminal
	ByRelay       = "relay"       // by a person at a relay
	ByAnswer      = "answer"      // by a person, with `concerto runs answer` or `concerto top`
	ByApplication = "application" // by the application that embeds the run
	ByRules       = "rules"       // by the host's [permissions]
	ByHost        = "host"        // by the host, which has withdrawn the request
	ByAgent       = "agent"       // by the host's agent itself, without a request
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
	ActorRule        = "rule"    // rule of the manifest or of the program
	ActorDefault     = "default" // default, without a person who could answer
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
	ByAgent:       {Type: ActorAgent},
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

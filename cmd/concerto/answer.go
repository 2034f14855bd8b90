package main

import (
	"strings"

	"github.com/concerto-lang/concerto"
)

// answers reads the values of --answer: channel=value each.
func answers(given []string) ([]concerto.Answer, error) {
	var out []concerto.Answer
	for _, g := range given {
		channel, v, ok := strings.Cut(g, "=")
		if !ok || channel == "" {
			return nil, usage("write --answer CHANNEL=VALUE, as in --answer approve=yes", "--answer cannot be %q", g)
		}
		out = append(out, concerto.Answer{Channel: channel, Value: v})
	}
	return out, nil
}

// prompter asks on the terminal, when there is one.
func (a *app) prompter() concerto.Prompter {
	if a.terminal && a.asking == nil {
		a.asking = concerto.NewTerminal(a.stdin, a.stderr)
	}
	return a.asking
}

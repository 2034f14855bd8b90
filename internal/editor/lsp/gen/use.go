package main

import (
	"fmt"
	"os"
	"strings"
)

// use lists the parts of the protocol that the server uses, and the Go types for some of them.
type use struct {
	methods map[string]bool
	unused  map[string]bool     // names of fields that are unused in every structure
	fields  map[string][]string // used fields of the structures that are used in part
	types   map[string]string   // Go types by alias or by Type.field
}

func readUse(file string) (*use, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	u := &use{methods: map[string]bool{}, unused: map[string]bool{}, fields: map[string][]string{}, types: map[string]string{}}
	for i, line := range strings.Split(string(text), "\n") {
		words := strings.Fields(line)
		switch {
		case len(words) == 0 || words[0][0] == '#':
		case words[0][0] == '-' && len(words) == 1:
			u.unused[words[0][1:]] = true
		case strings.HasSuffix(words[0], ":"):
			u.fields[strings.TrimSuffix(words[0], ":")] = words[1:]
		case len(words) == 1:
			u.methods[words[0]] = true
		case len(words) == 2:
			u.types[words[0]] = words[1]
		default:
			return nil, fmt.Errorf("%s:%d: invalid line %q", file, i+1, line)
		}
	}
	return u, nil
}

package jsonrepair

import "fmt"

// repair is a kind of correction.
type repair uint8

const (
	extraComma repair = iota
	missingComma
	comment
	ellipsis
	otherQuotes
	bareKey
	bareWord
	arrow
	literal
	control
	escaped
	numeral
	missingCloser
	unfinished
	repairKinds
)

// repairTexts contains descriptions of the corrections.
var repairTexts = [repairKinds]string{
	extraComma:    "left out a comma",
	missingComma:  "added a comma",
	comment:       "left out a comment",
	ellipsis:      "left out `...`",
	otherQuotes:   "replaced quotes",
	bareKey:       "quoted a key",
	bareWord:      "quoted a word",
	arrow:         "wrote a colon",
	literal:       "read a word as true, false or null",
	control:       "escaped a control character",
	escaped:       "mended an escape",
	numeral:       "wrote a number as JSON does",
	missingCloser: "closed a bracket",
	unfinished:    "left out a member that was cut off",
}

// repairs counts the corrections of each kind and records the names of duplicate members.
type repairs struct {
	count [repairKinds]int
	twice []string
}

// maxTwice is the maximum number of duplicate members that are named.
const maxTwice = 8

func (r *repairs) note(k repair) { r.count[k]++ }

func (r *repairs) list() []string {
	var out []string
	for k, n := range r.count {
		switch {
		case n == 1:
			out = append(out, repairTexts[k])
		case n > 1:
			out = append(out, fmt.Sprintf("%s (%d times)", repairTexts[k], n))
		}
	}
	for i, key := range r.twice {
		if i == maxTwice {
			out = append(out, fmt.Sprintf("%d more members stand twice: the last counts", len(r.twice)-maxTwice))
			break
		}
		out = append(out, fmt.Sprintf("the member %s stands twice: the last counts", key))
	}
	return out
}

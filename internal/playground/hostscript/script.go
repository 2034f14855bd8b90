// Package hostscript plays the process of a host from a script. The playground plays hosts in this
// way, and so does the host of the tests and of the manual's `host` blocks, which adds steps.
//
// A script is text with one step per line; blank lines and lines that begin with # are ignored.
// After the last step the host reads its input to the end and exits with code 0.
//
//	> JSON          the next input line must equal this JSON value
//	>~ JSON         the next input line must be an object with at least these members
//	>= TEXT         the next input line must be exactly this text
//	read            reads the next input line
//	eof             the input must end here
//	< TEXT          writes a line
//	raw TEXT        writes TEXT without a line end
//	crlf TEXT       writes a line that ends in "\r\n"
//	stderr TEXT     writes a line to the standard error
//	exit N          exits at once
//	hang            waits until the host is stopped
//	repeat N … end  runs the enclosed steps N times
//	batch … end     writes the output of the enclosed steps in one piece
//	serve … end     runs the enclosed steps until the input ends
//	when JSON … end runs the enclosed steps if the last input line has at least these members;
//	                unless JSON … end, if it has not
//	--- spawn       begins the script of the next process that is started
//
// In written text, ${.a.b} is that member of the last input line as JSON (null if it is missing),
// ${.} the whole line, and ${line} the last line as a JSON string.
package hostscript

import (
	"fmt"
	"slices"
	"strings"
)

// step is one line of a script.
type step struct {
	line int // from 1
	op   string
	arg  string // rest of the line
	do   Operation
	body []step // enclosed steps, if do is nil
}

// Operation performs a step. arg is the rest of its line.
type Operation func(p *Player, arg string) error

// Script is a parsed script.
type Script struct{ processes [][]step }

// Parse parses a script, which may also use the steps of more. The error names the line.
func Parse(text string, more map[string]Operation) (*Script, error) {
	s := &Script{}
	stack := [][]step{nil}
	var heads []step
	for i, l := range strings.Split(text, "\n") {
		x := step{line: i + 1}
		l = strings.TrimRight(strings.TrimLeft(l, " \t"), "\r")
		if l == "" || strings.HasPrefix(l, "#") {
			continue
		}
		x.op, x.arg, _ = strings.Cut(l, " ")
		top := len(stack) - 1
		switch {
		case strings.TrimSpace(l) == "--- spawn":
			if top > 0 {
				return nil, fmt.Errorf("line %d: `--- spawn` within %s", x.line, heads[top-1].op)
			}
			s.processes = append(s.processes, stack[0])
			stack[0] = nil
		case slices.Contains(blocks, x.op):
			heads = append(heads, x)
			stack = append(stack, nil)
		case x.op == "end" && top == 0:
			return nil, fmt.Errorf("line %d: `end` without %s", x.line, strings.Join(blocks, ", "))
		case x.op == "end":
			head := heads[top-1]
			head.body = stack[top]
			heads, stack = heads[:top-1], stack[:top]
			stack[top-1] = append(stack[top-1], head)
		default:
			if x.do = operations[x.op]; x.do == nil {
				x.do = more[x.op]
			}
			if x.do == nil {
				return nil, fmt.Errorf("line %d: unknown step %q", x.line, x.op)
			}
			stack[top] = append(stack[top], x)
		}
	}
	if len(stack) > 1 {
		return nil, fmt.Errorf("line %d: %s without `end`", heads[len(heads)-1].line, heads[len(heads)-1].op)
	}
	s.processes = append(s.processes, stack[0])
	return s, nil
}

// blocks are the steps that enclose others.
var blocks = []string{"repeat", "batch", "serve", "when", "unless"}

// Package testhost is a host that plays a script, for tests of code that talks to hosts. Any test
// binary can be the host: its TestMain calls Main if it was started as one.
//
// A script is text with one step per line; blank lines and lines that begin with '#' are ignored.
// After its last step the host reads its input to the end and exits with 0, so a peer stops it by
// closing its input.
//
//	> JSON              the next input line must equal this JSON value
//	>~ JSON             the next input line must be an object with at least these members
//	>= TEXT             the next input line must be exactly this text
//	read                reads the next input line
//	eof                 the input must end here
//	< TEXT              writes a line
//	raw TEXT            writes TEXT without a line end
//	crlf TEXT           writes a line that ends in "\r\n"
//	bytes HEX           writes these bytes
//	big N TEXT          writes one line of N bytes: ${fill} in TEXT fills it
//	flood N TEXT        writes N lines; ${i} in TEXT counts from 0
//	nest N TEXT         writes a line; ${nest} in TEXT is N nested arrays
//	drip N TEXT         writes TEXT byte by byte, the first N bytes one per second
//	stderr TEXT         writes a line to the standard error
//	stderr-flood N TEXT writes N lines to the standard error
//	write FILE TEXT     creates FILE with TEXT and a line end; append adds to it
//	await FILE          waits until FILE exists
//	now FILE            creates FILE with the time, in nanoseconds
//	exit N              exits at once
//	kill NAME           kills itself with the signal TERM, KILL, …
//	stop                stops itself, as SIGSTOP does
//	hang                waits until it is killed
//	close-stdout, close-stdin
//	ignore-sigterm
//	on-sigterm FILE     writes the signal to FILE and continues
//	spawn-grandchild FILE [own-group] [own-session] [ignore-sigterm]
//	                    starts a child that holds all pipes open; writes its pid to FILE
//	use-memory LIMIT MOST FILE
//	                    allocates MOST MiB; FILE holds the last time, in nanoseconds, at which
//	                    the use was within LIMIT. Likewise use-cpu, in seconds, and use-processes
//	repeat N … end      runs the enclosed steps N times
//	batch … end         writes the output of the enclosed steps in one piece
//	serve … end         runs the enclosed steps until the input ends
//	--- spawn           begins the script of the next process started
//
// In output, ${.a.b} is that member of the last input line as JSON, ${.} the whole line, ${line}
// the last line as a JSON string; ${env.NAME}, ${cwd}, ${args} and ${pid} are JSON too.
//
// The host creates FILE.in (all input lines) and FILE.spawns (a line "pid pgid" for each start)
// next to the script FILE and, on a mismatch, FILE.fail. After a mismatch it also writes the
// message to the standard error, and exits with 9.
package testhost

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// ExitMismatch is the exit code if the input does not match the script.
const ExitMismatch = 9

// lifetime is the time after which a host exits if no test stops it.
const lifetime = 60 * time.Second

// grandchildEnv is the environment variable that marks a copy as the grandchild. Its value is the
// kind of the grandchild.
const grandchildEnv = "TESTHOST_GRANDCHILD"

// Main plays the script args[0]; the other arguments are the script's ${args}. It returns the exit
// code.
func Main(args []string) int {
	time.AfterFunc(lifetime, func() {
		fmt.Fprintln(os.Stderr, "testhost: this host reached its maximum lifetime")
		os.Exit(98)
	})
	if kind := os.Getenv(grandchildEnv); kind != "" {
		return grandchild(kind)
	}
	if len(args) == 0 {
		fmt.Fprintln(os.Stderr, "testhost: usage: testhost SCRIPT [ARG...]")
		return 64
	}
	text, err := os.ReadFile(args[0])
	if err != nil {
		fmt.Fprintln(os.Stderr, "testhost:", err)
		return 66
	}
	p := newPlayer(args[0], args[1:])
	n, err := p.countSpawn()
	if err != nil {
		fmt.Fprintln(os.Stderr, "testhost:", err)
		return 74
	}
	scripts, err := parse(string(text))
	if err != nil {
		return p.mismatch("%v", err)
	}
	return p.play(scripts[min(n, len(scripts)-1)])
}

// step is one line of a script.
type step struct {
	line int // line number in the file, from 1
	op   string
	arg  string // rest of the line
	body []step // enclosed steps of repeat, serve and batch
}

// parse parses a script file: a list of steps for each start.
func parse(text string) ([][]step, error) {
	var scripts [][]step
	stack := [][]step{nil}
	var heads []step
	for i, l := range strings.Split(text, "\n") {
		s := step{line: i + 1}
		l = strings.TrimRight(strings.TrimLeft(l, " \t"), "\r")
		if l == "" || strings.HasPrefix(l, "#") {
			continue
		}
		s.op, s.arg, _ = strings.Cut(l, " ")
		top := len(stack) - 1
		switch {
		case strings.TrimSpace(l) == "--- spawn":
			if top > 0 {
				return nil, fmt.Errorf("line %d: a spawn within %s", s.line, heads[top-1].op)
			}
			scripts = append(scripts, stack[0])
			stack[0] = nil
		case s.op == "repeat" || s.op == "serve" || s.op == "batch":
			heads = append(heads, s)
			stack = append(stack, nil)
		case s.op == "end":
			if top == 0 {
				return nil, fmt.Errorf("line %d: end without repeat, serve or batch", s.line)
			}
			h := heads[top-1]
			h.body = stack[top]
			heads, stack = heads[:top-1], stack[:top]
			stack[top-1] = append(stack[top-1], h)
		case ops[s.op] == nil:
			return nil, fmt.Errorf("line %d: unknown step %q", s.line, s.op)
		default:
			stack[top] = append(stack[top], s)
		}
	}
	if len(stack) > 1 {
		return nil, fmt.Errorf("line %d: %s without end", heads[0].line, heads[0].op)
	}
	return append(scripts, stack[0]), nil
}

// countSpawn records this start and returns its number, from 0.
func (p *player) countSpawn() (int, error) {
	name := p.script + ".spawns"
	f, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	me := fmt.Sprintf("%d %d\n", os.Getpid(), groupOf())
	if _, err := f.WriteString(me); err != nil {
		return 0, err
	}
	all, err := os.ReadFile(name)
	if err != nil {
		return 0, err
	}
	at := strings.LastIndex("\n"+string(all), "\n"+strconv.Itoa(os.Getpid())+" ")
	return strings.Count(string(all)[:at], "\n"), nil
}

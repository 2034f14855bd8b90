// Package testhost is a host that plays a script, for tests of what talks to
// hosts. Any test binary can be it: TestMain calls Main when it finds itself
// started as one.
//
// A script is text, a step a line; blank lines and those that begin with '#'
// are nothing. When its steps are used up the host reads its input to the end
// and exits with 0, so a well-behaved peer ends it by closing its input.
//
//	> JSON              the next line in is this, compared as JSON
//	>~ JSON             the next line in is an object with at least these members
//	>= TEXT             the next line in is exactly this
//	read                takes the next line in, whatever it is
//	eof                 the input ends here
//	< TEXT              one line out
//	raw TEXT            TEXT without a line end out
//	crlf TEXT           one line out that ends in "\r\n"
//	bytes HEX           these bytes out
//	big N TEXT          one line of N bytes out: ${fill} in TEXT fills it
//	flood N TEXT        N lines out; ${i} in TEXT counts from 0
//	nest N TEXT         one line out: ${nest} in TEXT is that many arrays in each other
//	drip N TEXT         TEXT out, a byte a write and of the first N one a second
//	stderr TEXT         one line to the standard error
//	stderr-flood N TEXT N lines there
//	write FILE TEXT     makes FILE with TEXT and a line end; append adds to it
//	await FILE          waits until FILE is there
//	now FILE            makes FILE with the time, in nanoseconds
//	exit N              ends at once
//	kill NAME           ends by the signal TERM, KILL, …
//	stop                stops, as by SIGSTOP
//	hang                does nothing any more
//	close-stdout, close-stdin
//	ignore-sigterm
//	on-sigterm FILE     notes the signal in FILE and goes on
//	spawn-grandchild FILE [own-group] [own-session] [ignore-sigterm]
//	                    a child that holds all pipes and hangs; its number in FILE
//	use-memory LIMIT MOST FILE
//	                    takes MOST MiB; FILE has the last time, in nanoseconds, at which
//	                    it was not beyond LIMIT. So do use-cpu, in seconds, and use-processes
//	repeat N … end      the steps between, N times
//	batch … end         what the steps between send goes out in one piece
//	serve … end         the steps between, until the input ends
//	--- spawn           what follows is for the next process started
//
// In text that goes out, ${.a.b} is that member of the last line in as JSON, ${.}
// all of it, ${line} the last line as a JSON string, ${env.NAME}, ${cwd}, ${args} and
// ${pid} what they say, as JSON.
//
// Beside the script FILE the host leaves FILE.in (all lines in), FILE.spawns (a
// line "pid pgid" for each start) and, on a mismatch, FILE.fail. A mismatch is
// told on the standard error as well, and exits with 9.
package testhost

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// ExitMismatch is the exit code when the script does not fit what happens.
const ExitMismatch = 9

// lifetime bounds a host that nobody ends.
const lifetime = 60 * time.Second

// grandchildEnv makes a started copy the grandchild; its value tells what kind.
const grandchildEnv = "TESTHOST_GRANDCHILD"

// Main plays the script args[0]; the other arguments are the script's ${args}.
// It gives the exit code.
func Main(args []string) int {
	time.AfterFunc(lifetime, func() {
		fmt.Fprintln(os.Stderr, "testhost: nobody ended this host")
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
	line int // in the file, from 1
	op   string
	arg  string // the rest of the line
	body []step // of repeat, serve and batch
}

// parse reads a script file: a list of steps for each start.
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

// countSpawn notes this start and gives its number, from 0.
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

// Package testhost is a host that plays a script, for tests of code that talks to hosts. Any test
// binary can be the host: its TestMain calls Main if it was started as one.
//
// Its scripts are those of package hostscript, with these steps in addition:
//
//	bytes HEX           writes these bytes
//	big N TEXT          writes one line of N bytes: ${fill} in TEXT fills it
//	flood N TEXT        writes N lines; ${i} in TEXT counts from 0
//	nest N TEXT         writes a line; ${nest} in TEXT is N nested arrays
//	drip N TEXT         writes TEXT byte by byte, the first N bytes one per second
//	stderr-flood N TEXT writes N lines to the standard error
//	write FILE TEXT     creates FILE with TEXT and a line end; append adds to it
//	await FILE          waits until FILE exists
//	now FILE            creates FILE with the time, in nanoseconds
//	kill NAME           kills itself with the signal TERM, KILL, …
//	stop                stops itself, as SIGSTOP does
//	close-stdout, close-stdin
//	ignore-sigterm
//	on-sigterm FILE     writes the signal to FILE and continues
//	spawn-grandchild FILE [own-group] [own-session] [ignore-sigterm]
//	                    starts a child that holds all pipes open; writes its pid to FILE
//	use-memory LIMIT MOST FILE
//	                    allocates MOST MiB; FILE holds the last time, in nanoseconds, at which
//	                    the use was within LIMIT. Likewise use-cpu, in seconds, and use-processes
//
// In output, ${env.NAME}, ${cwd}, ${args} and ${pid} are replaced too, by JSON.
//
// The host creates FILE.in (all input lines) and FILE.spawns (a line "pid pgid" for each start)
// next to the script FILE and, on a mismatch, FILE.fail. After a mismatch it also writes the
// message to the standard error, and exits with hostscript.ExitMismatch.
package testhost

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/concerto-lang/concerto/internal/playground/hostscript"
)

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
	p := newProcess(args[0], args[1:])
	n, err := p.countSpawn()
	if err != nil {
		fmt.Fprintln(os.Stderr, "testhost:", err)
		return 74
	}
	script, err := hostscript.Parse(string(text), p.operations())
	if err != nil {
		p.reportMismatch(err)
		return hostscript.ExitMismatch
	}
	code, err := script.Play(n, p)
	if err != nil {
		p.reportMismatch(err)
	}
	return code
}

// countSpawn records this start and returns its number, from 0.
func (p *process) countSpawn() (int, error) {
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

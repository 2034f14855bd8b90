// Package hostreplay plays a recorded process of a host (package hosttrace): it sends what the
// process sent, after it has received what the process had received, and exits in the same way. So
// any conversation, also with vendors' agents, becomes a test that needs no vendor
// (spec/34-host.md, `concerto host replay`).
package hostreplay

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/concerto-lang/concerto/internal/record/hosttrace"
)

// Differs is the exit code of a replay whose input differed from the recording.
const Differs = 65

// Options configures a replay.
type Options struct {
	Recording *hosttrace.Recording
	File      string // its name, for messages
	Host      string // host in the recording
	Proc      int    // number of the process, from 1
	Timing    bool   // keep the recorded delays
	Strict    bool   // see hosttrace.Comparison

	In       io.Reader
	Out, Err io.Writer
}

// Play plays the process to its end and returns its exit code. If the input differs, it reports
// that on Err and returns Differs. For a process that was killed, it kills itself.
func Play(o Options) (code int) {
	p := &player{o: o, compare: hosttrace.Comparison{Strict: o.Strict}, input: make(chan string)}
	go p.readInput()
	return p.play(o.Recording.Process(o.Host, o.Proc))
}

type player struct {
	o       Options
	compare hosttrace.Comparison
	input   chan string // lines of the input; closed at its end
}

// readInput reads the input. A blank line counts.
func (p *player) readInput() {
	defer close(p.input)
	in := bufio.NewReader(p.o.In)
	for {
		line, err := in.ReadString('\n')
		if line != "" {
			p.input <- strings.TrimSuffix(line, "\n")
		}
		if err != nil {
			return
		}
	}
}

func (p *player) play(lines []hosttrace.Recorded) int {
	for i, l := range lines {
		passed := 0.0 // since the previous line
		if i > 0 {
			passed = l.T - lines[i-1].T
		}
		if p.o.Timing && l.Dir != hosttrace.To {
			time.Sleep(time.Duration(passed * float64(time.Second)))
		}
		switch l.Dir {
		case hosttrace.To:
			if !p.expectLine(&l) {
				return Differs
			}
		case hosttrace.From:
			p.write(p.o.Out, l.Text)
		case hosttrace.Stderr:
			p.write(p.o.Err, l.Text)
		case hosttrace.Lifecycle:
			if l.Text == hosttrace.Start {
				continue
			}
			if passed >= endDelay(l.Text) && !p.awaitInputEnd() {
				return Differs
			}
			return exitAs(l.Text)
		}
	}
	// The end was not recorded: the process stays until its input is closed.
	if !p.awaitInputEnd() {
		return Differs
	}
	return 0
}

// expectLine receives the next line of the input, and reports how it differs from a recorded one.
func (p *player) expectLine(l *hosttrace.Recorded) bool {
	got, ok := <-p.input
	differs := fmt.Sprintf("expected %s, got the end of its input", l.Text)
	if ok {
		differs = p.compare.Differs(l.Text, got)
	}
	if differs != "" {
		p.write(p.o.Err, fmt.Sprintf("replay: %s:%d: %s", p.o.File, l.Number, differs))
	}
	return differs == ""
}

// awaitInputEnd waits for the end of the input; no line may come before it.
func (p *player) awaitInputEnd() bool {
	got, ok := <-p.input
	if ok {
		last := p.o.Recording.Process(p.o.Host, p.o.Proc)
		p.write(p.o.Err, fmt.Sprintf("replay: %s:%d: expected the end of its input, got %s", p.o.File, last[len(last)-1].Number, got))
	}
	return !ok
}

// write writes a line. It ignores errors, which mean that the reader has exited.
func (p *player) write(to io.Writer, text string) { _, _ = io.WriteString(to, text+"\n") }

// terminated is the exit code of a process that SIGTERM has ended.
const terminated = "143"

// endDelay returns the silence, in seconds, after which an end was probably caused by Concerto: it
// sends SIGTERM to an idle host 200 ms after the end of its input, and SIGKILL five seconds later.
// Such a host did not exit by itself, so the replay waits for the signal.
func endDelay(how string) float64 {
	switch how {
	case hosttrace.Exit + terminated:
		return 0.2
	case hosttrace.Killed:
		return 5
	}
	return forever
}

const forever = 1e18

// exitAs exits as the process did.
func exitAs(how string) int {
	if code, err := strconv.Atoi(strings.TrimPrefix(how, hosttrace.Exit)); err == nil {
		return code
	}
	if self, err := os.FindProcess(os.Getpid()); err == nil && how == hosttrace.Killed {
		_ = self.Kill()
		select {} // wait for the signal
	}
	return Differs
}

// Choose returns the host, as ChooseHost does, and the process to play: the given number,
// CONCERTO_PROC of the environment, or the first. The error lists the choices.
func Choose(r *hosttrace.Recording, name string, proc int, getenv func(string) string) (host string, number int, err error) {
	if host, err = ChooseHost(r, name, getenv); err != nil {
		return "", 0, err
	}
	if proc == 0 {
		proc = 1
		if n, err := strconv.Atoi(getenv("CONCERTO_PROC")); err == nil && n > 0 {
			proc = n
		}
	}
	if len(r.Process(host, proc)) == 0 {
		return "", 0, fmt.Errorf("it has no process %d of host '%s': it has %d", proc, host, r.Processes(host))
	}
	return host, proc, nil
}

// ChooseHost returns the host to play: the given name, the name in the environment (CONCERTO_HOST,
// "RUN:NAME") if it was recorded, or the only one recorded.
func ChooseHost(r *hosttrace.Recording, name string, getenv func(string) string) (string, error) {
	hosts := r.Hosts()
	_, own, _ := strings.Cut(getenv("CONCERTO_HOST"), ":")
	switch {
	case name != "" && !slices.Contains(hosts, name):
		return "", fmt.Errorf("it has no host '%s': it has %s", name, joinNames(hosts))
	case name != "":
		return name, nil
	case slices.Contains(hosts, own):
		return own, nil
	case len(hosts) == 1:
		return hosts[0], nil
	}
	return "", fmt.Errorf("use --host to select the host: the recording has %s", joinNames(hosts))
}

func joinNames(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

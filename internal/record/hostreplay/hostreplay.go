// Package hostreplay replays the process of a host from a recording (package hosttrace). The replay
// writes the recorded output after it has received the recorded input that preceded the output, and
// exits like the recorded process. So any conversation, also with the agent of a vendor, can be a
// test that does not need the host (spec/34-host.md, `concerto host replay`).
package hostreplay

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/concerto-lang/concerto/internal/record/hosttrace"
)

// Differs is the exit code of a replay whose input differed from the recorded input.
const Differs = 65

// Options configures a replay.
type Options struct {
	Recording *hosttrace.Recording
	File      string // name of the recording in messages
	Host      string // name of the host in the recording
	Proc      int    // number of the host's process, from 1
	Timing    bool   // repeat the recorded delays
	Strict    bool   // compare input strictly; see hosttrace.Comparison

	In       io.Reader
	Out, Err io.Writer
}

// Play replays the process and returns its exit code. If the input differs, it writes a message to
// Err and returns Differs. If the recorded process was killed, Play kills this process.
func Play(o Options) (code int) {
	p := &player{o: o, compare: hosttrace.Comparison{Strict: o.Strict}, input: make(chan string)}
	go p.readInput()
	return p.play(o.Recording.Process(o.Host, o.Proc))
}

type player struct {
	o       Options
	compare hosttrace.Comparison
	input   chan string // lines of the input; closed at the end of the input
	// received are pairs of UUIDs: a recorded one of a message, and the one received in its place.
	received []string
}

// readInput sends the lines of the input to the channel, including blank lines.
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
		passed := 0.0 // seconds since the previous recorded line
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
			p.write(p.o.Out, strings.NewReplacer(p.received...).Replace(l.Text))
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
	// The recording does not contain the end of the process, so the replay waits for the end of its
	// input.
	if !p.awaitInputEnd() {
		return Differs
	}
	return 0
}

// expectLine reads the next line of the input and compares it with a recorded line. If they differ,
// it writes a message and returns false.
func (p *player) expectLine(l *hosttrace.Recorded) bool {
	got, ok := <-p.input
	differs := fmt.Sprintf("expected %s, got the end of its input", l.Text)
	if ok {
		if differs = p.compare.Differs(l.Text, got); differs == "" {
			p.replaceUUID(l.Text, got)
		}
	}
	if differs != "" {
		p.write(p.o.Err, fmt.Sprintf("replay: %s:%d: %s", p.o.File, l.Number, differs))
	}
	return differs == ""
}

// replaceUUID replaces the UUID of a recorded message in later lines of the process.
func (p *player) replaceUUID(recorded, got string) {
	var was, is struct {
		UUID string `json:"uuid"`
	}
	if json.Unmarshal([]byte(recorded), &was) == nil && json.Unmarshal([]byte(got), &is) == nil && was.UUID != "" && is.UUID != "" {
		p.received = append(p.received, was.UUID, is.UUID)
	}
}

// awaitInputEnd waits for the end of the input. If there is another line, it writes a message and
// returns false.
func (p *player) awaitInputEnd() bool {
	got, ok := <-p.input
	if ok {
		last := p.o.Recording.Process(p.o.Host, p.o.Proc)
		p.write(p.o.Err, fmt.Sprintf("replay: %s:%d: expected the end of its input, got %s", p.o.File, last[len(last)-1].Number, got))
	}
	return !ok
}

// write writes a line. Errors are ignored, because they mean that the reader has exited.
func (p *player) write(to io.Writer, text string) { _, _ = io.WriteString(to, text+"\n") }

// terminated is the recorded exit code of a process that SIGTERM has stopped.
const terminated = "143"

// endDelay returns the minimum duration of silence, in seconds, after which a recorded end was
// probably caused by Concerto. Concerto sends SIGTERM to an idle host 200 ms after the end of its
// input, and SIGKILL five seconds later. Such a host did not exit by itself, so its replay waits
// for the end of its input.
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

// exitAs returns the recorded exit code, or kills this process if the recorded process was killed.
func exitAs(how string) int {
	if code, err := strconv.Atoi(strings.TrimPrefix(how, hosttrace.Exit)); err == nil {
		return code
	}
	if self, err := os.FindProcess(os.Getpid()); err == nil && how == hosttrace.Killed {
		_ = self.Kill()
		select {} // blocks until the signal stops this process
	}
	return Differs
}

// Choose returns the host and the process to replay. The host is chosen as in ChooseHost. The
// number is proc, or CONCERTO_PROC of the environment, or 1. The error lists the possible values.
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

// ChooseHost returns the name of the host to replay: name, or the host in the environment
// (CONCERTO_HOST, "RUN:NAME") if the recording contains it, or the only recorded host.
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

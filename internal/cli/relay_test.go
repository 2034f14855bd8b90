package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/concerto-lang/concerto/relay/protocol"
)

// fakeHostd plays a hostd in scripts:
//
//	hostd start NAME [ANSWERS]   listen at $WORK/NAME and set $SOCK to that path
//	hostd asked                  wait until a run has sent a request
//	hostd steer JSON REPLY       send a message to a host of the run, and wait for this reply
//	hostd events FILE            wait until a run has exited, and write the received lines to FILE
//	hostd stop                   stop hostd
//
// Each line of the file ANSWERS contains the id of a request and the answer to send. The answer
// `hold` leaves the request open, so that the run sends it again to the next hostd.
type fakeHostd struct {
	listen  net.Listener
	answers map[string]string

	mu     sync.Mutex
	conns  []net.Conn
	lines  []string
	exited chan struct{} // closed when the event run.exited arrives
	asked  chan struct{} // closed when the first request arrives
	once   sync.Once
	first  sync.Once
}

var hostds sync.Map // *fakeHostd of each running script, by *testscript.TestScript

func hostdCmd(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: hostd start|events|asked|stop")
	}
	if args[0] == "start" {
		f := &fakeHostd{answers: map[string]string{}, exited: make(chan struct{}), asked: make(chan struct{})}
		if len(args) == 3 {
			for line := range strings.Lines(ts.ReadFile(args[2])) {
				id, answer, _ := strings.Cut(strings.TrimSpace(line), " ")
				f.answers[id] = answer
			}
		}
		sock := ts.MkAbs(args[1])
		l, err := net.Listen("unix", sock)
		ts.Check(err)
		f.listen = l
		ts.Setenv("SOCK", sock)
		hostds.Store(ts, f)
		ts.Defer(f.stop)
		go f.serve()
		return
	}
	v, ok := hostds.Load(ts)
	if !ok {
		ts.Fatalf("the script must run `hostd start` first")
	}
	f := v.(*fakeHostd)
	switch args[0] {
	case "stop":
		f.stop()
	case "asked":
		f.await(ts, f.asked, "nothing was asked")
	case "steer":
		f.steer(ts, args[1], args[2])
	case "events":
		f.await(ts, f.exited, "no run has exited")
		f.mu.Lock()
		defer f.mu.Unlock()
		ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(strings.Join(f.lines, "")), 0o666))
	}
}

// await waits until c is closed. After two minutes it fails with the message what.
func (f *fakeHostd) await(ts *testscript.TestScript, c chan struct{}, what string) {
	select {
	case <-c:
	case <-time.After(2 * time.Minute):
		f.mu.Lock()
		defer f.mu.Unlock()
		ts.Fatalf("%s:\n%s", what, strings.Join(f.lines, ""))
	}
}

// steer sends a message to a host of the run, and waits until the run has sent the reply once more.
func (f *fakeHostd) steer(ts *testscript.TestScript, message, reply string) {
	count := func() (n int) {
		f.mu.Lock()
		defer f.mu.Unlock()
		for _, line := range f.lines {
			if line == reply+"\n" {
				n++
			}
		}
		return n
	}
	before := count()
	f.mu.Lock()
	for _, c := range f.conns {
		fmt.Fprintf(c, `{"steer":%s}`+"\n", message)
	}
	f.mu.Unlock()
	for late := time.After(2 * time.Minute); count() == before; {
		select {
		case <-late:
			f.mu.Lock()
			defer f.mu.Unlock()
			ts.Fatalf("the reply %s has not arrived:\n%s", reply, strings.Join(f.lines, ""))
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func (f *fakeHostd) stop() {
	f.listen.Close()
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.conns {
		c.Close()
	}
}

func (f *fakeHostd) serve() {
	for {
		c, err := f.listen.Accept()
		if err != nil {
			return
		}
		f.mu.Lock()
		f.conns = append(f.conns, c)
		f.mu.Unlock()
		go f.run(c)
	}
}

func (f *fakeHostd) run(c net.Conn) {
	defer c.Close()
	in := bufio.NewReader(c)
	r, err := http.ReadRequest(in)
	if err != nil {
		return
	}
	f.add(fmt.Sprintf("%s %s %s\n", r.Method, r.URL.Path, r.Header.Get("Upgrade")))
	fmt.Fprintf(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %s\r\n\r\n", r.Header.Get("Upgrade"))
	for {
		line, err := in.ReadString('\n')
		if line != "" {
			f.line(c, line)
		}
		if err != nil {
			return
		}
	}
}

func (f *fakeHostd) add(line string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lines = append(f.lines, line)
}

func (f *fakeHostd) line(c net.Conn, line string) {
	f.add(line)
	var m protocol.SourceMessage
	if err := json.Unmarshal([]byte(line), &m); err != nil {
		f.add(fmt.Sprintf("broken: %v\n", err))
		return
	}
	if row := protocol.Find(m.Event); m.Event != "" && m.Lost == 0 && row != nil {
		if err := protocol.Check(&protocol.Envelope{Type: m.Event, Data: m.Data}); err != nil {
			f.add(fmt.Sprintf("broken: %v\n", err))
		}
	}
	switch {
	case m.Event == protocol.RunExited:
		f.once.Do(func() { close(f.exited) })
	case m.Ask != "":
		f.first.Do(func() { close(f.asked) })
		if answer := f.answers[m.Ask]; answer != "" && answer != "hold" {
			var b bytes.Buffer
			fmt.Fprintf(&b, `{"answer":%q,%s}`+"\n", m.Ask, answer)
			c.Write(b.Bytes())
		}
	}
}

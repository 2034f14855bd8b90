package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"time"
)

// modelServer answers chat completions after a delay and records the time of each request.
type modelServer struct {
	*httptest.Server
	mu   sync.Mutex
	came []time.Time
}

const modelReply = `{"id":"chatcmpl-1","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Half of it is done; the tests are left."},"finish_reason":"stop"}],"usage":{"prompt_tokens":12,"completion_tokens":9}}`

func newModelServer(delay time.Duration) *modelServer {
	s := &modelServer{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		now := time.Now()
		io.Copy(io.Discard, r.Body)
		s.mu.Lock()
		s.came = append(s.came, now)
		s.mu.Unlock()
		if delay > 0 {
			time.Sleep(delay)
		}
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, modelReply)
	}))
	return s
}

// median returns the median time between successive requests, in microseconds. It is meaningful for
// sequential calls.
func (s *modelServer) median() float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	var gaps []time.Duration
	for i := 1; i < len(s.came); i++ {
		gaps = append(gaps, s.came[i].Sub(s.came[i-1]))
	}
	slices.Sort(gaps)
	return float64(gaps[len(gaps)/2].Nanoseconds()) / 1000
}

// Numbers of sequential calls. For CPU time the number is so large that the start of the process
// takes less than a hundredth of the time.
const (
	askingCalls = 3_000
	costCalls   = 10_000
)

// askingInTurn returns a program that makes sequential calls of an agent.
func askingInTurn(calls int) string {
	return fmt.Sprintf(`for _i in 0..%d { text = A.execute("How far along is the work, and what is left to do?")?.text; }`, calls)
}

// asking measures the overhead of an agent's call over a bare HTTP exchange: the time between two
// successive requests at the server.
func asking() measure {
	return measure{name: "asking", title: "an agent's call over its HTTP exchange, added", unit: "µs", fixed: 150, ours: func(l *lab) (float64, error) {
		s := newModelServer(0)
		defer s.Close()
		if _, err := l.process(l.dir, l.bin("caller"), s.URL+"/v1/chat/completions", fmt.Sprint(askingCalls)); err != nil {
			return 0, err
		}
		bare := s.median()
		s.came = nil
		if err := l.ask(s, askingInTurn(askingCalls), nil); err != nil {
			return 0, err
		}
		return max(s.median()-bare, 0.1), nil
	}}
}

// askingCost compares the CPU time of a process that makes sequential calls with that of a Go
// program that uses net/http and encoding/json.
func askingCost() measure {
	target := 1.15
	perCall := func(p outcome) float64 { return p.cpu * 1000 / costCalls }
	m := measure{name: "asking-cpu", title: "an agent's call, CPU time", unit: "µs", target: target, peers: "net/http and encoding/json", pairs: pairs}
	m.ours = func(l *lab) (float64, error) {
		s := newModelServer(0)
		defer s.Close()
		var p outcome
		err := l.ask(s, askingInTurn(costCalls), &p)
		return perCall(p), err
	}
	m.peer = func(l *lab) (float64, error) {
		s := newModelServer(0)
		defer s.Close()
		p, err := l.process(l.dir, l.bin("caller"), s.URL+"/v1/chat/completions", fmt.Sprint(costCalls))
		return perCall(p), err
	}
	return m
}

// askingAtOnce measures a program that makes 1,000 concurrent calls. The server answers each of
// them after 100 ms.
func askingAtOnce(name, title, unit string, most float64, read func(outcome) float64) measure {
	delay := 100 * time.Millisecond
	peer := func(l *lab) (float64, error) {
		s := newModelServer(delay)
		defer s.Close()
		p, err := l.process(l.dir, l.bin("caller"), s.URL+"/v1/chat/completions", "1000", "at", "once")
		return read(p), err
	}
	return measure{name: name, title: title, unit: unit, fixed: most, peer: peer, peers: "net/http alone", ours: func(l *lab) (float64, error) {
		s := newModelServer(delay)
		defer s.Close()
		var p outcome
		err := l.ask(s, `let all = parallel for i in 0..1000 { A.execute("${i}")?.text };
    text = all[999];`, &p)
		return read(p), err
	}}
}

// ask runs a program that stores an answer of agent A in the variable text.
func (l *lab) ask(s *modelServer, body string, p *outcome) error {
	dir := l.bin("project-asking")
	manifest := fmt.Sprintf("[connections.main]\nprovider = \"openai\"\nbase_url = %q\ndefault_model = \"m\"\n", s.URL)
	program := "agent A uses main {}\n\nfn main() {\n    let mut text = \"\";\n    " + body + "\n    println(text);\n}\n"
	if err := writeProject(dir, map[string]string{"Concerto.toml": manifest, "main.conc": program}); err != nil {
		return err
	}
	out, err := l.process(dir, l.bin("concerto"), "run", "main.conc")
	if err == nil && out.out != "Half of it is done; the tests are left." {
		err = fmt.Errorf("the program printed %q", out.out)
	}
	if p != nil {
		*p = out
	}
	return err
}

package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/engine/runs"
	"github.com/concerto-lang/concerto/internal/record/journal"
	"github.com/concerto-lang/concerto/internal/record/journal/postgres"
)

// engineStorm is a program with effects of each class, timers, concurrent tasks and questions.
const engineStorm = `
use std::{http, run, time};

async fn work(task: Int) -> Int {
    for i in 0..ROUNDS {
        let at = "${run::id()}/${task}/${i}";
        http::get("URL/read/${at}")?;
        http::put("URL/put/${at}", "")?;
        http::request("POST", "URL/post/${at}", nil, {}, 2000)?;
        emit("round", at);
        if i % 4 == 3 {
            let answer = await emit<Int>("ask", at)?;
            emit("answer", {"at": at, "value": answer});
        }
        time::sleep(i % 3);
    }
    task
}

fn main() {
    let (a, b) = await (work(0), work(1));
    emit("end", a + b);
}
`

const (
	engineStormTasks  = 2
	engineStormRounds = 8
)

// engineLog is an HTTP server that receives the effects of the program. It is outside the engine:
// what it has received has happened.
type engineLog struct {
	*httptest.Server
	mu       sync.Mutex
	keys     map[string][]string // idempotency keys by method and path
	received int
	more     chan struct{} // closed and replaced for each request
}

func newEngineLog(t *testing.T) *engineLog {
	l := &engineLog{keys: map[string][]string{}, more: make(chan struct{})}
	l.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.keys[r.URL.Path] = append(l.keys[r.URL.Path], r.Header.Get("Idempotency-Key"))
		l.received++
		close(l.more)
		l.more = make(chan struct{})
	}))
	t.Cleanup(l.Close)
	return l
}

// state returns the number of received requests, and a channel that is closed by the next one.
func (l *engineLog) state() (received int, more <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.received, l.more
}

// of returns the idempotency keys of the requests to a path.
func (l *engineLog) of(path string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.keys[path])
}

// engineJudge answers the questions of the runs, and checks what they have done.
type engineJudge struct {
	t      *testing.T
	log    *engineLog
	engine *postgres.Engine

	crashed atomic.Bool // the server has crashed

	mu       sync.Mutex          // protects the fields below
	answers  map[string][]string // possible answers to the questions of the program, by place; one unless the outcome is unknown
	retried  map[string]bool     // paths of requests that were repeated after a question
	unknowns int                 // answered questions about unknown outcomes
}

var requested = regexp.MustCompile(`/post/[\w./-]+`)

// answer answers the open questions of a run. Two users answer each question of the program at the
// same time. A question about an unknown outcome is answered from the log.
func (j *engineJudge) answer(row *postgres.Row) {
	for _, q := range row.Questions {
		switch q.Channel {
		case "ask":
			var at string
			if err := json.Unmarshal(q.Payload, &at); err != nil {
				j.t.Error(err)
			}
			if len(j.stored(at)) != 1 {
				j.race(row.ID, q.ID, at)
			}
		case "run:unknown":
			path := requested.FindString(string(q.Payload))
			text := "retry"
			if len(j.log.of(path)) > 0 {
				text = `done:{"status":200,"headers":[],"body":""}`
			} else {
				j.mu.Lock()
				j.retried[path] = true // also if the outcome of the answer is unknown
				j.mu.Unlock()
			}
			if err := runs.Answer(j.engine.Run(row.ID), q.ID, runs.Response{Text: text, By: "ada"}); err == nil {
				j.mu.Lock()
				j.unknowns++
				j.mu.Unlock()
			}
		default:
			j.t.Errorf("run %s asks on channel %s: %s", row.ID, q.Channel, q.Payload)
		}
	}
}

// stored returns the possible answers to a question of the program.
func (j *engineJudge) stored(at string) []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.answers[at]
}

// race answers a question of the program with two values at the same time, and stores which of them
// may be the first.
func (j *engineJudge) race(run, question, at string) {
	texts := []string{"1", "2"}
	errs := make([]error, len(texts))
	var both sync.WaitGroup
	for i, text := range texts {
		both.Go(func() {
			errs[i] = runs.Answer(j.engine.Run(run), question, runs.Response{Text: text, By: "user" + text})
		})
	}
	both.Wait()
	var stored, open []string
	for i, err := range errs {
		if err == nil {
			stored = append(stored, texts[i])
		} else if _, ok := errors.AsType[*runs.Problem](err); !ok {
			open = append(open, texts[i]) // the connection was lost
		}
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case len(stored) > 1:
		j.t.Errorf("question %s of run %s accepts two answers", question, run)
	case len(stored) == 1:
		j.answers[at] = stored
	case len(j.answers[at]) == 0:
		j.answers[at] = open
	}
}

// end checks a run that has ended.
func (j *engineJudge) end(row *postgres.Row) {
	bad := func(format string, args ...any) {
		j.t.Helper()
		j.t.Errorf("run %s: %s", row.ID, fmt.Sprintf(format, args...))
	}
	if row.State != "finished" || *row.Exit != 0 {
		bad("state %s, exit %d", row.State, *row.Exit)
	}
	run := j.engine.Run(row.ID)
	var lines []string
	for attempt := 0; ; attempt++ {
		_, err := runs.Verify(run)
		if err == nil {
			lines, _, err = run.Out()
		}
		if err == nil {
			break
		}
		if _, damaged := errors.AsType[*journal.DamagedError](err); damaged || attempt == 1000 {
			bad("%v", err)
			return
		}
		<-time.After(20 * time.Millisecond) // the server crashes or starts
	}
	seen := map[string]int{}
	for i, line := range lines {
		var l struct {
			N       int
			Channel string
			Payload json.RawMessage
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil || l.N != i+1 {
			bad("line %d of the output is %s", i+1, line)
		}
		seen[l.Channel+" "+string(l.Payload)]++
		if l.Channel == "answer" {
			var got struct {
				At    string
				Value json.Number
			}
			if err := json.Unmarshal(l.Payload, &got); err != nil {
				bad("%v", err)
			}
			if want := j.stored(got.At); !slices.Contains(want, got.Value.String()) {
				bad("the program has received the answer %s at %s, stored was %q", got.Value, got.At, want)
			}
			seen["answer "+got.At]++
		}
	}
	if seen["end 1"] != 1 {
		bad("the end is in the output %d times", seen["end 1"])
	}
	for task := range engineStormTasks {
		for i := range engineStormRounds {
			at := fmt.Sprintf("%s/%d/%d", row.ID, task, i)
			if n := seen["round \""+at+"\""]; n != 1 {
				bad("the output contains round %s %d times", at, n)
			}
			if n := seen["answer "+at]; i%4 == 3 && n != 1 {
				bad("the output contains the answer at %s %d times", at, n)
			}
			j.effects(at, bad)
		}
	}
}

// effects checks the requests of one round of a task.
func (j *engineJudge) effects(at string, bad func(string, ...any)) {
	for _, kind := range []string{"read", "put", "post"} {
		path := "/" + kind + "/" + at
		keys := j.log.of(path)
		j.mu.Lock()
		retried := j.retried[path]
		j.mu.Unlock()
		switch {
		case len(keys) == 0:
			bad("no request %s was received", path)
		case kind == "read" || kind == "put" && j.crashed.Load():
			// A crash of the server and of the worker may lose what was not synced. The tasks then
			// continue in another order, and their effects have other numbers.
		case keys[0] == "" || slices.ContainsFunc(keys, func(k string) bool { return k != keys[0] }):
			bad("the requests %s have the idempotency keys %q, want one key", path, keys)
		case kind == "post" && len(keys) > 1 && !retried:
			bad("%s happened %d times, and no answer allowed that", path, len(keys))
		}
	}
}

package sim

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/relay/client"
	"github.com/concerto-lang/concerto/relay/protocol"
)

// job is a program that reports its run to hostd, and asks people.
type job struct {
	r     *relay
	title string
	steps []JobStep
	p     *process
	src   *client.Source
	ctx   context.Context // ends when the program has crashed

	// The following are guarded by r.mu.
	emitted int
	steered map[string]int // messages by id
}

// question is a question of a program.
type question struct {
	title, id string
	at, until time.Time // when the program has asked, and when it has stopped to wait
	outcome   string    // "" while it waits, else "answered", "late" or "dead"
	value, by string    // the answer
	isFinal   bool
	order     int // when the program has asked, among the questions and subscriptions
}

// finalChannel is the channel of the last question of each program.
const finalChannel = "final"

func newJob(r *relay, i int) *job {
	j := &job{r: r, title: fmt.Sprintf("job%d", i+1), steps: r.plan.Jobs[i].Steps, steered: map[string]int{}}
	j.p = r.start(j.title)
	ctx, cancel := context.WithCancelCause(context.Background())
	j.ctx, j.p.cancel = ctx, cancel
	return j
}

// play performs the steps, unless the program crashes.
func (j *job) play() {
	j.r.gate.pass(j.p, "starts")
	j.src = client.New(client.Options{Started: protocol.Started{Tool: "concerto", Title: j.title, Cwd: j.r.base, Command: "concerto run " + j.title, Source: "concerto"},
		Dial: func(ctx context.Context) (net.Conn, error) { return j.r.wires.dial(ctx, j.p, hostdAddress) }})
	j.src.Begin(j.title, nil, nil, nil)
	j.src.Steers(j.steer)
	for i := range j.steps {
		if j.ctx.Err() != nil {
			break
		}
		j.step(&j.steps[i])
	}
}

func (j *job) step(s *JobStep) {
	switch s.Kind {
	case "emit":
		j.r.mu.Lock()
		j.emitted++
		payload := fmt.Sprintf(`{"n":%d}`, j.emitted)
		j.r.mu.Unlock()
		j.src.Emitted("progress", json.RawMessage(payload), false)
	case "sleep":
		select {
		case <-time.After(s.For()):
		case <-j.ctx.Done():
		}
	case "asks":
		var both sync.WaitGroup
		both.Go(func() { j.ask("text", s.For()) })
		both.Go(func() { j.ask("confirm", s.For()+time.Second) })
		both.Wait()
	default:
		j.ask(s.Kind, s.For())
	}
}

// schemas are the schemas of the answers, by the kinds of questions.
var schemas = map[string]string{"text": `{"type":"string"}`, "confirm": `{"type":"boolean"}`, finalChannel: `{"type":"string"}`}

// ask asks people, and waits for an answer for a time.
func (j *job) ask(kind string, wait time.Duration) *question {
	limit := wait
	if kind == "approval" {
		limit += time.Minute
	}
	ctx, cancel := context.WithTimeout(j.ctx, limit)
	defer cancel()
	q := &question{title: j.title, at: time.Now(), isFinal: kind == finalChannel}
	r := &effect.AwaitEmit{Channel: kind, Payload: json.RawMessage(fmt.Sprintf("%q", kind)), Schema: json.RawMessage(schemas[kind])}
	if kind == "approval" { // hostd's timeout ends it
		r.Asks, r.Payload, r.Schema = &effect.Asking{Host: "coder", Type: kind, Within: wait.Milliseconds()}, json.RawMessage(`{"type":"approval","tool":"bash","args":{"command":"make"}}`), nil
	}
	q.id = j.src.Emitted(r.Channel, r.Payload, true)
	j.r.mu.Lock()
	q.order = j.r.seen.next()
	j.r.seen.asked[q.title+" "+q.id] = q
	j.r.mu.Unlock()
	answer, err := j.src.Ask(ctx, q.id, r, false)
	j.r.gate.pass(j.p, "continues after "+q.id)
	j.r.mu.Lock()
	defer j.r.mu.Unlock()
	q.until, q.outcome = time.Now(), "late"
	switch {
	case j.ctx.Err() != nil:
		q.outcome = "dead"
	case err == nil && answer != nil:
		q.outcome, q.value, q.by = "answered", plainly(answer.Value), answer.Name
	case err != nil && strings.Contains(err.Error(), protocol.HasExpired):
	case err != nil && ctx.Err() == nil:
		q.outcome = err.Error()
	}
	j.r.note(j.p.name, "has asked %s: %s %s %s", q.id, q.outcome, q.value, q.by)
	return q
}

// plainly returns an answer as people send it: that to an approval is true or false.
func plainly(value json.RawMessage) string {
	var d struct{ Decision string }
	if json.Unmarshal(value, &d) == nil && d.Decision != "" {
		return strconv.FormatBool(d.Decision == "allow")
	}
	return string(value)
}

// steer receives a message of a user. Like an engine, it recognizes a message by its id.
func (j *job) steer(m protocol.Steering) error {
	if j.p.dead.Load() {
		return context.Canceled
	}
	j.r.mu.Lock()
	defer j.r.mu.Unlock()
	j.steered[m.ID]++
	j.r.note(j.p.name, "receives the message %s of %s", m.ID, m.By)
	return nil
}

// runID returns the id of the run, or "" if hostd has never received it.
func (j *job) runID() string { return j.src.Run(j.r.phase.ctx) }

// epilogue asks a last question when no faults happen any more, and checks what the phones show.
func (j *job) epilogue() {
	if j.p.dead.Load() {
		j.src.End(1) // ends its goroutines; nothing of it arrives
		return
	}
	var asking sync.WaitGroup
	var q *question
	asking.Go(func() { q = j.ask(finalChannel, time.Minute) })
	time.Sleep(showsFor)
	id := j.lastAsked()
	for _, x := range j.r.seen.phones {
		if !x.shows(j.title, id) {
			j.r.failed("J16", "the phone of %s does not show the question %s of %s after %s", x.user, id, j.title, showsFor)
		}
	}
	j.r.seen.phones[0].decide(j.title, id, true)
	asking.Wait()
	if q.outcome != "answered" {
		j.r.failed("J16", "the last question of %s is %s", j.title, q.outcome)
	}
	time.Sleep(showsFor)
	j.src.End(0)
}

// lastAsked returns the id of the last question.
func (j *job) lastAsked() (id string) {
	j.r.mu.Lock()
	defer j.r.mu.Unlock()
	var last time.Time
	for _, q := range j.r.seen.asked {
		if q.title == j.title && !q.at.Before(last) {
			id, last = q.id, q.at
		}
	}
	return id
}

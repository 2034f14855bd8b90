package sim

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/internal/engine/durable"
	"github.com/concerto-lang/concerto/internal/engine/runs"
	"github.com/concerto-lang/concerto/internal/record/journal"
)

// people answer questions. Each of them uses the command line, in processes of its own.
type people struct {
	open   func(p *process, run string) journal.Run // opens a run for a command
	pauses [5]time.Duration                         // before an answer

	tries   map[string]int      // attempts at answers by person and question
	sent    map[string]string   // names of questions by the answers that were sent
	given   map[string][]answer // acknowledged answers by question
	retries map[string]int      // decisions to perform an effect again, by its key, perhaps without a confirmation
	allowed map[string]bool     // descriptions of approvals to which a person has answered yes, likewise
}

// asked is a question to people.
type asked struct {
	run, id, channel string
	payload          json.RawMessage
	name             string // in names of calls
}

// answer is an answer whose storage was confirmed to a person.
type answer struct{ by, text string }

// readEvery is the time after which people read the open questions even if nothing was printed.
const readEvery = 10*time.Minute + 37*time.Millisecond

// pauses are the times before an answer to a run, and workerPauses those for the runs of workers.
// The longer ones let a run park.
var (
	pauses       = [5]time.Duration{0, 0, 511 * time.Millisecond, 20_017 * time.Millisecond, time.Hour + 53*time.Millisecond}
	workerPauses = [5]time.Duration{0, 0, 511 * time.Millisecond, 1009 * time.Millisecond, 11_017 * time.Millisecond}
)

// startPeople lets people answer until the returned function is called. answerAll lets them answer
// the questions that are open.
func (w *world) startPeople(answerAll func(), open func(p *process, run string) journal.Run, pauses [5]time.Duration) (end func()) {
	w.people = people{open: open, pauses: pauses, tries: map[string]int{}, sent: map[string]string{}, given: map[string][]answer{}, retries: map[string]int{}, allowed: map[string]bool{}}
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-stop: // first, if several can continue
				return
			default:
			}
			select {
			case <-w.news.wake:
				answerAll()
			case <-time.After(readEvery):
				answerAll()
			case <-stop:
				return
			}
		}
	}()
	return func() { close(stop); <-ended }
}

// answerAll lets people answer the open questions that they know of.
func (w *world) answerAll() {
	reader := w.start("ann")
	w.gate.pass(reader, "reads the questions")
	select {
	case <-w.news.wake: // what was printed until now
	default:
	}
	shown, err := runs.Show(w.run(reader, runName))
	if reader.dead.Load() {
		w.retry()
		return
	}
	if errors.Is(err, journal.ErrNoRun) {
		return
	}
	if err != nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.fail("J17", "`concerto runs show` fails: %v", err)
		return
	}
	var all []asked
	for _, q := range shown.Pending {
		all = append(all, asked{runID, q.ID, q.Channel, q.Payload, q.ID})
	}
	for _, u := range shown.Unknown {
		if u.Policy == durable.PolicyAsk {
			all = append(all, asked{runID, u.ID, journal.UnknownChannel, nil, u.ID})
		}
	}
	w.answerThese(all)
}

// answerThese lets Ann answer questions, and Bob some of them at the same time.
func (w *world) answerThese(questions []asked) {
	var all sync.WaitGroup
	for _, q := range questions {
		all.Go(func() { w.answer("ann", q) })
		if w.thinks("bob", q.name)%4 == 0 {
			all.Go(func() { w.answer("bob", q) })
		}
	}
	all.Wait()
}

// retry lets people whose command was killed use it again.
func (w *world) retry() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wake()
}

// thinks returns a random number that follows from the schedule's seed and a question.
func (w *world) thinks(who, id string) uint64 {
	return chance(w.schedule.People, who+" "+id)
}

// answer lets a person answer a question. No two answers are equal.
func (w *world) answer(who string, q asked) {
	w.mu.Lock()
	w.people.tries[who+q.name]++
	try, acknowledged := w.people.tries[who+q.name], len(w.people.given[q.name]) > 0
	w.mu.Unlock()
	if acknowledged && try > 2 && q.channel != journal.UnknownChannel { // the outcome of an effect may be unknown again
		return
	}
	x := w.thinks(who, q.name)
	time.Sleep(w.people.pauses[x%5])
	r := q.response(who, try, x)
	w.mu.Lock()
	w.people.sent[r.Text] = q.name
	switch r.Text {
	case "retry":
		w.people.retries[q.run+"-"+strings.TrimPrefix(q.id, "u")]++
	case "yes":
		w.people.allowed[q.text()] = true
	}
	w.mu.Unlock()
	p := w.start(who)
	if !w.gate.pass(p, "answers "+q.name) {
		w.retry()
		return
	}
	err := runs.Answer(w.people.open(p, q.run), q.id, r)
	w.mu.Lock()
	defer w.mu.Unlock()
	if p.dead.Load() { // the person sees that the command has ended, and tries again
		w.wake()
		return
	}
	w.confirm(who, q, r, err)
	w.answers.isSet = true
}

// text returns the payload of a question, which is a text.
func (q *asked) text() string { return strings.Trim(string(q.payload), `"`) }

// response returns what a person answers at an attempt. x is a random number.
func (q *asked) response(who string, try int, x uint64) runs.Response {
	r := runs.Response{Text: fmt.Sprintf("answer %d to %s by %s", try, q.name, who), By: who}
	switch q.channel {
	case "host:approval":
		r.Text = "yes"
	case "refuse":
		no := q.text() + " is refused"
		r.Refuse = &no
	case "number": // the first answer has the wrong type, and the question stays
		r.Text = []string{"seven", "7"}[min(try, 2)-1]
	case journal.UnknownChannel:
		r.Text = [...]string{"retry", "fail", "retry"}[x/5%3]
	}
	return r
}

// confirm notes the result of the command with which a person has answered. The caller has locked
// w.mu.
func (w *world) confirm(who string, q asked, r runs.Response, err error) {
	switch {
	case errors.As(err, new(*runs.Problem)):
		w.note(who, "answers %s: refused: %v", q.name, err)
		if r.Text == "seven" {
			w.wake()
		}
	case w.hasFailed(err): // the person tries again
		w.note(who, "answers %s: %v", q.name, err)
		w.wake()
	case err != nil:
		w.fail("J17", "%s cannot answer %s: %v", who, q.name, err)
	default:
		w.note(who, "answers %s: %q is acknowledged", q.name, r.Text)
		if w.people.given[q.name] = append(w.people.given[q.name], answer{who, r.Text}); len(w.people.given[q.name]) > 1 && q.channel != journal.UnknownChannel {
			w.fail("J5", "two answers to %s are acknowledged: %v", q.name, w.people.given[q.name])
		}
	}
}

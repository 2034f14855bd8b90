package sim

import (
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
	tries   map[string]int      // attempts at answers by person and question
	sent    map[string]string   // questions by the answers that were sent
	given   map[string][]answer // acknowledged answers by question
	retries map[string]int      // decisions to perform an effect again, by question
	allowed map[string]bool     // descriptions of approvals to which a person has answered yes, perhaps without a confirmation
}

// granted reports whether a person has answered yes to an approval.
func (p *people) granted(description string) bool { return p.allowed[description] }

// answer is an answer whose storage was confirmed to a person.
type answer struct{ by, text string }

// mayRetry returns how often people have decided that the effect with a key is performed again,
// also if they do not know whether the decision was stored.
func (p *people) mayRetry(key string) int {
	return p.retries["u"+key[strings.LastIndexByte(key, '-')+1:]]
}

// look is the time after which people read the open questions even if nothing was printed.
const look = 10*time.Minute + 37*time.Millisecond

// startPeople lets people answer until the returned function is called.
func (w *world) startPeople() (end func()) {
	w.people = people{map[string]int{}, map[string]string{}, map[string][]answer{}, map[string]int{}, map[string]bool{}}
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
				w.answerAll()
			case <-time.After(look):
				w.answerAll()
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
	questions := shown.Pending
	for _, u := range shown.Unknown {
		if u.Policy == durable.PolicyAsk {
			questions = append(questions, durable.ShownQuestion{ID: u.ID, Channel: journal.UnknownChannel})
		}
	}
	var all sync.WaitGroup
	for _, q := range questions {
		all.Go(func() { w.answer("ann", &q) })
		if w.thinks("bob", q.ID)%4 == 0 {
			all.Go(func() { w.answer("bob", &q) })
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
func (w *world) answer(who string, q *durable.ShownQuestion) {
	w.mu.Lock()
	w.people.tries[who+q.ID]++
	try, acknowledged := w.people.tries[who+q.ID], len(w.people.given[q.ID]) > 0
	w.mu.Unlock()
	if acknowledged && try > 2 && q.Channel != journal.UnknownChannel { // the outcome of an effect may be unknown again
		return
	}
	x := w.thinks(who, q.ID)
	time.Sleep([]time.Duration{0, 0, 511 * time.Millisecond, 20017 * time.Millisecond, time.Hour + 53*time.Millisecond}[x%5])
	r := runs.Response{Text: fmt.Sprintf("answer %d to %s by %s", try, q.ID, who), By: who}
	if strings.HasPrefix(q.Channel, "host:approval") {
		r.Text = "yes"
	}
	payload := strings.Trim(string(q.Payload), `"`)
	switch q.Channel {
	case "refuse":
		no := payload + " is refused"
		r.Refuse = &no
	case "number": // the first answer has the wrong type, and the question stays
		r.Text = []string{"seven", "7"}[min(try, 2)-1]
	case journal.UnknownChannel:
		r.Text = [...]string{"retry", "fail", "retry"}[x/5%3]
	}
	w.mu.Lock()
	w.people.sent[r.Text] = q.ID
	if r.Text == "retry" {
		w.people.retries[q.ID]++
	}
	if r.Text == "yes" {
		w.people.allowed[payload] = true
	}
	w.mu.Unlock()
	p := w.start(who)
	if !w.gate.pass(p, "answers "+q.ID) {
		w.retry()
		return
	}
	err := runs.Answer(w.run(p, runName), q.ID, r)
	w.mu.Lock()
	defer w.mu.Unlock()
	if p.dead.Load() { // the person sees that the command has ended, and tries again
		w.wake()
		return
	}
	if _, refused := errors.AsType[*runs.Problem](err); refused {
		w.note(who, "answers %s: refused: %v", q.ID, err)
		if r.Text == "seven" {
			w.wake()
		}
	} else if w.hasFailed(err) {
		w.note(who, "answers %s: %v", q.ID, err)
		w.wake()
	} else if err != nil {
		w.fail("J17", "%s cannot answer %s: %v", who, q.ID, err)
	} else {
		w.note(who, "answers %s: %q is acknowledged", q.ID, r.Text)
		if w.people.given[q.ID] = append(w.people.given[q.ID], answer{who, r.Text}); len(w.people.given[q.ID]) > 1 && q.Channel != journal.UnknownChannel {
			w.fail("J5", "two answers to %s are acknowledged: %v", q.ID, w.people.given[q.ID])
		}
	}
	w.answers.isSet = true
}

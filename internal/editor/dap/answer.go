package dap

import (
	"context"
	"strings"
	"sync"
)

// asking holds the questions of the run for the person who debugs: awaited emits without another
// handler.
type asking struct {
	mu      sync.Mutex
	waiting []chan string // those asked and not answered, the first asked first
}

// answerCommand answers in the console what the run asks.
const answerCommand = ":answer"

// Ask shows a question of the run in the editor and waits for the answer.
func (r *Run) Ask(ctx context.Context, prompt string) (string, error) {
	given := make(chan string, 1)
	r.asking.mu.Lock()
	r.asking.waiting = append(r.asking.waiting, given)
	r.asking.mu.Unlock()
	r.s.say("important", strings.TrimRight(prompt, " \n")+"\nAnswer it in the console with `"+answerCommand+" VALUE`.\n")
	select {
	case v := <-given:
		return v, nil
	case <-ctx.Done():
		r.asking.drop(given)
		return "", context.Cause(ctx)
	}
}

func (a *asking) drop(given chan string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i, x := range a.waiting {
		if x == given {
			a.waiting = append(a.waiting[:i], a.waiting[i+1:]...)
			return
		}
	}
}

// give answers the oldest question, or returns false if there is none.
func (a *asking) give(v string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.waiting) == 0 {
		return false
	}
	a.waiting[0] <- v
	a.waiting = a.waiting[1:]
	return true
}

// answerOf returns the value of an `:answer VALUE`.
func answerOf(text string) (v string, ok bool) {
	rest, ok := strings.CutPrefix(strings.TrimSpace(text), answerCommand)
	if !ok || rest != "" && rest[0] != ' ' {
		return "", false
	}
	return strings.TrimSpace(rest), true
}

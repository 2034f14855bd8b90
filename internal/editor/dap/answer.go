package dap

import (
	"context"
	"strings"
	"sync"
)

// questionQueue stores the questions of the run that the user must answer: awaited emits that no
// other handler answers.
type questionQueue struct {
	mu      sync.Mutex
	waiting []chan string // one channel for each unanswered question, the oldest first
}

// answerCommand is the console command that answers a question of the run.
const answerCommand = ":answer"

// Ask shows a question of the run in the editor and waits for the answer.
func (r *Run) Ask(ctx context.Context, prompt string) (string, error) {
	answer := make(chan string, 1)
	r.asking.mu.Lock()
	r.asking.waiting = append(r.asking.waiting, answer)
	r.asking.mu.Unlock()
	r.s.sendOutput("important", strings.TrimRight(prompt, " \n")+"\nAnswer it in the console with `"+answerCommand+" VALUE`.\n")
	select {
	case v := <-answer:
		return v, nil
	case <-ctx.Done():
		r.asking.drop(answer)
		return "", context.Cause(ctx)
	}
}

func (a *questionQueue) drop(answer chan string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i, x := range a.waiting {
		if x == answer {
			a.waiting = append(a.waiting[:i], a.waiting[i+1:]...)
			return
		}
	}
}

// answerOldest answers the oldest question. It returns false if there is none.
func (a *questionQueue) answerOldest(v string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.waiting) == 0 {
		return false
	}
	a.waiting[0] <- v
	a.waiting = a.waiting[1:]
	return true
}

// answerOf returns the value after `:answer`. ok is false if text is not an `:answer` command.
func answerOf(text string) (v string, ok bool) {
	rest, ok := strings.CutPrefix(strings.TrimSpace(text), answerCommand)
	if !ok || rest != "" && rest[0] != ' ' {
		return "", false
	}
	return strings.TrimSpace(rest), true
}

package adapter

import "fmt"

// plan counts the steps of an agent's plan.
type plan struct {
	done, all int
	now, next string // text of the current step, and of the first step after it
}

func (p *plan) addStep(text string, done, now bool) {
	p.all++
	switch {
	case done:
		p.done++
	case now && p.now == "":
		p.now = text
	case p.next == "":
		p.next = text
	}
}

// String returns a text like "2 of 5: STEP".
func (p *plan) String() string {
	at := p.now
	if at == "" {
		at = p.next
	}
	return about(fmt.Sprintf("%d of %d", p.done, p.all), short(at))
}

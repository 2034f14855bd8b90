package activity

import (
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/vm"
)

// BenchmarkQuestion measures the processing of a question and its answer.
func BenchmarkQuestion(b *testing.B) {
	began := time.Now()
	events := 0
	f := New(Options{OnEvent: func(Event) { events++ }, Since: func() time.Duration { return time.Since(began) }})
	f.TaskBegan(1, 0, vm.Place{Function: "main"})
	f.Requested(1, &effect.ExchangeOpen{Host: "A"})(&effect.ExchangeOpened{ID: 1}, nil)
	typ, id, payload, err := value.ParseMessage([]byte(`{"type":"question","id":"q1","question":"Which of them is it?"}`))
	if err != nil {
		b.Fatal(err)
	}
	messages := &effect.ExchangeMessages{Messages: []effect.HostMessage{{Type: typ, ID: string(id), Payload: payload}}}
	next, reply := &effect.ExchangeNext{ID: 1}, &effect.ExchangeReply{ID: 1, InReplyTo: "question", AnswerTo: `"q1"`, Value: []byte(`"this one"`), By: effect.ByHandler}
	b.ReportAllocs()
	for b.Loop() {
		f.Requested(1, next)(messages, nil)
		f.Requested(1, reply)
	}
	if events < 2*b.N {
		b.Fatal(events)
	}
}

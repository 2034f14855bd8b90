package activity

import (
	"testing"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/internal/testkit/testevents"
	"github.com/concerto-lang/concerto/vm"
)

// BenchmarkQuestion measures the processing of a question and its answer.
func BenchmarkQuestion(b *testing.B) {
	events := 0
	f := testevents.New(nil, New(func(Event) { events++ }).Sink())
	f.TaskBegan(1, 0, vm.Place{Function: "main"})
	f.Perform(1, &effect.ExchangeOpen{Host: "A"}, &effect.ExchangeOpened{ID: 1}, nil)
	typ, id, payload, err := value.ParseMessage([]byte(`{"type":"question","id":"q1","question":"Which of them is it?"}`))
	if err != nil {
		b.Fatal(err)
	}
	messages := &effect.ExchangeMessages{Messages: []effect.HostMessage{{Type: typ, ID: string(id), Payload: payload}}}
	next, reply := &effect.ExchangeNext{ID: 1}, &effect.ExchangeReply{ID: 1, InReplyTo: "question", AnswerTo: `"q1"`, Value: []byte(`"this one"`), By: effect.ByHandler}
	b.ReportAllocs()
	for b.Loop() {
		f.Perform(1, next, messages, nil)
		f.Perform(1, reply, nil, nil)
	}
	if events < 2*b.N {
		b.Fatal(events)
	}
}

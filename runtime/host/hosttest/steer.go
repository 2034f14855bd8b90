package hosttest

import (
	"github.com/concerto-lang/concerto/internal/data/effect"
)

var steerRules = []rule{
	{"H55", "A host with the capability `steer` gets a message of the program as `{\"type\":\"steer\",\"id\":\"t1\",\"text\":\"…\"}` while it works on a turn. The message has no response. The ids of an exchange are `t1`, `t2`, and so on.", steered},
	{"H56", "For any other host the message is queued: it is the prompt of the exchange's next turn, with `\"queued\":true`, which is sent to the same process when the current turn has ended, or to a new one if the process has exited before it read the prompt. It has the `schema` of the exchange, and if the host has the capability `resume` and has named the conversation, its `session`.", queued},
	{"H57", "The result of an earlier turn is passed on as a `progress` with the stage `turn`, whose `payload` is the result, and only the last turn's result ends the exchange. A host reports `usage`, `cost_usd`, `turns` and `models` as totals since its prompt, also the prompt of a later turn; the program, and the limits of the exchange, receive their sums over the turns. No turn begins in an exchange that has reached a limit. An `error` ends the exchange. If an exchange ends before its queued messages were sent, the log names the first.", turnEnds},
	{"H58", "To interrupt a turn, a host with the capability `cancel` gets `cancel` with the reason `interrupted`. Its next terminal message ends the turn, whatever it is; requests of the turn that have no answer are withdrawn. If the program has a new prompt, that is the next turn's; otherwise the exchange fails with the code `interrupted`. The process continues to run.", interrupted},
	{"H59", "A host that does not end an interrupted turn within `cancel_grace` fails the exchange with the code `interrupted` and is terminated as at a timeout. A host without the capability `cancel` cannot be interrupted: the code is `unsupported`.", interruptedInVain},
	{"H60", "A message for an exchange whose terminal message has been read, or that was interrupted without a new prompt, is refused with the code `idle`.", idle},
	{"H61", "The program may continue an exchange whose turn has ended with a result, until it closes the exchange. The prompt of the next turn is sent as in H56, and its result ends the turn. The host's totals are those of H57. No turn begins in an exchange that has reached a limit, or whose `timeout` has passed.", continued},
}

// steer sends a message to the host and checks its outcome.
func (x *talk) steer(r effect.ExchangeSteer, outcome string) {
	x.w.Helper()
	r.ID = x.id
	got, err := x.w.hosts.Perform(x.w.ctx, &r)
	if err != nil {
		x.w.Fatalf("steer: %v", err)
	}
	if got := got.(*effect.ExchangeSteered).Outcome; got != outcome {
		x.w.Fatalf("steer: %s, want %s", got, outcome)
	}
}

// refused checks that a message to the host is refused with a code.
func (x *talk) refused(r effect.ExchangeSteer, code string) {
	x.w.Helper()
	r.ID = x.id
	_, err := x.w.hosts.Perform(x.w.ctx, &r)
	if err == nil {
		x.w.Fatalf("steer succeeds, want the code %s", code)
	}
	if got := x.w.hostError(err).Fields["code"]; got != code {
		x.w.Fatalf("steer: %v with the code %v, want %s", err, got, code)
	}
}

func steered(w *world) {
	w.start(withParams(w, `
read
< {"type":"init_ack","capabilities":["steer"]}
> {"type":"prompt","text":"one"}
< {"type":"progress"}
>= {"type":"steer","id":"t1","text":"also \"this\""}
>= {"type":"steer","id":"t2","text":"and that"}
< {"type":"result","text":"both"}
> {"type":"prompt","text":"two"}
< {"type":"progress"}
>= {"type":"steer","id":"t1","text":"again"}
< {"type":"result","text":"one"}
`))
	x := w.open("one")
	x.want("progress", `{}`)
	x.steer(effect.ExchangeSteer{Text: `also "this"`}, effect.SteerReceived)
	x.steer(effect.ExchangeSteer{Text: "and that"}, effect.SteerReceived)
	x.want("result", `{"text":"both"}`)
	x.close()
	x = w.open("two")
	x.want("progress", `{}`)
	x.steer(effect.ExchangeSteer{Text: "again"}, effect.SteerReceived)
	x.want("result", `{"text":"one"}`)
	x.close()
}

func queued(w *world) {
	c := withParams(w, `
read
< {"type":"init_ack","capabilities":["resume","tools"]}
>= {"type":"prompt","text":"one","context":{"a":1},"schema":{"type":"object"},"tools":[]}
< {"type":"progress","session":"s"}
await asked
< {"type":"result","text":"first"}
>= {"type":"prompt","text":"two","schema":{"type":"object"},"session":"s","tools":[],"queued":true}
< {"type":"result","text":"second"}
>= {"type":"prompt","text":"three","schema":{"type":"object"},"session":"s","tools":[],"queued":true}
< {"type":"result","text":"third"}
`)
	plain := w.named("plain", `
read
await both
< plain text
>= two\nlines
< the end
`)
	plain.OutputFormat, plain.InputFormat = "text", "text"
	w.start(c, plain)
	x, err := w.tryOpen(effect.ExchangeOpen{Host: "worker", Prompt: "one", Context: []byte(`{"a":1}`), Schema: []byte(`{"type":"object"}`)})
	if err != nil {
		w.Fatal(err)
	}
	x.want("progress", `{"session":"s"}`)
	x.steer(effect.ExchangeSteer{Text: "two"}, effect.SteerQueued)
	x.steer(effect.ExchangeSteer{Text: "three"}, effect.SteerQueued)
	w.make("asked")
	x.want("progress", `{"message":"first","stage":"turn","next":"t1","payload":{"type":"result","text":"first","session":"s"}}`)
	x.want("progress", `{"message":"second","stage":"turn","next":"t2","payload":{"type":"result","text":"second","session":"s"}}`)
	x.want("result", `{"text":"third","session":"s"}`)
	x.close()

	x = w.openAt("plain", "one")
	x.steer(effect.ExchangeSteer{Text: "two\nlines"}, effect.SteerQueued)
	w.make("both")
	x.want("progress", `{"message":"plain text","stage":"turn","next":"t1","payload":{"type":"result","text":"plain text"}}`)
	x.want("result", `{"text":"the end"}`)
	x.close()
}

func turnEnds(w *world) {
	w.start(w.worker(`
read
await one
< {"type":"result","text":"first\nof two","usage":{"tokens_in":3,"tokens_out":1},"cost_usd":0.5,"turns":2}
read
< {"type":"question","id":"q"}
>~ {"type":"response","answer_to":"q","value":1}
< {"type":"result","text":"last","usage":{"tokens_out":4,"note":"x"},"cost_usd":1,"session":"s"}
read
await two
< {"type":"error","message":"no"}
> {"type":"prompt","text":"three"}
< {"type":"result","text":"three"}
`))
	x := w.open("one")
	x.steer(effect.ExchangeSteer{Text: "more"}, effect.SteerQueued)
	w.make("one")
	x.want("progress", `{"message":"first","stage":"turn","next":"t1","cost_usd":0.5,"turns":2,"usage":{"tokens_in":3,"tokens_out":1},`+
		`"payload":{"type":"result","text":"first\nof two","usage":{"tokens_in":3,"tokens_out":1},"cost_usd":0.5,"turns":2}}`)
	x.reply(x.want("question", `{"id":"q"}`), "1")
	x.want("result", `{"text":"last","usage":{"tokens_out":5,"note":"x","tokens_in":3},"cost_usd":1.5,"session":"s","turns":2}`)
	x.close()

	x = w.open("two")
	x.steer(effect.ExchangeSteer{Text: "never sent"}, effect.SteerQueued)
	w.make("two")
	x.want("error", `{"message":"no","session":"s"}`)
	x.close()
	if !w.remarked(`warn: host 'worker' ended its exchange: a queued message was not sent: "never sent"`) {
		w.Error("the log does not name the message that was not sent")
	}
	w.askFor("three", `{"text":"three","session":"s"}`)
}

// askFor runs a whole exchange and checks that its only message is a result with the given members.
func (w *world) askFor(prompt, body string) {
	w.Helper()
	x := w.open(prompt)
	x.want("result", body)
	x.close()
}

func interrupted(w *world) {
	w.start(withParams(w, ackCancel+`
> {"type":"prompt","text":"one"}
< {"type":"question","id":"answered"}
>~ {"type":"response","answer_to":"answered"}
< {"type":"question","id":"open"}
< {"type":"question","id":7}
< {"type":"withdraw","id":7}
< {"type":"progress"}
>= {"type":"cancel","reason":"interrupted"}
< {"type":"log","message":"stopping"}
< {"type":"error","message":"stopped"}
>= {"type":"prompt","text":"instead","queued":true}
< {"type":"question","id":"next"}
>= {"type":"cancel","reason":"interrupted"}
< {"type":"result","text":"half"}
> {"type":"prompt","text":"two"}
< {"type":"result","text":"two"}
`))
	x := w.open("one")
	x.reply(x.want("question", `{"id":"answered"}`), "1")
	x.want("question", `{"id":"open"}`)
	for {
		if m, err := x.next(); err != nil {
			w.Fatal(err)
		} else if m.Type == "progress" { // the withdrawn question may have arrived before it
			break
		}
	}
	x.steer(effect.ExchangeSteer{Text: "instead", Interrupt: true}, effect.SteerInterrupted)
	x.want("log", `{"message":"stopping"}`)
	x.want("withdraw", `{"id":"open"}`)
	x.want("progress", `{"message":"stopped","stage":"turn","next":"t1","payload":{"type":"error","message":"stopped"}}`)
	x.want("question", `{"id":"next"}`)
	x.steer(effect.ExchangeSteer{Interrupt: true}, effect.SteerInterrupted)
	x.refused(effect.ExchangeSteer{Interrupt: true}, "idle")
	x.refused(effect.ExchangeSteer{Text: "late"}, "idle")
	x.want("withdraw", `{"id":"next"}`)
	x.want("error", `{"message":"host 'worker' was interrupted","code":"interrupted"}`)
	x.close()
	w.ask("two", "two")
	if n := len(w.spawns("worker")); n != 1 {
		w.Errorf("the host was started %d times, want once", n)
	}
}

func interruptedInVain(w *world) {
	c := withParams(w, "on-sigterm signalled\n"+ackCancel+`
read
> {"type":"cancel","reason":"interrupted"}
> {"type":"cancel","reason":"interrupted"}
hang
`)
	c.CancelGrace = 0.05
	other := w.named("other", `
read
await tried
< {"type":"result","text":"done"}
`)
	w.start(c, other)
	x := w.open("go")
	x.steer(effect.ExchangeSteer{Text: "stop", Interrupt: true}, effect.SteerInterrupted)
	e := x.fails()
	if e.Fields["code"] != "interrupted" || e.Message != "host 'worker' did not end its turn within 0.05 seconds after it was interrupted" {
		w.Errorf("error = %v with the code %v", e, e.Fields["code"])
	}
	x.close()
	w.await("signalled")
	x = w.openAt("other", "go")
	x.refused(effect.ExchangeSteer{Text: "stop", Interrupt: true}, "unsupported")
	w.make("tried")
	x.want("result", `{"text":"done"}`)
	x.close()
	w.endAsync()()
}

func idle(w *world) {
	w.start(w.worker(`
read
< {"type":"progress"}
await steered
< {"type":"result","text":"one"}
`))
	x := w.open("one")
	x.want("progress", `{}`)
	w.make("steered")
	x.want("result", `{"text":"one"}`)
	x.refused(effect.ExchangeSteer{Text: "late"}, "idle")
	x.refused(effect.ExchangeSteer{Interrupt: true}, "idle")

	x.close()
}

// continueWith begins a further turn.
func (x *talk) continueWith(prompt string) {
	x.w.Helper()
	if _, err := x.w.hosts.Perform(x.w.ctx, &effect.ExchangeContinue{ID: x.id, Prompt: prompt, Reason: effect.ContinueSchema}); err != nil {
		x.w.Fatalf("continue: %v", err)
	}
}

func continued(w *world) {
	w.start(withParams(w, `
read
< {"type":"init_ack","capabilities":["resume"]}
>= {"type":"prompt","text":"one"}
< {"type":"progress","session":"s"}
< {"type":"result","text":"first","usage":{"tokens_in":3},"turns":2}
>= {"type":"prompt","text":"two","session":"s","queued":true}
< {"type":"question","id":"q"}
>~ {"type":"response","answer_to":"q","value":1}
< {"type":"result","text":"second","usage":{"tokens_in":4},"turns":1}
>= {"type":"prompt","text":"three","session":"s","queued":true}
< {"type":"result","text":"third","usage":{"tokens_in":5}}
> {"type":"prompt","text":"other"}
< {"type":"result","text":"other"}
`))
	x := w.open("one")
	x.want("progress", `{"session":"s"}`)
	x.want("result", `{"text":"first","usage":{"tokens_in":3},"turns":2,"session":"s"}`)
	x.continueWith("two")
	x.reply(x.want("question", `{"id":"q"}`), "1")
	x.want("result", `{"text":"second","usage":{"tokens_in":7},"turns":3,"session":"s"}`)
	x.refused(effect.ExchangeSteer{Text: "late"}, "idle")
	x.continueWith("three")
	x.want("result", `{"text":"third","usage":{"tokens_in":12},"turns":3,"session":"s"}`)
	x.close()
	w.askFor("other", `{"text":"other","session":"s"}`)
}

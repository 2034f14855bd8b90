package hosttest

import (
	"fmt"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
)

var messageRules = []rule{
	{"H34", "All members except `type` are the message's payload, in the order sent.", payloads},
	{"H35", "`result` and `error` end the exchange; the process waits for the next prompt.", terminalMessages},
	{"H36", "A message belongs to the exchange in which it was written: a message that the host wrote before the next prompt was sent is ignored, whenever it is read, and logged.", outOfTurn},
	{"H37", "A `withdraw` that arrives before its request was passed to the program removes both: the program sees neither.", withdrawn},
	{"H38", "`in_reply_to` is the type of the answered message, `answer_to` its `id` as the host wrote it, omitted if it had none. `value` is any JSON; `error`, a text, replaces it if the message could not be handled.", responses},
	{"H39", "Requests that were sent before the terminal message are answered even after the terminal message has arrived.", lateAnswers},
}

func payloads(w *world) {
	w.start(w.worker(`
read
< {"z":1,"type":"anything at all","a":{"type":"inner"},"list":[1,2.5,null,true],"id":5}
< {"type":"result","text":"é\n","n":9007199254740993}
`))
	x := w.open("go")
	m := x.want("anything at all", `{"z":1,"a":{"type":"inner"},"list":[1,2.5,null,true],"id":5}`)
	if m.ID != "5" || string(m.Text) != `{"z":1,"type":"anything at all","a":{"type":"inner"},"list":[1,2.5,null,true],"id":5}` {
		w.Errorf("id = %q, text = %s, want id 5 and the line as sent", m.ID, m.Text)
	}
	if m = x.want("result", `{"text":"é\n","n":9007199254740993}`); m.ID != "" {
		w.Errorf("id = %q, want none", m.ID)
	}
}

// terminalMessages sends each terminal message after each other message, each in a separate
// exchange.
func terminalMessages(w *world) {
	ends := hostmsg.Types((*hostmsg.Message).Terminal)
	others := hostmsg.Types(func(m *hostmsg.Message) bool { return m.Sender == hostmsg.Host && !m.Terminal() })
	script := ""
	for _, end := range ends {
		script += fmt.Sprintf("> {\"type\":\"prompt\",\"text\":%q}\n", end)
		for _, typ := range others {
			script += fmt.Sprintf("< {\"type\":%q,\"id\":%[1]q}\n", typ)
		}
		script += fmt.Sprintf("< {\"type\":%q,\"message\":\"no disk\",\"code\":\"E1\"}\n", end)
	}
	w.start(w.worker(script + "read\n< {\"type\":\"result\",\"text\":\"fine\"}\n"))
	for _, end := range ends {
		x := w.open(end)
		for _, typ := range others {
			x.want(typ, fmt.Sprintf("{\"id\":%q}", typ))
		}
		x.want(end, `{"message":"no disk","code":"E1"}`)
		if _, err := x.next(); err == nil {
			w.Errorf("a message arrived after %s", end)
		}
		x.close()
	}
	w.ask("and then", "fine")
}

func outOfTurn(w *world) {
	w.start(w.worker(`
read
< {"type":"result","text":"one"}
< {"type":"progress","message":"too late"}
< {"type":"result","text":"again"}
write written all
await go
read
batch
< {"type":"result","text":"two"}
< a line of text
end
read
< {"type":"result","text":"three"}
`))
	w.ask("go", "one")
	w.await("written") // output after the next prompt would belong to that
	w.until("the remark", func() bool {
		return w.remarked("warn: host 'worker' sent a message of type 'progress' outside an exchange")
	})
	w.make("go")
	w.ask("go", "two")
	w.ask("go", "three")
}

// withdrawn withdraws each type of message with each type of withdrawal. Messages that need no
// reply must not be removed.
func withdrawn(w *world) {
	backs := hostmsg.Types(func(m *hostmsg.Message) bool { return m.Role == hostmsg.Withdraws })
	types := hostmsg.Types((*hostmsg.Message).Handled)
	script := ""
	for _, back := range backs {
		script += "read\nbatch\n"
		for _, typ := range types {
			script += fmt.Sprintf("< {\"type\":%q,\"id\":%[1]q}\n", typ)
		}
		script += "< {\"type\":\"question\",\"id\":7}\n< {\"type\":\"question\",\"id\":\"kept\"}\n"
		for _, typ := range types {
			script += fmt.Sprintf("< {\"type\":%q,\"id\":%q}\n", back, typ)
		}
		script += fmt.Sprintf("< {\"type\":%q,\"id\":7}\n< {\"type\":%[1]q,\"id\":\"unknown\"}\nend\n>~ {\"answer_to\":\"kept\"}\n< {\"type\":\"result\"}\n", back)
	}
	w.start(w.worker(script))
	for _, back := range backs {
		x := w.open("go")
		var stay []string
		for _, typ := range types {
			if !hostmsg.Lookup(typ).Waits() {
				stay = append(stay, typ)
				x.want(typ, fmt.Sprintf("{\"id\":%q}", typ))
			}
		}
		m := x.want("question", `{"id":"kept"}`)
		for _, typ := range stay {
			x.want(back, fmt.Sprintf("{\"id\":%q}", typ))
		}
		x.want(back, `{"id":"unknown"}`)
		x.reply(m, "1")
		x.want("result", `{}`)
		x.close()
	}
}

func responses(w *world) {
	w.start(w.worker(`
read
< {"type":"question","id":"q\u00e91"}
>= {"type":"response","in_reply_to":"question","answer_to":"q\u00e91","value":{"a":[1,null]}}
< {"type":"approval","id":17}
>= {"type":"response","in_reply_to":"approval","answer_to":17,"value":false}
< {"type":"own thing"}
>= {"type":"response","in_reply_to":"own thing","value":null}
< {"type":"tool_call","id":"t","tool":"x"}
>= {"type":"response","in_reply_to":"tool_call","answer_to":"t","error":"no \"x\" here"}
< {"type":"result"}
`))
	x := w.open("go")
	x.reply(x.want("question", `{"id":"qé1"}`), `{"a":[1,null]}`)
	x.reply(x.want("approval", `{"id":17}`), `false`)
	x.reply(x.want("own thing", `{}`), ``)
	m := x.want("tool_call", `{"id":"t","tool":"x"}`)
	r := &effect.ExchangeReply{ID: x.id, InReplyTo: m.Type, AnswerTo: m.ID, Error: `no "x" here`}
	if _, err := w.hosts.Perform(w.ctx, r); err != nil {
		w.Fatal(err)
	}
	x.want("result", `{}`)
}

func lateAnswers(w *world) {
	w.start(w.worker(`
read
< {"type":"question","id":1}
< {"type":"question","id":2}
< {"type":"result","text":"end"}
> {"type":"response","in_reply_to":"question","answer_to":1,"value":"a"}
> {"type":"response","in_reply_to":"question","answer_to":2,"value":"b"}
> {"type":"prompt","text":"next"}
< {"type":"result","text":"next"}
`))
	x := w.open("go")
	a, b := x.want("question", `{"id":1}`), x.want("question", `{"id":2}`)
	x.want("result", `{"text":"end"}`)
	x.reply(a, `"a"`)
	x.reply(b, `"b"`)
	x.close()
	w.ask("next", "next")
}

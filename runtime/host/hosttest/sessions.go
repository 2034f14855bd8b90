package hosttest

import (
	"github.com/concerto-lang/concerto/internal/data/effect"
)

var sessionRules = []rule{
	{"H49", "Any message may have a member `session`, a text: the host's name for the conversation. The last name that it sent is part of every result and of every error of the exchange, also if it exits, times out or violates the protocol.", namesSession},
	{"H50", "A prompt with `session` goes to the process that last named the conversation, if that is idle. A host without the capability `resume` does not get it: the call fails with `host '<name>' cannot resume a session`, whose code is `resume`, and the process continues to run.", resumes},
}

func namesSession(w *world) {
	c := w.worker(`
read
< {"type":"progress","session":"a"}
< {"type":"progress","session":"b"}
< {"type":"result","text":"x"}
read
< {"type":"error","message":"no"}
read
< {"type":"result","session":"c"}
read
< {"type":"log","session":7}
exit 3
--- spawn
read
exit 3
--- spawn
read
< {"type":"log","session":"d"}
bytes ff0a
--- spawn
read
< {"type":"log","session":"e"}
hang
`)
	c.Timeout = 2
	w.start(c)
	x := w.open("named twice")
	x.want("progress", `{"session":"a"}`)
	x.want("progress", `{"session":"b"}`)
	x.want("result", `{"text":"x","session":"b"}`)
	x.close()
	x = w.open("an error")
	x.want("error", `{"message":"no","session":"b"}`)
	x.close()
	x = w.open("its own")
	x.want("result", `{"session":"c"}`)
	x.close()
	for _, end := range []struct{ prompt, log, session string }{
		{"dies", `{"session":7}`, "c"}, {"a new process", "", ""}, {"no text", `{"session":"d"}`, "d"}, {"too late", `{"session":"e"}`, "e"},
	} {
		x = w.open(end.prompt)
		if end.log != "" {
			x.want("log", end.log)
		}
		if got, _ := x.fails().Fields["session"].(string); got != end.session {
			w.Errorf("prompt %s: session of the error = %q, want %q", end.prompt, got, end.session)
		}
		x.close()
	}
}

// resumes tests a host that can resume sessions, one that cannot, and one that is not initialised.
func resumes(w *world) {
	can := w.named("can", `
>= {"type":"init"}
< {"type":"init_ack","capabilities":["resume"]}
read
< {"type":"result","session":"a"}
>= {"type":"prompt","text":"continue","session":"a"}
< {"type":"result"}
>= {"type":"prompt","text":"of another run","session":"z"}
exit 0
--- spawn
>= {"type":"init"}
< {"type":"init_ack","capabilities":["resume"]}
>= {"type":"prompt","text":"after its death","session":"z"}
< {"type":"result"}
`)
	cannot := w.named("cannot", `
>= {"type":"init"}
< {"type":"init_ack"}
read
< {"type":"result","session":"a"}
>= {"type":"prompt","text":"still there"}
< {"type":"result","text":"yes"}
`)
	two := w.named("two", `
>= {"type":"init"}
< {"type":"init_ack","capabilities":["resume"]}
read
< {"type":"result","session":"a"}
--- spawn
>= {"type":"init"}
< {"type":"init_ack","capabilities":["resume"]}
read
< {"type":"result","session":"b"}
>= {"type":"prompt","text":"continue","session":"b"}
< {"type":"result"}
`)
	two.Instances = 2
	can.Init, cannot.Init, two.Init = true, true, true
	w.start(can, cannot, two, w.worker(`
read
< {"type":"result","session":"a"}
>= {"type":"prompt","text":"still there"}
< {"type":"result","text":"yes"}
`))
	x := w.openAt("can", "go")
	x.want("result", `{"session":"a"}`)
	x.close()
	w.resume("can", "continue", "a", `{"session":"a"}`)
	x = w.openOn("can", "of another run", "z")
	if e := x.fails(); e.Fields["session"] != "z" {
		w.Errorf("session of the error = %v, want z", e.Fields["session"])
	}
	x.close()
	w.resume("can", "after its death", "z", `{"session":"z"}`)
	x = w.openAt("two", "go")
	beside := w.openAt("two", "go")
	x.want("result", `{"session":"a"}`)
	beside.want("result", `{"session":"b"}`)
	x.close()
	beside.close()
	w.resume("two", "continue", "b", `{"session":"b"}`)
	for _, name := range []string{"cannot", "worker"} {
		x = w.openAt(name, "go")
		x.want("result", `{"session":"a"}`)
		x.close()
		_, err := w.tryOpen(effect.ExchangeOpen{Host: name, Prompt: "again", Session: "a"})
		if err == nil {
			w.Fatalf("host %s, which cannot resume, continues a session", name)
		}
		if e := w.hostError(err); e.Fields["code"] != "resume" || e.Message != "host '"+name+"' cannot resume a session" {
			w.Errorf("host %s: error %v with code %v, want that it cannot resume a session", name, e, e.Fields["code"])
		}
		x = w.openAt(name, "still there")
		x.want("result", `{"text":"yes","session":"a"}`)
		x.close()
	}
}

// openOn begins an exchange of a host that continues a session.
func (w *world) openOn(name, prompt, session string) *talk {
	w.Helper()
	x, err := w.tryOpen(effect.ExchangeOpen{Host: name, Prompt: prompt, Session: session})
	if err != nil {
		w.Fatalf("open %s: %v", name, err)
	}
	return x
}

// resume runs a whole exchange that continues a session, and checks its result.
func (w *world) resume(name, prompt, session, result string) {
	w.Helper()
	x := w.openOn(name, prompt, session)
	x.want("result", result)
	x.close()
}

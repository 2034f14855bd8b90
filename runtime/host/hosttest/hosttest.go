package hosttest

import "testing"

func Run(t *testing.T, peer Peer) {
	t.Run("smoke", func(t *testing.T) {
		w := newWorld(t, peer)
		c := w.worker(`
> {"type":"init","params":{"a":1}}
< {"type":"init_ack"}
> {"type":"prompt","text":"go"}
< {"type":"progress","message":"p"}
< {"type":"question","id":"q1","question":"?"}
> {"type":"response","in_reply_to":"question","answer_to":"q1","value":"yes"}
< {"type":"result","text":"done"}
> {"type":"prompt","text":"more"}
< plain
`)
		c.Params = []byte(`{"a":1}`)
		w.start(c)
		x := w.open("go")
		x.want("progress", `{"message":"p"}`)
		x.reply(x.want("question", `{"id":"q1","question":"?"}`), `"yes"`)
		x.want("result", `{"text":"done"}`)
		x.close()
		w.ask("more", "plain")
	})
}

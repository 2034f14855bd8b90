package cli

import (
	"os"
	"strings"
	"time"

	"github.com/concerto-lang/concerto/internal/testkit/randtest"
)

const ms = time.Millisecond

// result makes the host send its last message.
const result = "\n< {\"type\":\"result\",\"text\":\"done\"}\n"

var done = []string{"[ok] done"}

// unreadable returns rows whose messages end the exchange and the host's process.
func unreadable() []misdeed {
	rows := []misdeed{
		{n: 35, name: "a line of a gigabyte", host: "read\nnow when\nbig 1000000000 {\"type\":\"result\",\"text\":\"${fill}\"}\nwrite finished x", made: []string{"!finished"},
			err: "~host 'W' sent a line longer than 16777216 bytes \\(\\d+ read, at offset 0 of its output\\)", bounds: bounds{within: 1000 * ms, rss: 100}, how: how{heavy: true}},
		{n: 35, name: "a line over max_line", keys: "max_line = 100", host: "read\n< {\"type\":\"progress\"}\nnow when\nbig 101 {\"type\":\"result\",\"text\":\"${fill}\"}\nhang",
			out: []string{"[host:progress] {}"}, err: "host 'W' sent a line longer than 100 bytes (101 read, at offset 20 of its output)", bounds: bounds{within: 100 * ms}},
		{n: 36, name: "invalid UTF-8", host: "read\n< {\"type\":\"progress\"}\nnow when\nbytes 7b22ff227d0a\nhang", out: []string{"[host:progress] {}"},
			err: "host 'W' sent a line of 5 bytes that is not valid UTF-8 (byte 2 of it, at offset 20 of its output)", bounds: bounds{within: 100 * ms}},
		{n: 37, name: "cut off within a message", host: "read\n< {\"type\":\"progress\"}\nstderr oh\nnow when\nraw {\"type\":\"resu\nexit 0", out: []string{"[host:progress] {}"},
			err: `host 'W' ended in the middle of a message (13 bytes): {"type":"resu`, exit: noExit, stderr: "oh", bounds: bounds{within: 1200 * ms}},
		{n: 38, name: "nested too deep in a message", host: "read\nnow when\nnest 10001 {\"type\":\"result\",\"text\":${nest}}\nhang",
			err: "~host 'W' sent an invalid message \\(.*nest.*\\): \\{\"type\":\"result\",\"text\":\\[+…", bounds: bounds{within: 100 * ms}},
		{n: 38, name: "nested too deep in text", host: "read\nnow when\nnest 10001 ${nest}\nhang",
			err: "~host 'W' sent an invalid message \\(.*nest.*\\): \\[+…", bounds: bounds{within: 100 * ms}},
	}
	for i := range rows {
		rows[i].starts = 1
	}
	return rows
}

// asks is the body of a program that answers all requests of the host and prints them.
const asks = `
    listened(listen W.execute("go") {
        "question" => |q| { emit("asked", q); "to ${q.question}" },
        "approval" => |a| { emit("asked", a); "yes" },
    });`

// harmless returns rows whose messages do not end the exchange.
func harmless() []misdeed {
	rows := []misdeed{
		{n: 39, name: "NUL in a text", host: "read\n< {\"type\":\"result\",\"text\":\"a\\u0000b\"}", out: []string{"[ok] a\x00b"}},
		{n: 39, name: "NUL in plain text", host: "read\nbytes 6100620a", out: []string{"[ok] a\x00b"}},
		{n: 39, name: "NUL among messages", host: "read\n< {\"type\":\"progress\"}\nbytes 6100620a" + result, out: []string{"[host:progress] {}", "[ok] done"},
			log: []string{`^warn: host 'W' sent a line that is not a message; it is skipped: a\\x00b$`}},
		{n: 40, name: "CRLF, mark and blank lines", host: "read\nbytes efbbbf0a0d0a\ncrlf {\"type\":\"progress\"}\nraw   \nbytes 0a0a" + "\ncrlf {\"type\":\"result\",\"text\":\"done\"}",
			out: []string{"[host:progress] {}", "[ok] done"}},
		{n: 41, name: "half lines", host: "read\ndrip 3 {\"type\":\"progress\",\"message\":\"é\"}\nraw {\"type\":\"resul\nraw t\",\"text\":\nraw \"done\"}\nbytes 0a",
			out: []string{`[host:progress] {"message":"é"}`, "[ok] done"}},
		{n: 42, name: "a question without id", host: "read\n< {\"type\":\"question\",\"question\":\"A\"}\n> {\"type\":\"response\",\"in_reply_to\":\"question\",\"value\":\"to A\"}" + result,
			body: asks, out: []string{`[asked] {"question":"A"}`, `[ok] done`}},
		{n: 43, name: "two requests with one id", host: "read\n< {\"type\":\"question\",\"id\":1,\"question\":\"A\"}\n< {\"type\":\"question\",\"id\":1,\"question\":\"B\"}\n" +
			"> {\"type\":\"response\",\"in_reply_to\":\"question\",\"answer_to\":1,\"value\":\"to A\"}\n> {\"type\":\"response\",\"in_reply_to\":\"question\",\"answer_to\":1,\"value\":\"to B\"}" + result,
			body: asks, out: []string{`[asked] {"id":1,"question":"A"}`, `[asked] {"id":1,"question":"B"}`, `[ok] done`}},
		{n: 44, name: "a message after the result", host: "serve\nread\nbatch\n< {\"type\":\"result\",\"text\":\"done\"}\n< {\"type\":\"progress\",\"message\":\"late\"}\nend\nend",
			body: twice, out: []string{"[ok] done", "[ok] done"}, log: []string{`^warn: host 'W' sent a message of type 'progress' outside an exchange; it is ignored: \{"type":"progress","message":"late"\}`}},
		{n: 45, name: "two results in one write", host: "serve\nread\nbatch\n< {\"type\":\"result\",\"text\":\"done\"}\n< {\"type\":\"result\",\"text\":\"again\"}\nend\nend",
			body: twice, out: []string{"[ok] done", "[ok] done"}, log: []string{`^warn: host 'W' sent a message of type 'result' outside an exchange; it is ignored: \{"type":"result","text":"again"\}`}},
		{n: 46, name: "a result before the prompt", keys: "params = { a = 1 }", host: "read\nbatch\n< {\"type\":\"init_ack\"}\n< {\"type\":\"result\",\"text\":\"early\"}\nend\nread" + result,
			out: done, log: []string{`^warn: host 'W' sent a message of type 'result' outside an exchange; it is ignored: \{"type":"result","text":"early"\}`}},
		{n: 47, name: "init_ack in an exchange", host: "read\n< {\"type\":\"init_ack\",\"version\":\"2\"}" + result,
			out: []string{`[listen:unhandled] {"host":"W","type":"init_ack","message":{"version":"2"}}`, "[ok] done"}},
		{n: 48, name: "withdraw of an unknown id", host: "read\n< {\"type\":\"withdraw\",\"id\":\"none\"}\n< {\"type\":\"withdraw\"}" + result, out: done},
		{n: 49, name: "our own messages echoed", host: "read\nraw ${.}\nbytes 0a\n< {\"type\":\"question\",\"id\":7,\"question\":\"A\"}\nread\nraw ${.}\nbytes 0a\n< {\"type\":\"response\",\"in_reply_to\":\"question\",\"answer_to\":99,\"value\":1}" + result,
			body: asks, out: []string{`[listen:unhandled] {"host":"W","type":"prompt","message":{"text":"go"}}`, `[asked] {"id":7,"question":"A"}`,
				`[listen:unhandled] {"host":"W","type":"response","message":{"answer_to":7,"in_reply_to":"question","value":"to A"}}`,
				`[listen:unhandled] {"host":"W","type":"response","message":{"in_reply_to":"question","answer_to":99,"value":1}}`, `[ok] done`}},
		{n: 50, name: "a JSON-RPC answer to nothing", keys: `transport = "acp"`, host: acpBegins + "< {\"jsonrpc\":\"2.0\",\"id\":99,\"result\":{}}\n" + acpEnds,
			out: []string{`[host:log] {"level":"warn","message":"a response to an unknown request: {\"jsonrpc\":\"2.0\",\"id\":99,\"result\":{}}"}`, "[ok] done"}},
		{n: 51, name: "an unknown vendor request", keys: `transport = "acp"`, host: acpBegins + "< {\"jsonrpc\":\"2.0\",\"id\":50,\"method\":\"moon/phase\",\"params\":{}}\n" +
			">~ {\"id\":50,\"error\":{\"code\":-32601,\"message\":\"concerto does not support moon/phase\"}}\n< {\"jsonrpc\":\"2.0\",\"method\":\"moon/rises\",\"params\":{}}\n" + acpEnds,
			body: `
    listened(listen W.execute("go") { "progress" => |p| emit("p", [p.stage, p.message]), "question" => |q| "", "approval" => |a| "no" });`,
			out: []string{`[host:refused] {"host":"W","id":"50","name":"moon/phase","reason":"concerto does not support moon/phase"}`, `[p] ["other","moon/rises"]`, "[ok] done"}},
		{n: 52, name: "text among a vendor's JSON", keys: `transport = "acp"`, host: acpBegins + "< npm warn deprecated\n" + acpEnds,
			out: []string{`[host:log] {"level":"warn","message":"npm warn deprecated"}`, "[ok] done"}},
	}
	for i := range rows {
		rows[i].starts = 1
	}
	return rows
}

const twice = `
    tell(W.execute("go"));
    tell(W.execute("again"));`

// acpBegins and acpEnds are the messages that an ACP agent sends before and after the messages of a
// row.
const (
	acpBegins = ">~ {\"method\":\"initialize\"}\n< {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"protocolVersion\":1,\"agentCapabilities\":{}}}\n" +
		">~ {\"method\":\"session/new\"}\n< {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"sessionId\":\"s1\"}}\n" +
		">~ {\"method\":\"session/prompt\",\"id\":3}\n"
	acpEnds = "< {\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{\"sessionId\":\"s1\",\"update\":{\"sessionUpdate\":\"agent_message_chunk\",\"content\":{\"type\":\"text\",\"text\":\"done\"}}}}\n" +
		"< {\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"stopReason\":\"end_turn\"}}\n"
)

// nowhere returns rows in which concerto cannot write its output. The run and its host must then
// exit.
func nowhere() []misdeed {
	talks := "read\nrepeat 1000000\nflood 10 {\"type\":\"progress\"}\nend\nhang"
	return []misdeed{
		{n: 55, name: "our output is full", host: talks, starts: 1, status: 1, log: []string{"no space left on device"}, how: how{stdout: full}},
		{n: 55, name: "our output is closed", host: talks, starts: 1, status: 1, log: []string{"."}, how: how{stdout: closed}},
	}
}

// floods returns rows in which the host sends very many or very long messages without ending the
// exchange. CONCERTO_ROWS_FULL makes the floods as large as possible; the limit on memory does not
// change.
func floods() []misdeed {
	messages, lines := "1000000", "2000000"
	switch {
	case randtest.Raced:
		messages = "100000"
	case os.Getenv("CONCERTO_ROWS_FULL") != "":
		messages, lines = "10000000", "20000000" // of 50 bytes
	}
	return []misdeed{
		{n: 53, name: "a flood of standard error", starts: 1, out: done,
			host: "read\nstderr-flood " + lines + " " + strings.Repeat("x", 49) + "\nstderr-flood 1 " + strings.Repeat("y", 20_000) + result,
			log:  []string{`^W: x{49}$`, `^W: … \d+ lines dropped$`}, bounds: bounds{rss: 60}, how: how{heavy: true}},
		{n: 54, name: "a flood of messages", starts: 1,
			host: "read\nflood " + messages + " {\"type\":\"progress\",\"n\":${i}}" + result,
			body: `
    let mut heard = 0;
    let r = listen W.execute("go") {
        "progress" => |p| {
            if p.n != heard { emit("lost", [p.n, heard]); }
            heard += 1;
            if heard % 50000 == 0 { std::time::sleep(20); }
        },
        "question" => |q| "", "approval" => |a| "no",
    };
    emit("heard", heard);
    listened(r);`, decl: ", timeout: 100", out: []string{"[heard] " + messages, `[ok] done`}, bounds: bounds{rss: 60}, how: how{heavy: true}},
	}
}

package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// misdeeds returns all rows of the table.
func misdeeds() []misdeed {
	return slices.Concat(cannotStart, noAcknowledgement, exitsEarly, neverDone, unreadable(), harmless(), nowhere(), floods(), limitRows)
}

func put(name, text string, mode os.FileMode) func(dir string) error {
	return func(dir string) error {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), mode); err != nil {
			return err
		}
		return os.Chmod(filepath.Join(dir, name), mode)
	}
}

func makeDir(name string, mode os.FileMode) func(dir string) error {
	return func(dir string) error {
		if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil { // an unprivileged user must be able to enter the directory
			return err
		}
		return os.Mkdir(filepath.Join(dir, name), mode)
	}
}

// elapsed is the body of a program. It prints whether a call that must not start a process was fast
// enough.
var elapsed = fmt.Sprintf(`
    let t = std::time::monotonic_ms();
    let r = W.execute("go");
    emit("fast", !%t || std::time::monotonic_ms() - t <= 50);
    tell(r);`, strict)

const checkCommand = ": check command in [hosts.w] of Concerto.toml"

var fast = []string{"[fast] true"}

var cannotStart = []misdeed{
	{n: 1, name: "not found", keys: `command = "no-such-program"`, body: elapsed, out: fast,
		err: "host 'W' cannot be started: command 'no-such-program' not found" + checkCommand},
	{n: 2, name: "not executable", keys: `command = "./agent"`, prep: put("agent", "#!/bin/sh\n", 0o644), body: elapsed, out: fast,
		err: "~host 'W' cannot be started: command '/.*/agent' is not executable: run chmod \\+x, or set its interpreter as command in \\[hosts.w\\] of Concerto.toml"},
	{n: 3, name: "exec format error", keys: `command = "./agent"`, prep: put("agent", "\x00\x01nothing", 0o755), body: elapsed, out: fast,
		err: "~host 'W' cannot be started: command '/.*/agent' is not a program: add a first line like '#!/bin/sh', or set its interpreter as command in \\[hosts.w\\] of Concerto.toml"},
	{n: 4, name: "a directory", keys: `command = "./agent"`, prep: makeDir("agent", 0o755), body: elapsed, out: fast,
		err: "~host 'W' cannot be started: command '/.*/agent' is a directory: check command in \\[hosts.w\\] of Concerto.toml"},
	{n: 5, name: "interpreter missing", keys: `command = "./agent"`, prep: put("agent", "#!/no/such/interpreter\n", 0o755), body: elapsed, out: fast,
		err: "~host 'W' cannot be started: command '/.*/agent' names an interpreter that does not exist: check its first line and command in \\[hosts.w\\] of Concerto.toml"},
	{n: 6, name: "working_dir gone", keys: "command = \"sh\"\nworking_dir = \"gone\"", body: elapsed, out: fast,
		err: "~host 'W' cannot be started: command 'sh' needs the working directory /.*/gone, which does not exist or is not a directory: check working_dir in \\[hosts.w\\] of Concerto.toml"},
	{n: 7, name: "no permission on working_dir", keys: "command = \"sh\"\nworking_dir = \"locked\"", prep: makeDir("locked", 0), body: elapsed, out: fast,
		err: "~host 'W' cannot be started: command 'sh' needs the working directory /.*/locked, which cannot be entered: check working_dir in \\[hosts.w\\] of Concerto.toml", how: how{user: true}},
}

const noAck = "host 'W' did not acknowledge initialization: "

// withParams makes concerto wait for the host's acknowledgement. The time limit is long enough for
// the race detector on a busy machine.
const withParams = "params = { a = 1 }\ninit_timeout = 4"

var noAcknowledgement = []misdeed{
	{n: 9, name: "silent", keys: withParams, host: "read\nhang", starts: 1,
		err: noAck + "it sent nothing within 4 seconds", bounds: bounds{expected: 4, within: 100 * ms}},
	{n: 10, name: "other answer", keys: withParams, host: "read\nnow when\n< {\"type\":\"progress\",\"message\":\"hm\"}\nhang", starts: 1,
		err: noAck + `it answered {"type":"progress","message":"hm"}`, bounds: bounds{within: 100 * ms}},
	{n: 11, name: "text banner", keys: withParams, host: "now when\n< Welcome to Agent 3.2\nread\n< {\"type\":\"init_ack\"}\nhang", starts: 1,
		err: noAck + "it answered Welcome to Agent 3.2", bounds: bounds{within: 100 * ms}},
	{n: 12, name: "exits", keys: withParams, host: "read\nstderr no licence\nnow when\nexit 4", starts: 1,
		err: noAck + "it exited with code 4", exit: 4, stderr: "no licence", bounds: bounds{within: 100 * ms}},
	// The host acknowledges only when it is asked to exit. The next process must not count as
	// acknowledged because of that.
	{n: 13, name: "acknowledges too late", keys: "params = { a = 1 }\ninit_timeout = 5", starts: 2,
		host: "on-sigterm told\nread\nawait told\n< {\"type\":\"init_ack\"}\nexit 0\n--- spawn\nread\n< {\"type\":\"init_ack\"}\nread\n< {\"type\":\"result\",\"text\":\"second\"}",
		body: "    tell(W.execute(\"go\"));\n    tell(W.execute(\"again\"));", out: []string{"[ok] second"}, made: []string{"told"},
		err: noAck + "it sent nothing within 5 seconds", bounds: bounds{expected: 5, within: 100 * ms}},
	{n: 14, name: "acknowledges twice", keys: withParams, starts: 1,
		host: "read\nbatch\n< {\"type\":\"init_ack\"}\n< {\"type\":\"init_ack\"}\nend\nread\n< {\"type\":\"result\",\"text\":\"done\"}",
		out:  []string{"[ok] done"}, log: []string{"^warn: host 'W' sent a message of type 'init_ack' outside an exchange; it is ignored: "}},
	{n: 15, name: "vendor too old", keys: `transport = "claude-code"`, host: `
#!/bin/sh
case "$*" in *--version*) echo '2.0.0 (Claude Code)'; exit;; esac
date +%s%N > when
echo $$ $$ >> w.host.spawns
while read -r line; do
	case $line in
	*initialize*) echo '{"type":"control_response","response":{"subtype":"success","request_id":"i1","response":{}}}' ;;
	*) echo "$line" >> prompted ;;
	esac
done`, starts: 1, made: []string{"!prompted"},
		err: "host 'W' is Claude Code 2.0.0, but at least 2.1.0 is required", code: "version", bounds: bounds{within: 100 * ms}},
	{n: 16, name: "vendor needs login", keys: `transport = "acp"`, starts: 1,
		host: ">~ {\"method\":\"initialize\"}\n< {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"protocolVersion\":1,\"agentCapabilities\":{}}}\n" +
			">~ {\"method\":\"session/new\"}\nnow when\n< {\"jsonrpc\":\"2.0\",\"id\":2,\"error\":{\"code\":-32000,\"message\":\"Authentication required\"}}\nhang",
		err: "host init failed: session/new: Authentication required", code: "-32000", bounds: bounds{within: 100 * ms}},
}

const exitedEarly = "~host exited without result: .*"

// waits returns the body of a program that handles the host's messages. Its handler of questions
// waits for a very long time.
func waits(handlers string) string {
	return `
    listened(listen W.execute("go") {
        "question" => |q| { let _ = std::fs::write_file("asked", "x"); std::time::sleep(100000); emit("never", q); "a" },
        "approval" => |a| { emit("never", a); "no" },` + handlers + `
    });`
}

var exitsEarly = []misdeed{
	{n: 17, name: "exits 0", host: "read\nstderr bye\nnow when\nexit 0", starts: 1, err: exitedEarly, exit: noExit, stderr: "bye", bounds: bounds{within: 1200 * ms}},
	{n: 18, name: "exits 7", host: "read\nstderr first\nstderr no blueprint\nnow when\nexit 7", starts: 1, err: exitedEarly, exit: 7, stderr: "first\nno blueprint", bounds: bounds{within: 1200 * ms}},
	{n: 19, name: "crashes", host: "#!/bin/sh\nread -r line\ndate +%s%N > when\nkill -SEGV $$\n", err: exitedEarly, exit: 139, bounds: bounds{within: 1200 * ms}},
	{n: 20, name: "dies while a handler runs", host: "read\n< {\"type\":\"question\",\"id\":1}\nawait asked\nnow when\nexit 5", starts: 1, body: waits(""),
		err: exitedEarly, exit: 5, bounds: bounds{within: 1200 * ms}},
	{n: 21, name: "dies with requests unanswered", starts: 1, body: waits(`
        "progress" => |p| emit("heard", p.n),`), out: []string{"[heard] 1"},
		host: "read\n< {\"type\":\"question\",\"id\":1}\n< {\"type\":\"approval\",\"id\":2}\n< {\"type\":\"question\",\"id\":3}\n< {\"type\":\"progress\",\"n\":1}\nawait asked\nnow when\nkill KILL",
		err:  exitedEarly, exit: 137, bounds: bounds{within: 1200 * ms}},
	{n: 22, name: "dies between exchanges", host: "read\n< {\"type\":\"result\",\"text\":\"one\"}\nexit 1\n--- spawn\nread\n< {\"type\":\"result\",\"text\":\"two\"}", starts: 2,
		body: "    tell(W.execute(\"go\"));\n    tell(W.execute(\"again\"));", out: []string{"[ok] one", "[ok] two"}},
	{n: 23, name: "closes its output and lives on", host: "on-sigterm told\nread\nstderr still here\nnow when\nclose-stdout\nawait told\nexit 0", starts: 1, made: []string{"told"},
		err: "~host exited without result: '.*' closed its output but is still running", stderr: "still here", bounds: bounds{within: 1200 * ms}},
	{n: 24, name: "its child holds the output", host: "read\nspawn-grandchild child\nnow when\nexit 3", starts: 1, made: []string{"child"}, err: exitedEarly, exit: 3, bounds: bounds{within: 1200 * ms}},
	{n: 25, name: "a child in a session of its own holds the output", host: "read\nspawn-grandchild child own-session\nnow when\nexit 4", starts: 1, made: []string{"child"},
		err: exitedEarly, exit: 4, bounds: bounds{within: 1200 * ms}},
}

const tooLong = "host 'W' timed out after 3 seconds"

// threeSeconds sets a timeout that is long enough for a host to start on a busy machine.
const threeSeconds = ", timeout: 3"

var neverDone = []misdeed{
	// The host is killed five seconds after the timeout. Only the end of the run waits for that,
	// not the program.
	{n: 26, name: "stops itself", host: "read\nstop", starts: 1, decl: threeSeconds, err: tooLong, code: "timeout", bounds: bounds{expected: 3, within: 100 * ms, lasts: 8}},
	{n: 27, name: "never answers", host: "on-sigterm told\nread\nstderr pondering\nawait told\nexit 0", starts: 1, decl: threeSeconds, made: []string{"told"},
		err: tooLong, code: "timeout", stderr: "pondering", bounds: bounds{expected: 3, within: 100 * ms}},
	{n: 28, name: "talks for ever", host: "read\nrepeat 100000000\nflood 100 {\"type\":\"progress\"}\nend", starts: 1, decl: threeSeconds,
		body: `
    let mut heard = 0;
    listened(listen W.execute("go") { "progress" => |p| { heard += 1; }, "question" => |q| "", "approval" => |a| "no" });
    emit("much", heard > 1000);`, out: []string{"[much] true"}, err: tooLong, code: "timeout", bounds: bounds{expected: 3, within: 100 * ms}},
	{n: 29, name: "a byte a second", host: "read\ndrip 1000 {\"type\":\"result\",\"text\":\"never\"}", starts: 1, decl: ", timeout: 2.5",
		err: "host 'W' timed out after 2.5 seconds", code: "timeout", bounds: bounds{expected: 2.5, within: 100 * ms}},
	{n: 30, name: "deaf to SIGTERM", host: "on-sigterm told\nread\nhang", starts: 1, decl: threeSeconds, made: []string{"told"},
		err: tooLong, code: "timeout", bounds: bounds{expected: 3, within: 100 * ms, lasts: 8}},
	{n: 31, name: "a child deaf to SIGTERM", host: "on-sigterm told\nread\nspawn-grandchild child ignore-sigterm\nawait told\nexit 0", starts: 1, decl: threeSeconds, made: []string{"told", "child"},
		err: tooLong, code: "timeout", bounds: bounds{expected: 3, within: 100 * ms, lasts: 8}},
	{n: 32, name: "never reads 100 MB of answers", host: "read\nflood 100 {\"type\":\"question\",\"id\":${i}}\nhang", starts: 1, decl: ", timeout: 3",
		body: `
    let much = "x".repeat(1000000);
    let mut asked = 0;
    listened(listen W.execute("go") { "question" => |q| { asked += 1; much }, "approval" => |a| "no" });
    emit("waits", asked < 20);`, out: []string{"[waits] true"},
		err: "host 'W' timed out after 3 seconds", code: "timeout", bounds: bounds{expected: 3, within: 100 * ms}},
	{n: 32, name: "never reads a prompt of 100 MB", host: "now when\nhang", starts: 1, decl: ", timeout: 3",
		body: `
    let much = "x".repeat(100000000);
    tell(W.execute(much));`,
		err: "host 'W' timed out after 3 seconds", code: "timeout", bounds: bounds{expected: 3, within: 100 * ms}, how: how{heavy: true}},
	{n: 33, name: "ignores cancel", keys: "params = { a = 1 }", decl: ", timeout: 4", starts: 1, made: []string{"told", "signalled"},
		host: "on-sigterm signalled\nread\n< {\"type\":\"init_ack\",\"capabilities\":[\"cancel\"]}\nread\n> {\"type\":\"cancel\",\"reason\":\"timeout\"}\nwrite told x\nawait signalled\nexit 0",
		err:  "host 'W' timed out after 4 seconds", code: "timeout", bounds: bounds{expected: 4, within: 100 * ms}},
}

// limitRows expect the error at the moment at which the host exceeds a limit.
var limitRows = []misdeed{
	{n: 56, name: "eats memory", keys: "limits = { memory_mb = 100 }", host: "read\nstderr hungry\nuse-memory 100 1000 when\nhang", starts: 1,
		err: "host 'W' used more than 100 MB of memory and was stopped", code: "limit_memory", exit: 137, stderr: "hungry", bounds: bounds{within: 500 * ms}},
	{n: 57, name: "spins", keys: "limits = { cpu_seconds = 1.1 }", host: "read\nuse-cpu 1.1 20 when\nhang", starts: 1,
		err: "host 'W' used more than 1.1 seconds of CPU and was stopped", code: "limit_cpu", exit: 137, bounds: bounds{within: 500 * ms, lasts: 1}},
	{n: 58, name: "forks 1,000", keys: "limits = { processes = 50 }", host: "read\nuse-processes 50 1000 when\nhang", starts: 1,
		err: "host 'W' used more than 50 processes and was stopped", code: "limit_processes", exit: 137, bounds: bounds{within: 500 * ms}},
	{n: 59, name: "silent beyond its heartbeat", keys: "heartbeat = 3", host: "on-sigterm told\nread\nstderr hm\nnow when\n< {\"type\":\"progress\"}\nawait told\nexit 0", starts: 1, made: []string{"told"},
		out: []string{"[host:progress] {}"}, err: "host 'W' sent nothing for 3 seconds", code: "heartbeat", stderr: "hm", bounds: bounds{expected: 3, within: 500 * ms}},
	{n: 60, name: "dies at each start", host: "read\nstderr no paper\nnow when\nexit 9", starts: 5,
		body: "    for n in 0..5 { if let Err(e) = W.execute(\"go\") { emit(\"died\", e.message); } }\n" + defaultBody,
		out:  slices.Repeat([]string{"[died] host exited without result: 'W' exited with status 9: no paper"}, 5),
		err:  "host 'W' failed to start 5 times in a row: host exited without result: 'W' exited with status 9: no paper", code: "crash_loop", exit: 9, stderr: "no paper", bounds: bounds{within: 500 * ms}},
}

package hosttest

import (
	"strings"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/runtime/host"
)

var initRules = []rule{
	{"H22", "The first line after the start is `init` with all parameters, in the manifest's order; numbers stay exact.", initFirst},
	{"H23", "Parameters of `params_env` are read from the environment when the process is started, and sent as strings after the others, or in the place of one with the same name.", paramsEnv},
	{"H24", "If such a variable is not set, the call fails with an error that names it, and no process is started.", paramsEnvUnset},
	{"H25", "Without parameters there is no `init`: the first line is the prompt. With `init = true` in the manifest Concerto sends one without `params`, so that the host can report its capabilities.", noInit},
	{"H26", "A host that does not answer within `init_timeout`, or if that is not set its timeout (10 seconds if none is set; 60 for a vendor's agent), fails the call with `host '<name>' did not acknowledge initialization`.", initSilence},
	{"H27", "A host that answers with `error` fails the call with `host init failed: ` and that message.", initError},
	{"H28", "Any other answer fails the call in the same way and is quoted in the error; so does the exit of the process, with its exit code and the end of its standard error.", initOther},
	{"H29", "A process whose initialisation failed is terminated.", initFailureEnds},
	{"H30", "`init_ack` may have any members. In `capabilities`, `\"cancel\"` means that the host understands `cancel`, \"resume\" that it uses the `session` of a prompt, \"tools\" that it requests the list of its tools, \"steer\" that it understands `steer`.", ackMembers},
}

const ackAndEcho = "< {\"type\":\"init_ack\"}\n" + echo

func initFirst(w *world) {
	c := w.worker(`
>= {"type":"init","params":{"z":1,"a":{"y":[1,2.0],"b":"x <&>"},"big":9007199254740993,"f":1e2}}
` + ackAndEcho)
	c.Params = []byte(`{"z": 1, "a": {"y":[1,2.0],"b":"x <&>"}, "big": 9007199254740993, "f": 1e2}`)
	w.start(c)
	w.ask("one", "one")
	w.ask("two", "two")
}

func paramsEnv(w *world) {
	c := w.worker(`
>= {"type":"init","params":{"model":"from env","n":1,"token":"s3cr3t \"x\"","empty":""}}
` + ackAndEcho)
	c.Params = []byte(`{"model":"opus","n":1}`)
	c.ParamsEnv = []host.ParamEnv{{Param: "token", Env: "TOKEN"}, {Param: "model", Env: "MODEL"}, {Param: "empty", Env: "EMPTY"}}
	solo := w.named("solo", `
>= {"type":"init","params":{"key":"from env"}}
`+ackAndEcho)
	solo.ParamsEnv = []host.ParamEnv{{Param: "key", Env: "MODEL"}}
	w.startIn([]string{`TOKEN=s3cr3t "x"`, "MODEL=wrong", "MODEL=from env", "EMPTY="}, c, solo)
	w.ask("one", "one")
	w.openAt("solo", "one").want("result", `{"text":"one"}`)
}

func paramsEnvUnset(w *world) {
	c := w.worker("exit 1\n")
	c.ParamsEnv = []host.ParamEnv{{Param: "token", Env: "WORKER_TOKEN"}}
	w.startIn(nil, c)
	e := w.openFails("go")
	for _, part := range []string{"host 'worker'", "WORKER_TOKEN", "not set", "[hosts.worker.params_env]", "'token'"} {
		if !strings.Contains(e.Message, part) {
			w.Errorf("message %q does not contain %q", e.Message, part)
		}
	}
	if got := w.spawns("worker"); len(got) != 0 {
		w.Errorf("the host was started %d times, want never", len(got))
	}
}

func noInit(w *world) {
	c := w.worker("> {\"type\":\"prompt\",\"text\":\"go\"}\n< {\"type\":\"result\",\"text\":\"no init\"}\n")
	c.Params = []byte(`{}`)
	acking := w.named("heard", "> {\"type\":\"init\"}\n< {\"type\":\"init_ack\"}\nread\n< {\"type\":\"result\",\"text\":\"init\"}\n")
	acking.Init = true
	w.start(c, acking)
	w.ask("go", "no init")
	x := w.openAt("heard", "go")
	x.want("result", `{"text":"init"}`)
	x.close()
}

// withParams returns the configuration of a host worker with a parameter, which is therefore
// initialised.
func withParams(w *world, script string) host.Config {
	c := w.worker(script)
	c.Params = []byte(`{"a":1}`)
	return c
}

func initSilence(w *world) {
	c := withParams(w, "read\nhang\n")
	c.Timeout = 0.2
	own := w.named("own", "read\nhang\n")
	own.Params, own.Timeout, own.InitTimeout = c.Params, 600, 0.1
	w.start(c, own)
	for name, after := range map[string]string{"worker": "0.2 seconds", "own": "0.1 seconds"} {
		_, err := w.tryOpen(effect.ExchangeOpen{Host: name, Prompt: "go"})
		if err == nil {
			w.Fatalf("an exchange with host %s was opened, want an error", name)
		}
		e := w.hostError(err)
		if !strings.HasPrefix(e.Message, "host '"+name+"' did not acknowledge initialization") || !strings.Contains(e.Message, after) {
			w.Errorf("message = %q, want a missing acknowledgement after %s", e.Message, after)
		}
	}
}

func initError(w *world) {
	w.start(withParams(w, `
read
< {"type":"error","message":"license expired in May","code":"E7","recoverable":false}
hang
--- spawn
read
< {"type":"error","code":7}
hang
`))
	e := w.openFails("go")
	if e.Message != "host init failed: license expired in May" || e.Fields["code"] != "E7" || e.Fields["recoverable"] != false || e.Fields["host"] != "worker" {
		w.Errorf("message = %q, fields = %v, want the host's error with code E7", e.Message, e.Fields)
	}
	if e := w.openFails("go"); e.Message != "host init failed: host 'worker' reported an error" || e.Fields["code"] != "7" {
		w.Errorf("message = %q, fields = %v, want that the initialisation failed, and code 7", e.Message, e.Fields)
	}
}

func initOther(w *world) {
	w.start(withParams(w, `
read
< Welcome to Worker 3.1
hang
--- spawn
read
< {"type":"result","text":"too early"}
hang
--- spawn
read
stderr no such model
exit 3
`))
	for _, line := range []string{"Welcome to Worker 3.1", `{"type":"result","text":"too early"}`} {
		if e := w.openFails("go"); e.Message != "host 'worker' did not acknowledge initialization: it answered "+line {
			w.Errorf("message = %q, want that the host answered with its line", e.Message)
		}
	}
	e := w.openFails("go")
	if e.Message != "host 'worker' did not acknowledge initialization: it exited with code 3" || e.Fields["exit_code"] != int64(3) || e.Fields["stderr"] != "no such model" {
		w.Errorf("message = %q, fields = %v, want exit code 3", e.Message, e.Fields)
	}
}

func initFailureEnds(w *world) {
	w.start(withParams(w, `
read
< no
spawn-grandchild child
hang
--- spawn
read
`+ackAndEcho))
	w.openFails("go")
	w.ask("go", "go")
	if p := w.spawns("worker"); len(p) != 2 || groupAlive(p[0]) {
		w.Errorf("starts = %v, want two with the first process exited", p)
	}
}

func ackMembers(w *world) {
	c := withParams(w, `
read
< {"type":"init_ack","version":"1.2.0","capabilities":["streaming",5,"cancel"],"note":{"x":1}}
read
< {"type":"progress"}
>~ {"type":"cancel"}
< {"type":"error","message":"stopped"}
`+echo)
	odd := w.named("odd", "read\n< {\"type\":\"init_ack\",\"capabilities\":\"cancel\"}\n"+echo)
	odd.Params = c.Params
	wants := w.named("wants", `
read
< {"type":"init_ack","capabilities":["tools"]}
>= {"type":"prompt","text":"what may I?","tools":[]}
< {"type":"result"}
`)
	wants.Params = c.Params
	w.start(c, odd, wants)
	x := w.open("go")
	x.want("progress", `{}`)
	x.close()
	w.ask("again", "again")
	w.openAt("odd", "go").want("result", `{"text":"go"}`)
	w.openAt("wants", "what may I?").want("result", `{}`)
}

// openFails checks that an exchange with worker cannot be opened, and returns the error.
func (w *world) openFails(prompt string) *effect.Error {
	w.Helper()
	_, err := w.tryOpen(effect.ExchangeOpen{Host: "worker", Prompt: prompt})
	if err == nil {
		w.Fatal("the exchange was opened")
	}
	return w.hostError(err)
}

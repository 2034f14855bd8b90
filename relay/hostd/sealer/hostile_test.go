package sealer_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/testkit/randtest"
	"github.com/concerto-lang/concerto/relay/protocol"
)

// leaf is a value in a frame. set replaces it, or removes it.
type leaf struct {
	path string
	old  any
	set  func(v any, remove bool)
}

// leavesOf returns all values of a JSON object, also the objects.
func leavesOf(path string, o map[string]any) (all []leaf) {
	for _, name := range slices.Sorted(maps.Keys(o)) {
		v := o[name]
		all = append(all, leaf{path + "." + name, v, func(v any, remove bool) {
			if o[name] = v; remove {
				delete(o, name)
			}
		}})
		if inner, ok := v.(map[string]any); ok {
			all = append(all, leavesOf(path+"."+name, inner)...)
		}
	}
	return all
}

// mutateValue returns another value.
func mutateValue(r *rand.Rand, old any) any {
	switch v := old.(type) {
	case string:
		if v == "" || r.IntN(4) == 0 {
			return v + string(rune('a'+r.IntN(26)))
		}
		i := r.IntN(len(v))
		return v[:i] + string(rune('a'+r.IntN(26))) + v[i+1:]
	case float64:
		return v + []float64{-1, 1, 0.5, 1 << 20}[r.IntN(4)]
	}
	return []any{nil, "x", 1.0, true, map[string]any{}, []any{}}[r.IntN(6)]
}

// otherTypes are types that a server may put in the place of another.
var otherTypes = []string{protocol.RunApprove, protocol.RunDeny, protocol.RunSendInput, protocol.RunSendKeys, protocol.RunStop, protocol.RunResize,
	protocol.RPCReadFile, protocol.RPCListDir, protocol.RPCGitStatus, protocol.RPCBash, protocol.RPCWriteFile, protocol.RPCStartRun, protocol.RPCStopRun, protocol.RPCTailLog, protocol.RPCMachineDoctor, protocol.RunDecide, protocol.RPCSealed}

// mutateFrame returns a changed form of a frame. other is the frame of another signed command.
func mutateFrame(t *testing.T, r *rand.Rand, frame, other []byte) (how string, out []byte) {
	t.Helper()
	var e, o map[string]any
	for text, v := range map[*[]byte]*map[string]any{&frame: &e, &other: &o} {
		if err := json.Unmarshal(*text, v); err != nil {
			t.Fatal(err)
		}
	}
	all := leavesOf("", e)
	one := all[r.IntN(len(all))]
	switch r.IntN(8) {
	case 0:
		how = "remove " + one.path
		one.set(nil, true)
	case 1: // the same member of the other command
		for _, theirs := range leavesOf("", o) {
			if theirs.path == one.path {
				how = "swap " + one.path
				one.set(theirs.old, false)
			}
		}
	case 2:
		how = "type"
		e["type"] = otherTypes[r.IntN(len(otherTypes))]
	case 3:
		how = "members of the other command"
		data, theirs := e["data"].(map[string]any), o["data"].(map[string]any)
		for name, v := range theirs {
			if r.IntN(2) == 0 {
				data[name] = v
			}
		}
	case 4:
		how = "another member"
		data := e["data"].(map[string]any)
		data[[]string{"id", "ct", "epoch", "by", "actor", "scope", "answer", "host", "signal", "grace_s", "text", "args_sha256", "timeout_s"}[r.IntN(13)]] = mutateValue(r, nil)
	case 5:
		i := r.IntN(len(frame))
		how = fmt.Sprintf("truncated at %d", i)
		return how, frame[:i]
	default:
		how = "change " + one.path
		one.set(mutateValue(r, one.old), false)
	}
	out, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	return how, out
}

// TestHostileServer is a server that changes sealed commands: it mutates each field of their
// frames, swaps fields between commands, changes their type, truncates them, and sends old commands
// again. Each effect must be one that a device has signed, and happen once.
func TestHostileServer(t *testing.T) {
	t.Parallel()
	n := 600
	if randtest.Night() {
		n = 10_000
	}
	w := newWorld(t)
	r := rand.New(rand.NewPCG(20261130, uint64(n)))
	allowed, how := map[string]int{}, map[string]string{}
	var old [][]byte
	controls := 0
	for i := 0; i < n; {
		run := fmt.Sprintf("run_%d", i)
		w.ask(run, "q1")
		w.ask(run, "q2")
		for _, c := range valid(run) {
			if c.id != "" {
				c.id = fmt.Sprintf("%s_%d", c.id, i)
			}
			c.run = map[bool]string{true: run}[c.run != ""]
			frame := w.frame(c.command)
			allowed[c.effect]++
			other := frame
			if len(old) > 0 {
				other = old[r.IntN(len(old))]
			}
			what, mutated := mutateFrame(t, r, frame, other)
			how[c.effect] = what
			w.send(mutated)
			if r.IntN(8) == 0 && c.typ != protocol.RunSendKeys && c.typ != protocol.RunSendInput { // inputs of a run depend on each other
				w.send(frame) // a machine that has performed the mutated one does not perform this one
				w.send(other)
			}
			old = append(old[max(0, len(old)-200):], frame)
			i++
		}
		// The machine has read everything when it has performed an unchanged command.
		control := command{typ: protocol.RunResize, run: run, id: fmt.Sprintf("control_%d", i), data: fmt.Sprintf(`{"cols":1000,"rows":%d}`, 1+i%1000), by: "cli"}
		effect := fmt.Sprintf("resize %s 1000 %d", run, 1+i%1000)
		allowed[effect]++
		controls++
		w.send(w.frame(control))
		w.await("the control "+effect, func() bool { return slices.Contains(w.effects, effect) })
	}
	w.end()
	w.end = func() {}
	performed := map[string]int{}
	for _, effect := range w.effects {
		if performed[effect]++; performed[effect] > allowed[effect] {
			t.Errorf("effect that no device has signed, or the second time: %q; the frame of the signed one was changed: %s", effect, how[effect])
		}
	}
	codes := map[protocol.Code]int{}
	for _, f := range w.refusals {
		codes[f.Code]++
	}
	t.Logf("%d mutated commands: %d effects besides %d controls, recorded refusals %v", n, len(w.effects)-controls, controls, codes)
	if len(w.effects)-controls > n/2 {
		t.Error("most mutations have changed nothing")
	}
	if !strings.Contains(w.ledger(), `"kind":"refused"`) {
		t.Error("the ledger has no refusal")
	}
}

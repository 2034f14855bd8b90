package sim

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/concerto-lang/concerto/internal/engine/runs"
	"github.com/concerto-lang/concerto/internal/sim/simdisk"
)

// is returns a check for one value, in which NAME means the block's name.
func is(want string) func(w *world, name, value string) string {
	return func(w *world, name, value string) string {
		if strings.HasPrefix(value, "failed") && w.diskFailed() {
			return ""
		}
		want := strings.ReplaceAll(want, "NAME", name)
		return unless(value == want, "J4: want %q", want)
	}
}

func unless(ok bool, format string, args ...any) string {
	if ok {
		return ""
	}
	return fmt.Sprintf(format, args...)
}

// sent checks the value of a request: an answer of the server, or a failure that is true.
func sent(w *world, name, value string) string {
	b, _ := w.schedule.Work.block(name)
	method := strings.ToUpper(strings.TrimSuffix(strings.TrimSuffix(b.Kind, "-retry"), "-fail"))
	all := w.server.answers(method + " /" + name)
	switch {
	case !strings.HasPrefix(value, "failed"):
		return unless(slices.Contains(all, value), "J3: the server answered %q", all)
	case strings.HasPrefix(value, "failed, false") && method == "POST":
		return unless(len(all) == 0 || w.hasLost(name), "J3: the server performed %q", all)
	}
	return unless(w.isDisturbed(), "J11: no fault explains the failure")
}

// hasLost reports whether a message about a block was lost or late, so that its request failed in
// the process that sent it.
func (w *world) hasLost(name string) bool {
	return slices.ContainsFunc(w.faults, func(f Fault) bool {
		return (f.Kind == Lose || f.Kind == Delay) && strings.Contains(f.At, "/"+name)
	})
}

// diskFailed reports whether an operation of the disk may have failed.
func (w *world) diskFailed() bool {
	return slices.ContainsFunc(w.faults, func(f Fault) bool { return f.Kind == Full || f.Kind == Broken })
}

// isDisturbed reports whether a fault has happened.
func (w *world) isDisturbed() bool { return len(w.faults) > 0 }

// answeredBy checks that a value is the acknowledged answer of a person. If none is, it is one that
// a person has sent without learning whether it was stored.
func answeredBy(w *world, _, value string) string {
	id, sent := w.people.sent[value]
	given := w.people.given[id]
	return unless(sent && (len(given) == 0 || given[0].text == value), "J5: the acknowledged answers are %v", given)
}

func lateOrAnswered(w *world, name, value string) string {
	if value == "late" {
		return ""
	}
	return answeredBy(w, name, value)
}

// replied checks that a value is a reply of the model.
func replied(w *world, name, value string) string {
	return unless(slices.Contains(w.models[name], value), "J3: the model replied %q", w.models[name])
}

// slept checks how long a block has slept.
func slept(w *world, name, value string) string {
	b, _ := w.schedule.Work.block(name)
	n, err := strconv.Atoi(strings.TrimPrefix(value, "slept "))
	has := func(kind Kind) bool {
		return slices.ContainsFunc(w.faults, func(f Fault) bool { return f.Kind == kind })
	}
	if w.program == nil { // the run may have continued on another machine
		return unless(err == nil && (n >= b.Ms-clockError || has(Jump)), "J15: want at least %d ms", b.Ms-clockError)
	}
	return unless(err == nil && n >= b.Ms && (n <= b.Ms+1000 || has(Delay)), "J15: want %d to %d ms", b.Ms, b.Ms+1000)
}

// clockError is the difference in milliseconds that the clocks of two machines may have: that of
// the database arrives by a message.
const clockError = 20

// line is a line of the run's output.
type line struct {
	Channel string          `json:"channel"`
	Payload json.RawMessage `json:"payload"`
}

// judge compares what the run has shown with what the world has seen. err is the run's error.
func (w *world) judge(ctx context.Context, err error) {
	end := w.start("verify")
	run := w.run(end, runName)
	out, _, outErr := run.Out()
	left, answersErr := run.Answers()
	_, verified := runs.Verify(run)
	records, recordsErr := w.readRecords(ctx, end)
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range []error{err, outErr, answersErr} {
		if e != nil {
			w.fail("J11", "the run ends with the error %v", e)
		}
	}
	if verified != nil {
		w.fail("J17", "`concerto runs verify` fails: %v", verified)
	}
	if len(left) > 0 {
		w.fail("J12", "the ended run has the answers %v", slices.Sorted(maps.Keys(left)))
	}
	w.judgeRequests()
	values := w.judgeOutput(out)
	w.judgePrinted(out)
	if recordsErr != nil {
		invariant, text, _ := strings.Cut(recordsErr.Error(), ": ")
		w.fail(invariant, "%s", text)
	} else {
		w.judgeRecords(&records, values)
	}
	w.hosts.judge(w, out)
}

// judgeRequests checks that no request that must be sent once was performed again without a
// decision, and that all attempts have the same key.
func (w *world) judgeRequests() {
	names := map[string]string{} // by key
	for _, r := range w.server.received {
		if r.reads() {
			continue
		}
		all := w.server.of(r.name)
		if r.key == "" || r.key != all[0].key {
			w.fail("J2", "%s has the keys %q and %q", r.name, all[0].key, r.key)
		}
		if other, ok := names[r.key]; ok && other != r.name {
			w.fail("J2", "%s and %s have the key %q", r.name, other, r.key)
		}
		names[r.key] = r.name
		method, path, _ := strings.Cut(r.name, " /")
		b, _ := w.schedule.Work.block(path)
		if most := 1 + w.people.retries[r.key]; method == "POST" && len(all) > most && w.schedule.Work.policy(b) != "retry" {
			w.fail("J1", "%s was performed %d times, at most %d are permitted", r.name, len(all), most)
		}
	}
}

// judgeOutput checks that each block has emitted its value once, that the value is right, and that
// it was the same at the end of the program. It returns the values.
func (w *world) judgeOutput(out []string) map[string]string {
	values, all := map[string]string{}, []string(nil)
	for _, text := range out {
		var l line
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			w.fail("J8", "the output contains %q", text)
			continue
		}
		if l.Channel == "all" && all == nil {
			if err := json.Unmarshal(l.Payload, &all); err != nil {
				w.fail("J8", "the output contains %q", text)
			}
			continue
		}
		if !strings.HasPrefix(l.Channel, "b") && l.Channel != "all" {
			continue
		}
		var value string
		if _, again := values[l.Channel]; again || json.Unmarshal(l.Payload, &value) != nil {
			w.fail("J8", "the output contains %q and earlier the value %q", text, values[l.Channel])
		}
		values[l.Channel] = value
	}
	for i, b := range w.schedule.Work.blocks() {
		value, ok := values[b.Name]
		if !ok || i >= len(all) {
			w.fail("J8", "the output has no line of %s, or the last line is missing", b.Name)
			continue
		}
		if all[i] != value {
			w.fail("J3", "the value of %s is first %q and then %q", b.Name, value, all[i])
		}
		if invariant, wrong, ok := strings.Cut(kinds[b.Kind].check(w, b.Name, value), ": "); ok {
			w.fail(invariant, "%s: the value of %s is %q", wrong, b.Name, value)
		}
	}
	return values
}

// judgePrinted checks that the processes have printed the stored lines in their order, and nothing
// else. After a crash, a line may be printed again; after a power cut, those that were not synced.
// No two lines of a program are equal.
func (w *world) judgePrinted(out []string) {
	content := func(text string) string { // "" for a line of the library, which another may equal
		var l line
		if json.Unmarshal([]byte(text), &l) != nil || strings.Contains(l.Channel, ":") {
			return ""
		}
		return l.Channel + " " + string(l.Payload)
	}
	var printed, stored []string
	repeated := 0
	for _, text := range w.printed {
		if c := content(text); slices.Contains(printed, c) {
			repeated++
		} else if c != "" {
			printed = append(printed, c)
		}
	}
	for _, text := range out {
		if c := content(text); c != "" {
			stored = append(stored, c)
		}
	}
	if !slices.Equal(printed, stored) {
		w.fail("J8", "the processes have printed\n  %s\nand stored\n  %s", strings.Join(printed, "\n  "), strings.Join(stored, "\n  "))
	}
	if !w.lostPower() && repeated > w.interrupted {
		w.fail("J8", "%d lines were printed again by %d processes", repeated, w.interrupted)
	}
}

// lostPower reports whether the power may have failed.
func (w *world) lostPower() bool {
	return slices.ContainsFunc(w.faults, func(f Fault) bool { return f.Kind == Disk && f.How >= simdisk.PowerNone })
}

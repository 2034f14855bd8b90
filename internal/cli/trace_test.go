package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// traceEvent contains the fields of a trace event that the command spans uses.
type traceEvent struct {
	Name, Cat, Ph, ID string
	Ts, Dur           float64
	Pid, Tid          int64
	Args              map[string]any
}

// spans reads a trace and prints the spans of each thread as a tree. It prints the arguments of
// spans except times and sizes. It fails unless every span ends and the spans of each thread are
// nested:
//
//	spans FILE
func spans(args []string) int {
	if len(args) != 1 {
		fmt.Fprintln(os.Stderr, "usage: spans FILE")
		return 2
	}
	text, err := os.ReadFile(args[0])
	if err == nil {
		err = writeSpans(os.Stdout, text)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "spans: %s: %v\n", args[0], err)
		return 1
	}
	return 0
}

func writeSpans(w io.Writer, text []byte) error {
	var trace struct{ TraceEvents []traceEvent }
	if err := json.Unmarshal(text, &trace); err != nil {
		return err
	}
	threads := map[[2]int64][]traceEvent{}
	names := map[[2]int64]string{}
	for _, e := range trace.TraceEvents {
		at := [2]int64{e.Pid, e.Tid}
		switch {
		case e.Ph == "M":
			names[at] = fmt.Sprint(e.Args["name"])
		case e.Ph == "X": // as two events, so that their order shows the nesting
			begin, end := e, e
			begin.Ph, end.Ph, end.Ts, end.Args = "B", "E", e.Ts+e.Dur, nil
			threads[at] = append(threads[at], begin, end)
		default:
			threads[at] = append(threads[at], e)
		}
	}
	var order [][2]int64
	for at := range threads {
		order = append(order, at)
	}
	slices.SortFunc(order, func(a, b [2]int64) int { return slices.Compare(a[:], b[:]) })
	for _, at := range order {
		fmt.Fprintln(w, names[at])
		if err := writeThread(w, threads[at]); err != nil {
			return fmt.Errorf("%s: %w", names[at], err)
		}
	}
	return nil
}

func writeThread(w io.Writer, events []traceEvent) error {
	slices.SortStableFunc(events, func(a, b traceEvent) int {
		switch {
		case a.Ts < b.Ts:
			return -1
		case a.Ts > b.Ts:
			return 1
		}
		return 0
	})
	var open []traceEvent
	exchanges := map[string]bool{}
	for _, e := range events {
		switch e.Ph {
		case "B":
			fmt.Fprintf(w, "%s%s%s\n", strings.Repeat("  ", len(open)+1), e.Name, shownArgs(e.Args))
			open = append(open, e)
		case "E":
			if len(open) == 0 {
				return fmt.Errorf("end event without a span at %f", e.Ts)
			}
			last := open[len(open)-1]
			if e.Name != "" && e.Name != last.Name {
				return fmt.Errorf("span %q ends inside span %q", e.Name, last.Name)
			}
			open = open[:len(open)-1]
			if how := e.Args["ended"]; how != nil {
				fmt.Fprintf(w, "%s%s ended: %v\n", strings.Repeat("  ", len(open)+1), last.Name, how)
			}
		case "b", "n", "e":
			if exchanges[e.ID] != (e.Ph != "b") {
				return fmt.Errorf("event %s of exchange %s is out of order", e.Ph, e.ID)
			}
			exchanges[e.ID] = e.Ph != "e"
			fmt.Fprintf(w, "  %s %s\n", e.Ph, e.Name)
		default:
			return fmt.Errorf("event with unknown phase %q", e.Ph)
		}
	}
	if len(open) > 0 {
		return fmt.Errorf("span %q does not end", open[len(open)-1].Name)
	}
	for id, on := range exchanges {
		if on {
			return fmt.Errorf("exchange %s does not end", id)
		}
	}
	return nil
}

// shownArgs formats arguments in the order of their names.
func shownArgs(args map[string]any) string {
	var names []string
	for name := range args {
		switch name {
		case "bytes", "kind", "at", "messages", "tools":
		default:
			names = append(names, name)
		}
	}
	slices.Sort(names)
	out := ""
	for _, name := range names {
		v := args[name]
		if n, number := v.(float64); number {
			v = int64(n)
		}
		out += fmt.Sprintf(" %s=%v", name, v)
	}
	return out
}

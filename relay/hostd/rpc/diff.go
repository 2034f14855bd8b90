package rpc

import (
	"fmt"
	"strings"
)

// context is how many lines around a change a diff shows.
const around = 3

// mostCells bounds the table by which lines are compared; what would be longer is shown as
// taken out and put in whole.
const mostCells = 4 << 20

// edit is a line of a diff: ' ', '-' or '+', and the line.
type edit struct {
	kind byte
	text string
}

// diff is a unified diff of a file's text; "" when it is the same.
func diff(path, old, new string) string {
	if old == new {
		return ""
	}
	all := edits(splitLines(old), splitLines(new))
	var out strings.Builder
	fmt.Fprintf(&out, "--- a/%s\n+++ b/%s\n", path, path)
	a, b := 1, 1 // the numbers of the next lines
	for i := 0; i < len(all); {
		from, to := hunk(all, i)
		for ; i < from; i++ {
			a, b = a+1, b+1 // all of these are in both
		}
		if from == len(all) {
			break
		}
		writeHunk(&out, all[from:to], a, b)
		for ; i < to; i++ {
			if all[i].kind != '+' {
				a++
			}
			if all[i].kind != '-' {
				b++
			}
		}
	}
	return out.String()
}

// hunk is where the next changes are, with the lines around them.
func hunk(all []edit, i int) (from, to int) {
	for from = i; from < len(all) && all[from].kind == ' '; from++ {
	}
	if from == len(all) {
		return from, from
	}
	to = from + 1
	for same := 0; to < len(all) && same <= 2*around; to++ {
		if same++; all[to].kind != ' ' {
			same = 0
		}
	}
	last := to
	for last > from && all[last-1].kind == ' ' {
		last--
	}
	return max(i, from-around), min(len(all), last+around)
}

func writeHunk(out *strings.Builder, all []edit, a, b int) {
	n, m := 0, 0
	for _, e := range all {
		if e.kind != '+' {
			n++
		}
		if e.kind != '-' {
			m++
		}
	}
	if n == 0 {
		a--
	}
	if m == 0 {
		b--
	}
	fmt.Fprintf(out, "@@ -%d,%d +%d,%d @@\n", a, n, b, m)
	for _, e := range all {
		out.WriteByte(e.kind)
		out.WriteString(e.text)
		if !strings.HasSuffix(e.text, "\n") {
			out.WriteString("\n\\ No newline at end of file\n")
		}
	}
}

// splitLines are a text's lines, with their ends.
func splitLines(text string) []string {
	all := strings.SplitAfter(text, "\n")
	if all[len(all)-1] == "" {
		all = all[:len(all)-1]
	}
	return all
}

// edits are the steps from lines to others: the same lines at both ends, and between them as
// few as there can be.
func edits(a, b []string) (all []edit) {
	var end []edit
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		all, a, b = append(all, edit{' ', a[0]}), a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		end, a, b = append(end, edit{' ', a[len(a)-1]}), a[:len(a)-1], b[:len(b)-1]
	}
	all = append(all, between(a, b)...)
	for i := len(end) - 1; i >= 0; i-- {
		all = append(all, end[i])
	}
	return all
}

func between(a, b []string) (all []edit) {
	var common [][]int32 // of a[i:] and b[j:], the length of the longest common sequence
	if len(a)*len(b) <= mostCells {
		common = make([][]int32, len(a)+1)
		for i := range common {
			common[i] = make([]int32, len(b)+1)
		}
		for i := len(a) - 1; i >= 0; i-- {
			for j := len(b) - 1; j >= 0; j-- {
				if a[i] == b[j] {
					common[i][j] = common[i+1][j+1] + 1
				} else {
					common[i][j] = max(common[i+1][j], common[i][j+1])
				}
			}
		}
	}
	i, j := 0, 0
	for i < len(a) && j < len(b) && common != nil {
		switch {
		case a[i] == b[j]:
			all, i, j = append(all, edit{' ', a[i]}), i+1, j+1
		case common[i+1][j] >= common[i][j+1]:
			all, i = append(all, edit{'-', a[i]}), i+1
		default:
			all, j = append(all, edit{'+', b[j]}), j+1
		}
	}
	for ; i < len(a); i++ {
		all = append(all, edit{'-', a[i]})
	}
	for ; j < len(b); j++ {
		all = append(all, edit{'+', b[j]})
	}
	return all
}

// cutDiff is a diff of as many bytes as a request may have. What is cut, it says.
func cutDiff(text string) string {
	if len(text) <= maxDiff {
		return text
	}
	const said = "\\ the rest of the diff is left out: it is longer than 64 KiB\n"
	text = text[:maxDiff-len(said)]
	return text[:strings.LastIndexByte(text, '\n')+1] + said
}

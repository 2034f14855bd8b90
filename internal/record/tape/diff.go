package tape

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strings"
)

// pretty formats JSON with indentation and returns its lines.
func pretty(text []byte) []string {
	var out bytes.Buffer
	c := cmp.Or(canonical(text), "{}")
	if json.Indent(&out, []byte(c), "", "  ") != nil {
		return []string{string(text)}
	}
	return strings.Split(out.String(), "\n")
}

// unified returns a unified diff of two lists of lines without a header, or "" if they are equal.
func unified(a, b []string) string {
	const around = 3
	var out []string
	common, shown := lcs(a, b), 0
	i, j := 0, 0
	for _, c := range append(common, [2]int{len(a), len(b)}) {
		for ; i < c[0]; i++ {
			out = append(out, "-"+a[i])
		}
		for ; j < c[1]; j++ {
			out = append(out, "+"+b[j])
		}
		if i < len(a) {
			out = append(out, " "+a[i])
		}
		i, j = i+1, j+1
	}
	// omit lines that are far from all differences
	near := make([]bool, len(out))
	for n, line := range out {
		if line[0] != ' ' {
			shown++
			for k := max(n-around, 0); k < min(n+around+1, len(out)); k++ {
				near[k] = true
			}
		}
	}
	if shown == 0 {
		return ""
	}
	var text []string
	for n, line := range out {
		switch {
		case near[n]:
			text = append(text, line)
		case n > 0 && near[n-1]:
			text = append(text, " …")
		}
	}
	return strings.Join(text, "\n")
}

// maxCells limits the size of the table in lcs. Longer texts are compared line by line.
const maxCells = 4 << 20

// lcs returns the indexes of the lines in a longest common subsequence, as pairs.
func lcs(a, b []string) (out [][2]int) {
	if len(a)*len(b) > maxCells {
		for i := range min(len(a), len(b)) {
			if a[i] == b[i] {
				out = append(out, [2]int{i, i})
			}
		}
		return out
	}
	n := make([][]int32, len(a)+1)
	for i := range n {
		n[i] = make([]int32, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				n[i][j] = n[i+1][j+1] + 1
			} else {
				n[i][j] = max(n[i+1][j], n[i][j+1])
			}
		}
	}
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] == b[j]:
			out = append(out, [2]int{i, j})
			i, j = i+1, j+1
		case n[i+1][j] >= n[i][j+1]:
			i++
		default:
			j++
		}
	}
	return out
}

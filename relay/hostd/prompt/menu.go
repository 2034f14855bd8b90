package prompt

import (
	"regexp"
	"strconv"
	"strings"
)

// Choice is an entry of a menu. Typing Key selects it.
type Choice struct{ Key, Label string }

// choice matches a line of a menu, as "❯ 1. Yes", "b) no" or "[3] other".
var choice = regexp.MustCompile(`^[ ❯>*]*[(\[]?([0-9]{1,2}|[A-Za-z])[.):\]] +(\S.*)$`)

// Menu returns the last menu with at least two numbered or lettered choices that a terminal shows,
// or nil.
func Menu(shown string) []Choice {
	var all []Choice
	for line := range strings.SplitSeq(shown, "\n") {
		m := choice.FindStringSubmatch(line)
		switch {
		case m == nil:
		case m[1] == "1" || strings.EqualFold(m[1], "a"):
			all = []Choice{{m[1], strings.TrimSpace(m[2])}}
		case len(all) > 0 && m[1] == nextKey(all[len(all)-1].Key):
			all = append(all, Choice{m[1], strings.TrimSpace(m[2])})
		}
	}
	if len(all) < 2 {
		return nil
	}
	return all
}

// nextKey returns the key after another one.
func nextKey(key string) string {
	if n, err := strconv.Atoi(key); err == nil {
		return strconv.Itoa(n + 1)
	}
	return string(key[0] + 1)
}

// KeySuffix returns what is typed after the key of a choice: the rest of Approve.
func (r *Rule) KeySuffix() string {
	return strings.TrimLeft(r.Approve, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
}

package prompt

import (
	"regexp"
	"strconv"
	"strings"
)

// Choice is an entry of a menu. Typing Key selects the entry.
type Choice struct{ Key, Label string }

// choice matches a line of a menu, such as "❯ 1. Yes", "b) no" or "[3] other".
var choice = regexp.MustCompile(`^[ ❯>*]*[(\[]?([0-9]{1,2}|[A-Za-z])[.):\]] +(\S.*)$`)

// Menu returns the last menu in the text that a terminal displays. A menu has at least two choices
// with numbers or letters. Menu returns nil if there is none.
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

// nextKey returns the key that follows a key in a menu.
func nextKey(key string) string {
	if n, err := strconv.Atoi(key); err == nil {
		return strconv.Itoa(n + 1)
	}
	return string(key[0] + 1)
}

// KeySuffix returns the text that must be typed after the key of a choice. It is the part of
// Approve after its first character.
func (r *Rule) KeySuffix() string {
	return strings.TrimLeft(r.Approve, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
}

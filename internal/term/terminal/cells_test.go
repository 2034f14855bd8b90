package terminal

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWidth(t *testing.T) {
	for text, want := range map[string]int{
		"": 0, "plain": 5, "é": 1, "e\u0301": 1, "日本": 4, "ﾊ": 1, "Ａ": 2, "😀": 2, "👩\u200d💻": 4, "\u2764\ufe0f": 2, "🇩🇪": 2, "각": 2, "\u1100\u1161\u11a8": 2, "…●": 2,
	} {
		if got := Width(text); got != want {
			t.Errorf("Width(%+q) = %d, want %d", text, got, want)
		}
	}
}

func TestCut(t *testing.T) {
	for _, c := range []struct {
		text string
		most int
		want string
	}{
		{"plain", 5, "plain"}, {"plain", 4, "pla…"}, {"plain", 1, "…"}, {"plain", 0, ""}, {"日本語", 6, "日本語"}, {"日本語", 5, "日本…"}, {"日本語", 4, "日…"},
		{"日本語", 2, "…"}, {"e\u0301e\u0301e\u0301", 2, "e\u0301…"}, {"e\u0301e\u0301", 2, "e\u0301e\u0301"},
	} {
		if got := Cut(c.text, c.most); got != c.want || Width(got) > c.most {
			t.Errorf("Cut(%q, %d) = %q, want %q", c.text, c.most, got, c.want)
		}
	}
}

func TestWrap(t *testing.T) {
	for text, want := range map[string][]string{
		"":                   {""},
		"one two three":      {"one two", "three"},
		"a\nb":               {"a", "b"},
		"abcdefghijklmnopqr": {"abcdefgh", "ijklmnop", "qr"},
		"日本語日本語":             {"日本語日", "本語"},
	} {
		if d := cmp.Diff(want, Wrap(text, 8)); d != "" {
			t.Errorf("Wrap(%q) (-want +got): %s", text, d)
		}
	}
	for _, l := range Wrap(strings.Repeat("日", 5), 1) {
		if Width(l) > 2 {
			t.Error(l)
		}
	}
}

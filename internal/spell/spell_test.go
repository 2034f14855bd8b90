package spell

import "testing"

func TestNearest(t *testing.T) {
	names := []string{"question", "approval", "progress", "len", "to_string", "Point", "go", "größe"}
	for name, want := range map[string]string{
		"quesiton": "question", "aproval": "approval", "progess": "progress", "lne": "len", "tostring": "to_string",
		"point": "Point", "POINT": "Point", "to_stirng": "to_string", "grösse": "größe", "og": "go", "le": "len",
		"banana": "", "x": "", "": "", "len": "", "lenient": "", "question_of_the_day": "", "pxyzt": "",
	} {
		if got := Nearest(name, names); got != want {
			t.Errorf("Nearest(%q) is %q, want %q", name, got, want)
		}
	}
	if got := Nearest("ab", []string{"", "ab", "ac", "ad"}); got != "ac" {
		t.Errorf("of equally near ones %q wins", got)
	}
	if got := Nearest("a", nil); got != "" {
		t.Errorf("of none %q is nearest", got)
	}
}

func TestDistance(t *testing.T) {
	for pair, want := range map[[2]string]int{
		{"", ""}: 0, {"abc", ""}: 3, {"abc", "abc"}: 0, {"abc", "acb"}: 1, {"abc", "adc"}: 1, {"abc", "abcd"}: 1,
		{"kitten", "sitting"}: 3, {"ä", "a"}: 1,
	} {
		if got := distance(pair[0], pair[1]); got != want {
			t.Errorf("distance(%q, %q) is %d, want %d", pair[0], pair[1], got, want)
		}
	}
}

package yamlcore

import "testing"

func TestSource(t *testing.T) {
	for text, want := range map[string]string{
		"\ufeff%YAML 1.2\n---\na: 1\n":                                     "%YAML 1.1\n---\na: 1\n",
		"# c\n\n%YAML 1.2 # d\n%TAG ! !x\n--- a\n...\n%YAML 1.2\n---\nb\n": "# c\n\n%YAML 1.1 # d\n%TAG ! !x\n--- a\n...\n%YAML 1.1\n---\nb\n",
		"a: |\n%YAML 1.2\n":                                                "a: |\n%YAML 1.2\n",
		"%YAML 2.0\n---\n":                                                 "%YAML 2.0\n---\n",
		`{"x": "\ud83d\ude00"}`:                                            `{"x": "\U0001F600"}`,
		`["\\ud83d\ude00 \uD83D\uDE00"]`:                                   `["\\ud83d\ude00 \U0001F600"]`,
		"x: \"\\uD83D\\uDE00 y \\\" \\uD83D\\uDE00\"\ny: \"é\\ud83d\\ude01\"\n": "x: \"\\U0001F600 y \\\" \\U0001F600\"\ny: \"é\\U0001F601\"\n",
		"x: '\\uD83D\\uDE00'\ny: \\uD83D\\uDE00\n":                              "x: '\\uD83D\\uDE00'\ny: \\uD83D\\uDE00\n",
		"x: \"\\uD83D\"\n": "x: \"\\uD83D\"\n",
	} {
		if got := Source(text); got != want {
			t.Errorf("Source(%q) = %q, want %q", text, got, want)
		}
	}
}

package stdlib

import "testing"

func TestPrompt(t *testing.T) {
	run(t, []call{
		{"prompt.template", `["Hi ${name}, {{ n }} new: {{list}}${list}", {"name": "é", "n": 2, "list": [1]}]`, `"Hi é, 2 new: [1][1]"`, ""},
		{"prompt.template", `["${a}", {"a": "${b}{{c}}"}]`, `"${b}{{c}}"`, ""},
		{"prompt.template", `["{\"a\": {}} $5 ${} ${1} {{a b}} ${a", {}]`, `"{\"a\": {}} $5 ${} ${1} {{a b}} ${a"`, ""},
		{"prompt.template", `["$${a} {{{a}}}", {"a": 1}]`, `"$1 {1}"`, ""},
		{"prompt.template", `["", {}]`, `""`, ""},
		{"prompt.template", `["${x}", {"a": 1, "b": 2}]`, `fault: template: unknown name "x"; the names are a, b`, ""},
		{"prompt.template", `["{{x}}", {}]`, `fault: template: unknown name "x"; no names are defined`, ""},
		{"prompt.count_tokens", `["", ""]`, `0`, ""},
		{"prompt.count_tokens", `["Hello, world!", ""]`, `4`, ""},
		{"prompt.count_tokens", `["internationalization 12345", ""]`, `6`, ""},
		{"prompt.count_tokens", `["日本語", ""]`, `3`, ""},
		{"prompt.count_tokens", `["a\r\n    b\n\nc  ", "m"]`, `6`, ""},
	})
}

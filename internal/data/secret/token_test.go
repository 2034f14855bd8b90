package secret

import (
	"fmt"
	"testing"
)

func TestTokens(t *testing.T) {
	for text, want := range map[string]string{
		"key sk-proj-0123456789_ab, next":                                          "[sk-proj-0123456789_ab]",
		"sk_live_0123456789abcdef":                                                 "[sk_live_0123456789abcdef]",
		"gsk_0123456789abcdefgh hf_0123456789abcdefgh":                             "[gsk_0123456789abcdefgh hf_0123456789abcdefgh]",
		"ghp_0123456789abcdefghij github_pat_0123456789abcdefghij":                 "[ghp_0123456789abcdefghij github_pat_0123456789abcdefghij]",
		"glpat-0123456789abcdefgh xoxb-0123-4567-89ab":                             "[glpat-0123456789abcdefgh xoxb-0123-4567-89ab]",
		"AKIA0123456789ABCDEF AIzaSy0123456789abcdefghij":                          "[AKIA0123456789ABCDEF AIzaSy0123456789abcdefghij]",
		"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc-def":                             "[eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc-def]",
		"Authorization: Bearer abcdef.0123":                                        "[Bearer abcdef.0123]",
		"-----BEGIN RSA PRIVATE KEY-----\nMIIB\n-----END RSA PRIVATE KEY-----\nx":  "[-----BEGIN RSA PRIVATE KEY-----\nMIIB\n-----END RSA PRIVATE KEY-----]",
		"risk-averse-approach task-0123456789 OPENAI_API_KEY gpt-4o":               "[]",
		"the Basic understanding, Bearer authentication, rm -rf sk-learn-tutorial": "[]",
		"echo '-----BEGIN PRIVATE KEY-----' && rm -rf / #":                         "[-----BEGIN PRIVATE KEY-----]",
		"Bearer of news, the Basic idea":                                           "[]",
		"claude-3-5-sonnet-20241022 550e8400-e29b-41d4-a716-4466554":               "[]",
	} {
		var got []string
		for _, at := range Tokens(text) {
			got = append(got, text[at[0]:at[1]])
		}
		if fmt.Sprint(got) != want || IsToken(text) != (got != nil) {
			t.Errorf("Tokens(%s) = %v", text, got)
		}
	}
}

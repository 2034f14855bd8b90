package manifest

import "testing"

func TestRun(t *testing.T) {
	m, l := parse(`
[run]
journal = "runs"
park = true
sync = "never"
max_journal_mb = 8
orphan_timeout = 0.5
secrets = ["CUSTOMER_DB"]
redact = ["cust_[0-9]+"]
[run.unknown]
http = "ask"
"api.example.com" = "retry"
billing = "fail"
`)
	if l.Len() != 0 {
		t.Fatal(lines(l))
	}
	want := `{"journal":"runs","park":true,"sync":"never","max_journal_mb":8,"orphan_timeout":0.5,` +
		`"secrets":["CUSTOMER_DB"],"redact":["cust_[0-9]+"],"unknown":{"http":"ask","api.example.com":"retry","billing":"fail"}}`
	if got := string(m.Run.Config); got != want {
		t.Errorf("configuration of [run]\n%s\nwant\n%s", got, want)
	}
	if m, _ := parse("[project]\n"); m.Run.Config != nil {
		t.Errorf("configuration without [run] = %s, want nil", m.Run.Config)
	}
	for text, want := range map[string]string{
		`journal = ""`:         "2:11: E0803: `run.journal` is empty (write `journal = \"runs\"`)\n",
		`sync = "evry"`:        "2:8: E0803: unknown sync \"evry\" (did you mean \"every\"?)\n",
		`max_journal_mb = 0`:   "2:18: E0803: `run.max_journal_mb` is 0, which is less than 1 (write `max_journal_mb = 512`)\n",
		`park = "yes"`:         "2:8: E0802: `run.park` must be true or false, not a string (write `park = true`)\n",
		`jurnal = "runs"`:      "2:1: E0801: unknown key `jurnal` in [run] (did you mean `journal`?)\n",
		`unknown.htp = "fail"`: "2:9: E0801: unknown key `htp` in [run.unknown] (did you mean `http`?)\n",
		`unknown = "retry"`:    "2:11: E0802: `run.unknown` must be a table, not a string\n",
		`unknown.mcp = "no"`:   "2:15: E0803: unknown mcp \"no\" (`mcp` must be \"retry\", \"fail\" or \"ask\")\n",
		`unknown.api.example.com = "retry"`: "2:9: E0802: `run.unknown.api` must be a string, not a table " +
			"(put the name of the network host in quotes: `\"api.example.com\" = \"retry\"`)\n",
		`secrets = ["A_*"]`: "2:12: E0803: \"A_*\" in `run.secrets`: write the full name of an environment variable (write `secrets = [\"CUSTOMER_DB\"]`)\n",
		`secrets = ["sk-0123456789abcdef0123"]`: "2:12: E0807: `run.secrets` must be the name of an environment variable, but this looks like a secret " +
			"(put the secret into an environment variable, and use its name: `secrets = [\"CUSTOMER_DB\"]`)\n",
		`redact = ["a(", "b*"]`: "2:11: E0803: \"a(\" in `run.redact`: not a valid regular expression: error parsing regexp: missing closing ): `a(` (write `redact = [\"cust_[0-9]+\"]`)\n" +
			"2:17: E0803: \"b*\" in `run.redact`: it matches an empty text, and therefore every position (write `redact = [\"cust_[0-9]+\"]`)\n",
	} {
		if _, l := parse("[run]\n" + text + "\n"); lines(l) != want {
			t.Errorf("%s: diagnostics\n got %q\nwant %q", text, lines(l), want)
		}
	}
}

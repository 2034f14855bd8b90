//go:build unix

package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/testkit/randtest"
)

// TestNumbers sends random numbers through each way in which a value enters or leaves a program: a
// host, an MCP server and `mcp serve`, HTTP, a store in a file, CSV, YAML, TOML, texts, emits, a
// journal, and a tape. A number arrives unchanged, or the program receives an error.
func TestNumbers(t *testing.T) {
	t.Parallel()
	echo := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) }))
	t.Cleanup(echo.Close)
	show := func(seed uint64) string { return strings.Join(randomNumbers(seed), "\n") }
	randtest.Run(t, "internal/cli", 4, show, func(t *testing.T, seed uint64) {
		numbers := randomNumbers(seed)
		host := "read\n"
		for _, n := range numbers {
			host += fmt.Sprintf("< {\"type\":\"progress\",\"text\":%q,\"n\":%s}\n", n, n)
		}
		dir := programs(t, map[string]string{
			"Concerto.toml": "[hosts.h]\ncommand = \"testhost\"\nargs = [\"h.host\"]\n[mcp.Echo]\ncommand = \"concerto\"\nargs = [\"mcp\", \"serve\", \"echo.conc\"]\n",
			"echo.conc":     "pub tool Echo {\n    description: \"Echo\",\n    @describe(\"Returns a value\")\n    pub fn same(self, @param(\"any\") value: Map<String, Any>) -> Map<String, Any> { value }\n}\nfn main() { }\n",
			"main.conc":     numbersProgram, "numbers.txt": strings.Join(numbers, "\n"), "url.txt": echo.URL,
			"h.host": host + "< {\"type\":\"result\",\"text\":\"end\"}\n",
		})
		runs := func(args ...string) string {
			var out, errs strings.Builder
			c := command(dir, args...)
			c.Stdout, c.Stderr = &out, &errs
			if err := c.Run(); err != nil {
				t.Fatalf("%v: %v: %s%s", args, err, out.String(), errs.String())
			}
			return out.String()
		}
		durable := runs("run", "-q", "--emit", "ndjson", "--journal", "job", "main.conc")
		runs("runs", "verify", "job")
		recorded := runs("run", "-q", "--emit", "ndjson", "--record", "run.tape", "main.conc")
		replayed := runs("runs", "replay", "--emit", "ndjson", "run.tape")
		for name, out := range map[string]string{"journal": durable, "recorded": recorded, "replayed": replayed} {
			if got, want := emitted(t, out), expected(numbers); got != want {
				t.Errorf("%s: the run emitted %s, want %s", name, got, want)
			}
		}
	})
}

// numbersProgram passes each number that JSON can contain through each way, and emits it with the
// names of those that changed it.
const numbersProgram = `use std::csv;
use std::fs;
use std::http;
use std::json;
use std::toml;
use std::yaml;

mcp Echo { fn Echo_same(value: Map<String, Any>) -> Map<String, Any>; .. }
host H { connector: h, output_format: "json", question_default: "" }
hashmap kept: HashMap<String, Any> = HashMap::new().with_persistence("stores.db");

fn same(way: String, text: String, want: Any, got: Any) {
    if json::stringify(got) != json::stringify(want) { emit("changed", "${way}: ${text} became ${json::stringify(got)}"); }
}

fn main() {
    let url = fs::read_file("url.txt")?;
    for text in fs::read_file("numbers.txt")?.trim().split("\n") {
        let Ok(want) = json::parse(text) else { continue; };
        emit("n", want);
        kept.set(text, want);
        same("store", text, want, kept.get(text));
        same("text", text, want, json::parse("${json::stringify(want)}")?);
        same("http", text, want, http::post(url, {"n": want})?.json()?["n"]);
        same("mcp", text, want, Echo.Echo_same({"n": want})["n"]);
        same("csv", text, want, json::parse(csv::parse(csv::stringify([[want]]))?[0][0])?);
        same("yaml written", text, want, yaml::parse(yaml::stringify({"n": want}))?["n"]);
        if let Ok(v) = yaml::parse("n: ${text}") { same("yaml", text, want, v["n"]); }
        if let Ok(v) = toml::parse("n = ${text}") { same("toml", text, want, v["n"]); }
        if let Ok(t) = toml::stringify({"n": want}) { same("toml written", text, want, toml::parse(t)?["n"]); }
    }
    (listen H.execute("go") {
        "progress" => |p| match json::parse(p.text) {
            Ok(want) => same("host", p.text, want, p.n),
            Err(_) => emit("changed", "host: ${p.text} is no number"),
        },
        "approval" => |_| "no",
    })?;
}
`

// randomNumbers returns numbers as JSON writes them, of each size and form.
func randomNumbers(seed uint64) []string {
	r := rand.New(rand.NewPCG(seed, 54))
	all := []string{"0", "-0", "-0.0", "9007199254740993", "9223372036854775807", "-9223372036854775808", "9223372036854775808", "1e400", "-1e400", "5e-324", "1e-400", "1.7976931348623157e308"}
	for range 24 {
		sign := []string{"", "-"}[r.IntN(2)]
		switch r.IntN(5) {
		case 0:
			all = append(all, sign+strconv.FormatUint(r.Uint64()>>r.IntN(64), 10))
		case 1: // around a power of two
			all = append(all, sign+strconv.FormatUint(1<<r.IntN(64)+uint64(r.IntN(3)), 10))
		case 2:
			all = append(all, fmt.Sprintf("%s%d.%0*d", sign, r.IntN(1000), 1+r.IntN(18), r.IntN(10)))
		case 3:
			all = append(all, fmt.Sprintf("%s%d%s%s%d", sign, r.IntN(100), []string{"e", "E", ".5e", ".25E"}[r.IntN(4)], []string{"", "+", "-"}[r.IntN(3)], r.IntN(330)))
		default: // more digits than any type has
			all = append(all, sign+strconv.FormatUint(1+r.Uint64(), 10)+strings.Repeat("7", r.IntN(30)))
		}
	}
	return all
}

// expected returns what a run must emit: each number that an Int or a Float can contain, in order,
// and those that a host cannot send.
func expected(numbers []string) string {
	var values, refused []string
	for _, n := range numbers {
		if value, ok := valueOf(n); ok {
			values = append(values, value)
		} else {
			refused = append(refused, n)
		}
	}
	return strings.Join(values, " ") + "; refused " + strings.Join(refused, " ")
}

// valueOf returns a number of JSON in one form for each value: that of an Int or of a Float, which
// differ.
func valueOf(text string) (string, bool) {
	if i, err := strconv.ParseInt(text, 10, 64); err == nil {
		return fmt.Sprint(i), true
	}
	f, err := strconv.ParseFloat(text, 64)
	return fmt.Sprintf("%b", f), err == nil
}

// emitted returns what a run has emitted, in the form of expected.
func emitted(t *testing.T, out string) string {
	var values, refused []string
	for line := range strings.Lines(out) {
		var e struct {
			Channel string          `json:"channel"`
			Payload json.RawMessage `json:"payload"`
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("the line %s: %v", line, err)
		}
		switch e.Channel {
		case "n":
			value, _ := valueOf(string(e.Payload))
			values = append(values, value)
		case "listen:invalid":
			var invalid struct{ Message struct{ Text string } }
			if err := json.Unmarshal(e.Payload, &invalid); err != nil {
				t.Fatal(err)
			}
			refused = append(refused, invalid.Message.Text)
		case "changed":
			t.Errorf("%s", e.Payload)
		}
	}
	return strings.Join(values, " ") + "; refused " + strings.Join(refused, " ")
}

package parser

import (
	"fmt"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/text/source"
)

// mixedText returns a program with at least n lines. It repeats declarations of every kind:
// functions, structs, schemas, enums, agents, hosts, listens, pipelines and tools.
func mixedText(n int) string {
	var b strings.Builder
	for i, lines := 0, 0; lines < n; i++ {
		start := b.Len()
		fmt.Fprintf(&b, mixedUnit, i)
		lines += strings.Count(b.String()[start:], "\n")
	}
	return b.String()
}

// mixedUnit is the code that mixedText repeats. %[1]d is the index of the copy.
const mixedUnit = `/// Point %[1]d of the plan.
struct Point%[1]d { x: Int, y: Int }

struct Task%[1]d {
    pub name: String,
    pub owner: Option<String> = None,
    steps: Array<Map<String, Any>>,
    done: Bool = false,
}

schema Review%[1]d {
    files_changed: Array<String>,
    summary?: String,
    @describe("how sure the reviewer is")
    confidence: Float,
}

enum Outcome%[1]d {
    Fine,
    Warned(String, Int),
    Failed { code: Int, message: String },
}

agent Writer%[1]d uses openai {
    model: "gpt-4o",
    temperature: 0.2,
    system_prompt: "You write short answers.",
}

host Worker%[1]d {
    connector: worker,
    output_format: "json",
    timeout: 600,
}

impl Task%[1]d {
    fn rename(mut self, to: String) -> String {
        let old = self.name;
        self.name = to;
        "${old} is ${self.name} now"
    }
}

// Totals what the steps cost.
fn total%[1]d(items: Array<Int>, limit: Int = 100) -> Result<Int, String> {
    let mut sum = 0;
    for (i, item) in items.enumerate() {
        if item < 0 || item >= limit {
            return Err("item ${i} is ${item}, beyond ${limit}");
        } else if item == 0 {
            continue;
        }
        sum += item * 2 + i %% 3;
    }
    let label = match sum {
        0 => "nothing",
        1..=9 => "little",
        n if n > 1000 => "too much",
        _ => "enough",
    };
    emit("total", { sum: sum, label: label, parts: [sum, sum - 1] });
    Ok(sum)
}

fn review%[1]d(o: Outcome%[1]d) -> String {
    match o {
        Outcome%[1]d::Fine => "fine",
        Outcome%[1]d::Warned(text, n) if n > 3 => "${text} (${n} times)",
        Outcome%[1]d::Warned(text, _) => text,
        Outcome%[1]d::Failed { code, message } => "E${code}: ${message}",
    }
}

fn supervise%[1]d(task: String) -> Result<Map<String, Any>, Error> {
    let mut asked = 0;
    let result = listen Worker%[1]d.with_context(task).execute("Do: ${task}") {
        "progress" => |m: HostProgress| {
            emit("host:progress", m);
        },
        "question" => |q: HostQuestion| {
            asked += 1;
            let answer = Writer%[1]d.execute("Answer: ${q.question}\nDecide.")?;
            answer.text
        },
        "approval" => |req| if req.risk_level == "high" { "no" } else { "yes" },
    };
    let names = ["a", "b"].map(|n| n.to_upper()).filter(|n| n != "B");
    let point = Point%[1]d { x: asked, y: names.len() };
    while point.x < 10 && !names.is_empty() {
        break;
    }
    try {
        let total = total%[1]d([1, 2, point.y])? |> to_string();
        emit("log", "asked ${asked}, total ${total}");
    } catch RuntimeError(e) {
        emit("error", e.message);
    }
    result
}

pipeline Build%[1]d(spec: String) -> String {
    stage plan = Writer%[1]d.execute("Plan: ${spec}");
    stage check(text: String) -> String {
        if text.contains("ok") { text } else { "retry: ${text}" }
    }
}

`

func BenchmarkParse10k(b *testing.B)  { benchmark(b, 10_000) }
func BenchmarkParse100k(b *testing.B) { benchmark(b, 100_000) }

func benchmark(b *testing.B, lines int) {
	text := mixedText(lines)
	f := source.NewFile("bench.conc", []byte(text))
	if _, list := Parse(f); list.Len() > 0 {
		b.Fatal(render(list.Sorted()[:1]))
	}
	n := strings.Count(text, "\n")
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		Parse(source.NewFile("bench.conc", []byte(text)))
	}
	b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "lines/s")
}

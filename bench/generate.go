package main

import (
	"fmt"
	"strings"
)

// generatedManifest is the Concerto.toml of generated programs.
const generatedManifest = `[project]
name = "generated"
entry = "main.conc"

[connections.demo]
provider = "scripted"

[hosts.worker]
command = "worker"
`

// generate returns a program of about this many lines. It uses the features of real programs: data
// types, functions with loops, matches and closures, agents, hosts, listens, tools and pipelines.
func generate(lines int) string {
	var b strings.Builder
	b.WriteString("/// A generated program.\nmemory log: Memory = Memory::new(20);\n\n")
	for i, written := 0, 3; written < lines; i++ {
		part := fmt.Sprintf(parts[i%len(parts)], i)
		part = strings.ReplaceAll(part, "#", fmt.Sprint(i))
		b.WriteString(part)
		written += strings.Count(part, "\n")
	}
	b.WriteString("fn main() {\n    emit(\"done\", true);\n}\n")
	return b.String()
}

// parts contains parts of a program. # is replaced by a number that makes names unique. Each part
// begins with a comment that contains the number.
var parts = []string{
	`// part %d: data
struct Item# {
    name: String,
    price: Float,
    tags: Array<String>,
    stock: Int,
}

schema Order# {
    id: Int,
    note?: String,
    level: "low" | "high" = "low",
}

fn total#(items: Array<Item#>, discount: Float = 0.0) -> Float {
    let mut sum = 0.0;
    for item in items {
        if item.stock == 0 { continue; }
        sum += item.price * (item.stock as Float);
    }
    sum * (1.0 - discount)
}

fn describe#(item: Item#) -> String {
    let kind = if item.price > 100.0 { "expensive" } else { "cheap" };
    "${item.name} (${kind}): ${item.tags.join(", ")}"
}

`,
	`// part %d: control
fn classify#(n: Int) -> String {
    match n {
        0 => "none",
        1 | 2 | 3 => "few",
        x if x < 0 => "negative ${x}",
        _ => "many",
    }
}

fn search#(xs: Array<Int>, want: Int) -> Result<Int, ToolError> {
    let mut i = 0;
    while i < xs.len() {
        if xs[i] == want { return Ok(i); }
        i += 1;
    }
    Err(ToolError::new("no ${want} among ${xs.len()}"))
}

fn guarded#(xs: Array<Int>) -> Int {
    let at = try {
        search#(xs, 3)?
    } catch ToolError(e) {
        emit("missing", e.message);
        -1
    };
    let squares = xs.map(|x| x * x).filter(|x| x > at);
    let counts: Map<String, Int> = { "all": xs.len(), "big": squares.len() };
    let (a, b) = (counts.get("all") ?? 0, counts["big"]);
    a + b
}

`,
	`// part %d: agents and hosts
agent Judge# uses demo {
    model: "judge",
    system_prompt: "You decide.
        Be brief.",
    temperature: 0.2,
}

host Worker# {
    connector: worker,
    output_format: "json",
    timeout: 60,
    question_default: "continue",
}

fn supervise#(task: String) -> Result<String, Error> {
    let mut asked = 0;
    let result = listen Worker#.execute("Do: ${task}") {
        "progress" => |p: HostProgress| {
            emit("progress", { part: #, message: p.message, percent: p.percent });
        },
        "question" => |q: HostQuestion| {
            asked += 1;
            let answer = Judge#.with_memory(log).execute("Answer: ${q.question}")?;
            answer.text
        },
        "approval" => |req| {
            if req.risk_level == "high" { "no" } else { "yes" }
        },
    };
    let done = result?;
    Ok("${done.text} after ${asked} questions")
}

`,
	`// part %d: tools and pipelines
tool Counter# {
    description: "Counts",
    count: Int = 0,

    @describe("Adds to the count")
    @param("n", "How much to add")
    pub fn add(mut self, n: Int = 1) -> Int {
        self.count += n;
        self.count
    }
}

pipeline Flow# {
    stage read(text: String) -> Array<String> {
        text.split(",").map(|s| s.trim())
    }
    stage count(words: Array<String>) -> Int {
        words.len() + Counter#.add(2)
    }
    stage show = "${count} words in ${read}";
}

`,
}

// generateCalls returns a program whose graph has n nodes and about twice as many edges: functions
// that call two others further down and emit to one of the channels.
func generateCalls(n int) string {
	var b strings.Builder
	functions, channels := n*3/4-1, n/4-1 // and main, the application and a rest
	for i := range functions {
		fmt.Fprintf(&b, "fn f%d() {", i)
		for _, step := range []int{1, 1 + i*7%19} {
			if i+step < functions {
				fmt.Fprintf(&b, " f%d();", i+step)
			}
		}
		fmt.Fprintf(&b, " emit(\"c%d\", %d); }\n", i%channels, i)
	}
	b.WriteString("fn main() { f0(); }\n")
	return b.String()
}

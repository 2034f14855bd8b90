package doc

// word is an entry of the tables of words. It contains the keywords or decorators that share one
// example, with an explanation of each.
type word struct {
	words   []explained
	example string // declarations of a program; a test compiles them and runs their tests
}

type explained struct{ name, doc string }

// keywords lists the reserved and contextual keywords.
var keywords = []word{
	{[]explained{
		{"let", "Declares a variable and binds it to a value. Without `mut`, neither the variable nor its value can change. A pattern destructures the value. With `else` the pattern may fail, and then the block must leave."},
		{"mut", "Makes a variable of a `let`, a parameter or `self` mutable: you can assign to it and change its value in place."},
	}, `@test
fn names() {
    let (a, b) = (1, 2);
    let mut xs = [a];
    xs.push(b);
    let [first, ..] = xs else { panic("empty") };
    assert_eq((xs, first), ([1, 2], 1));
}
`},
	{[]explained{{"const", "Declares a constant, whose value is known at compile time. It may be at the top level or in a function."}},
		`const LIMIT: Int = 3 * 60;

@test
fn constants() { assert_eq(LIMIT, 180); }
`},
	{[]explained{
		{"fn", "Declares a function or, without a name, a closure. Parameters have types and may have defaults; the last expression is the result."},
		{"return", "Leaves the function, closure or handler with a value."},
	}, `fn area(width: Int, height: Int = 1) -> Int {
    if width < 0 || height < 0 { return 0; }
    width * height
}

@test
fn functions() { assert_eq([area(3, 2), area(3), area(-1, 5)], [6, 3, 0]); }
`},
	{[]explained{
		{"agent", "Declares a language model with its connection and settings. Its methods are execute, execute_with_schema, chat, stream, stream_with_schema and the builders."},
		{"uses", "Names the connection of an agent: `uses main` is the field `provider: main`. Elsewhere it is an ordinary name."},
		{"mock", "In a test: sets the answers of an agent or host from here on. Elsewhere it is an ordinary name."},
	}, `agent Judge uses scripted { system_prompt: "Answer yes or no." }

@test
fn asking() {
    mock Judge { response: "yes" }
    assert_eq(Judge.execute("Is it done?")?.text, "yes");
}
`},
	{[]explained{
		{"host", "Declares a program, such as a coding agent, that runs as a process of its own. The manifest defines how to start it."},
		{"listen", "Sends a prompt to a host and answers its messages with a handler for each type of message. Its value is the host's result, or the error."},
		{"ask", "As the whole handler of a question or an approval in `listen`: the person at the terminal or on the relay answers. Elsewhere it is an ordinary name. If a value named `ask` is in scope, the handler is that value."},
		{"on", "Optional before the message type of a handler in `listen`. Elsewhere it is an ordinary name."},
	}, `host Worker { connector: worker, output_format: "json" }

fn supervise(task: String) -> Result<Any, Error> {
    let result = listen Worker.execute(task) {
        "progress" => |p: HostProgress| emit("progress", p.message),
        on "question" => |q: HostQuestion| "the first",
        "approval" => ask,
    };
    Ok(result?.text)
}

@test
fn a_question() {
    mock Worker {
        messages: [{ type: "question", question: "Which?" }, { type: "result", text: "done" }],
    }
    assert_eq(supervise("go")?, "done");
    assert_eq(mock_replies(Worker), ["the first"]);
}
`},
	{[]explained{{"tool", "Declares functions that models and hosts may call. Its fields keep their values during the run."}},
		`tool Counter {
    description: "Counts.",
    total: Int = 0,

    @describe("Adds to the count and returns it.")
    @param("by", "How much to add.")
    pub fn add(mut self, by: Int = 1) -> Int {
        self.total += by;
        self.total
    }
}

@test
fn tools() { assert_eq([Counter.add(), Counter.add(by: 2)], [1, 3]); }
`},
	{[]explained{{"mcp", "Declares functions of a server that speaks the Model Context Protocol. The manifest defines how to reach it."}},
		`mcp Files {
    @describe("Reads a file.")
    fn read(path: String) -> String;
}
`},
	{[]explained{{"schema", "Declares the type of data from outside. `?` marks a field that may be absent."}},
		`schema Ticket {
    title: String,
    level: "low" | "high" = "low",
    labels?: Array<String>,
}

@test
fn schemas() {
    let t = parse_schema<Ticket>('{"title": "Fire", "level": "high"}')?;
    assert_eq((t.title, t.level, t.labels), ("Fire", "high", None));
}
`},
	{[]explained{
		{"struct", "Declares a type with named fields. Values of it are independent: a change of one does not affect another."},
		{"impl", "Adds methods to a type, or implements a trait for it."},
		{"trait", "Declares methods that types may implement. A trait is a bound of type parameters."},
		{"self", "The value on which a method is called."},
		{"Self", "The type of the enclosing `impl` or `trait`."},
	}, `struct Point { x: Int, y: Int = 0 }

trait Shown {
    fn shown(self) -> String;
}

impl Point {
    fn origin() -> Self { Point { x: 0 } }

    fn right(mut self, by: Int) { self.x += by; }
}

impl Shown for Point {
    fn shown(self) -> String { "(${self.x}, ${self.y})" }
}

@test
fn points() {
    let mut p = Point::origin();
    p.right(2);
    assert_eq(p.shown(), "(2, 0)");
}
`},
	{[]explained{
		{"enum", "Declares a type whose values are one of several variants. Variants may have values of their own."},
		{"match", "Compares a value with patterns and evaluates the first arm that matches. It must be exhaustive."},
	}, `enum Shape {
    Circle(Int),
    Box { width: Int, height: Int },
    Empty,
}

fn area(s: Shape) -> Int {
    match s {
        Shape::Circle(r) => 3 * r * r,
        Shape::Box { width, height } if width > 0 => width * height,
        _ => 0,
    }
}

@test
fn shapes() { assert_eq([area(Shape::Circle(2)), area(Shape::Empty)], [12, 0]); }
`},
	{[]explained{{"type", "Declares another name for a type."}},
		`type Scores<T> = Map<String, Array<T>>;

@test
fn aliases() {
    let s: Scores<Int> = { "ada": [1, 2] };
    assert_eq(s["ada"].sum(), 3);
}
`},
	{[]explained{
		{"mod", "Declares a module: in braces, or in the file of its name."},
		{"pub", "Makes a declaration, a field or a method visible outside its module."},
		{"use", "Imports names of other modules: one, a list, or all with `*`."},
	}, `mod geometry {
    pub fn area(w: Int, h: Int) -> Int { w * h }
}

use geometry::area;
use std::math::{self, PI};

@test
fn modules() { assert_eq((area(2, 3), math::round(PI)), (6, 3)); }
`},
	{[]explained{
		{"if", "Branches on a condition, or on a pattern with `let`. It is an expression."},
		{"else", "The other branch of an `if`. After `let`, the block that runs if the pattern does not match."},
	}, `fn size(n: Int?) -> String {
    if let Some(x) = n {
        if x > 9 { "big" } else { "small" }
    } else {
        "none"
    }
}

@test
fn choices() { assert_eq([size(10), size(1), size(nil)], ["big", "small", "none"]); }
`},
	{[]explained{
		{"for", "Runs a body for each element of a collection. It iterates over a snapshot."},
		{"in", "Separates the pattern and the collection of a `for`."},
		{"while", "Repeats as long as a condition is true, or as long as a pattern matches with `let`."},
		{"loop", "Repeats until a `break`, whose value is the value of the loop, or until the function returns."},
		{"break", "Leaves the innermost loop, or the one with the label. A value is only allowed for `loop`, and is the value of the loop."},
		{"continue", "Continues with the next iteration of the innermost loop, or of the one with the label."},
	}, `@test
fn loops() {
    let mut sum = 0;
    for (name, n) in ({ "a": 1, "b": 2, "c": 3 }) {
        if name == "b" { continue; }
        sum += n;
    }
    while sum < 10 { sum *= 2; }
    'search: loop {
        for n in 1..sum {
            sum -= n;
            if sum % 5 == 0 { break 'search; }
        }
    }
    assert_eq(sum, 15);
    assert_eq(loop { sum += 7; if sum > 30 { break sum; } }, 36);
}
`},
	{[]explained{
		{"try", "Runs a block; its `catch` clauses handle errors. Without a `catch`, its value is a Result, which also contains faults."},
		{"catch", "Handles the errors of a `try`: those of a type, or all others."},
		{"throw", "Raises an error, which the nearest `catch` for it handles, or which leaves the function."},
	}, `fn port(text: String) -> Int {
    try {
        let n = text.parse_int()?;
        if n < 1 { throw RuntimeError::new("too small"); }
        n
    } catch ParseError(_) {
        80
    } catch {
        1
    }
}

@test
fn errors() { assert_eq([port("8080"), port("web"), port("-3")], [8080, 80, 1]); }
`},
	{[]explained{
		{"async", "Before `fn`: a call returns a Task, which runs concurrently with the caller."},
		{"await", "Waits for the value of a task. For a tuple: runs all elements concurrently and waits for them. Before `emit`: waits for the application's answer."},
		{"race", "Runs its elements concurrently, returns the first value and cancels the others. Elsewhere it is an ordinary name."},
		{"parallel", "Before `for`: runs the body for all elements concurrently and returns an array in their order. Elsewhere it is an ordinary name."},
	}, `use std::time;

async fn slow(n: Int) -> Int {
    time::sleep(n);
    n
}

@test
fn tasks() {
    let t = slow(30);
    assert_eq(await (slow(20), t), (20, 30));
    assert_eq(race (slow(20), slow(10)), 10);
    assert_eq(parallel for n in [3, 1, 2] { slow(n).await }, [3, 1, 2]);
}
`},
	{[]explained{{"emit", "Sends a value to the application on a channel. With `await` before it, it waits for an answer."}},
		`fn deploy() -> Bool {
    emit("progress", { "done": 1, "of": 2 });
    (await emit("approve", "deploy")).unwrap_or(false)
}

@test
fn emits() {
    mock_answer("approve", true);
    assert(deploy());
    assert_eq(test_emits().map(|e| e["channel"]), ["progress", "approve"]);
}
`},
	{[]explained{
		{"pipeline", "Declares a sequence of stages. `P.run(…)` returns the value of the last stage, or the first error."},
		{"stage", "A step of a pipeline: a function of the previous stage's value or, with `=`, a value that later stages can use."},
	}, `pipeline Shout(text: String) -> String {
    stage trimmed = text.trim();
    stage loud(s: String) -> String { s.to_upper() }
    stage marked(s: String) -> String { "${s}!" }
}

@test
fn stages() { assert_eq(Shout.run(" hi ")?, "HI!"); }
`},
	{[]explained{
		{"queue", "Declares a store of tasks, which workers claim one by one. At the top level of a module, before a name and `:`; elsewhere it is an ordinary name."},
	}, `queue tasks: Queue<String> = Queue::new(max_attempts: 3);

@test
fn claiming() {
    tasks.add("write")?;
    while let Some(item) = tasks.next() { tasks.complete(item)?; }
    assert_eq(tasks.counts()["done"], 1);
}
`},
	{[]explained{
		{"hashmap", "Declares a store of values by key, which all functions share."},
		{"with_persistence", "After the constructor of a hashmap, ledger, memory or queue: stores it in a file, so the next run can read it. Each test has its own store, in memory. Elsewhere it is an ordinary name."},
	}, `hashmap visits: HashMap<String, Int> = HashMap::new().with_persistence("visits.db");

@test
fn counting() {
    visits.increment("home");
    assert_eq(visits.increment("home"), 2);
}
`},
	{[]explained{{"ledger", "Declares a store of texts that can be searched by words and keys."}},
		`ledger facts: Ledger = Ledger::new();

@test
fn finding() {
    facts.insert("capital of France", ["geo"], "Paris");
    assert_eq(facts.query().from_identifier("France")[0].value, "Paris");
}
`},
	{[]explained{{"memory", "Declares a conversation for agents: all messages, or the last ones if a number is given."}},
		`agent Writer uses scripted {}

memory talk: Memory = Memory::new(20);

@test
fn remembering() {
    mock Writer { response: "hello" }
    Writer.with_memory(talk).execute("hi")?;
    assert_eq(talk.len(), 2);
}
`},
	{[]explained{{"as", "Converts between Int and Float, checks an Any against a type, and renames an import."}},
		`use std::math as m;

@test
fn conversions() {
    let x: Any = 7;
    assert_eq((2.9 as Int, 1 as Float, x as Int, m::abs(-1)), (2, 1.0, 7, 1));
}
`},
	{[]explained{
		{"true", "The Bool that is true."},
		{"false", "The Bool that is false."},
		{"nil", "The value of type Nil, and the Option without a value."},
	}, `@test
fn values() {
    let none: String? = nil;
    assert_eq((none ?? "nothing", true && !false), ("nothing", true));
}
`},
}

// decorators lists the decorators.
var decorators = []word{
	{[]explained{
		{"@test", "Declares a function as a test. An optional text names it, with groups before `::`."},
		{"@expect_fail", "The test must fail. With a text, the error must contain the text."},
	}, `@test("numbers :: sum")
fn adds() { assert_eq([1, 2].sum(), 3); }

@test
@expect_fail("division by zero")
fn divides() {
    let zero = 0;
    emit("never", 1 / zero);
}
`},
	{[]explained{
		{"@eval", "Declares a function as an eval. `concerto eval` calls it with each row of `data` and reports the metrics that it returns. `repeat`, `cluster`, `lower`, `gate`, `margin` and `name` are optional."},
	}, `fn rows() -> Array<Int> { [1, 2, 3] }

@eval(data: rows, repeat: 2)
fn positive(row: Int) -> Bool { row > 0 }
`},
	{[]explained{
		{"@guard", "Declares the function that decides about calls of agents which people start themselves. `guard.program` of the manifest names its program."},
	}, `use std::decide;

@guard fn review(a: HostApproval) -> decide::Decision {
    if a.kind == "edit" && (a.paths ?? []).any(|p| p.starts_with("migrations/")) {
        return decide::ask("a migration");
    }
    decide::pass()
}
`},
	{[]explained{
		{"@describe", "Describes a function of a tool and offers it to models and hosts."},
		{"@param", "Describes a parameter of a tool's function, before the function or on the parameter itself."},
	}, `tool Weather {
    description: "Knows the weather.",

    @describe("The temperature of a city in degrees.")
    @param("city", "The city's name.")
    pub fn temperature(self, city: String, @param("the day, 0 for today") day: Int = 0) -> Int {
        city.len() + day
    }
}

@test
fn offers() { assert_eq(dispatch_tool("Weather::temperature", { "city": "Oslo" }), 4); }
`},
	{[]explained{{"@limit", "Before `parallel for`: the maximum number of bodies that run at the same time."}},
		`use std::time;

@test
fn two_at_a_time() {
    let before = time::monotonic_ms();
    @limit(2) parallel for _ in 0..4 { time::sleep(10); };
    assert_eq(time::monotonic_ms() - before, 20);
}
`},
	{[]explained{{"@retry", "Repeats a failed call, up to `max` calls in total, with a growing delay between them."}},
		`agent Judge uses scripted {}

@retry(max: 3, backoff: "none", delay_ms: 0)
fn ask() -> Result<String, AgentError> { Ok(Judge.execute("Well?")?.text) }

@test
fn the_second_time() {
    mock Judge { responses: [{ error: "busy" }, "yes"] }
    assert_eq(ask()?, "yes");
}
`},
	{[]explained{{"@timeout", "The maximum number of seconds of a call."}},
		`use std::time;

@timeout(2)
fn slow() { time::sleep(5000); }

@test
@expect_fail
fn too_slow() { slow(); }
`},
	{[]explained{{"@allow", "Before a declaration, including that of a module: hides warnings with these codes inside it. `[lints] allow` of the manifest does the same for the project."}},
		`@allow(W0409)
fn main() {
    let mut xs = [2, 1];
    xs.sort();
    println(xs.len());
}
`},
	{[]explained{{"@log", "Emits each call on a channel when it ends."}},
		`@log("calls")
fn add(a: Int, b: Int) -> Int { a + b }

@test
fn logged() {
    add(1, 2);
    assert_eq(test_emits()[0]["channel"], "calls");
}
`},
	{[]explained{{"@cache", "Stores the result of a call for `ttl_seconds`; a call with the same arguments returns it. With `persist: \"answers.db\"` results are stored in that file and outlast the run."}},
		`@cache(ttl_seconds: 60)
fn slow(n: Int) -> Int {
    emit("computed", n);
    n * n
}

@test
fn once() {
    assert_eq([slow(3), slow(3)], [9, 9]);
    assert_eq(test_emits().len(), 1);
}
`},
	{[]explained{{"@sequential", "On a function of a tool: a model's calls of it run one after the other, not concurrently."}},
		`tool Counter {
    description: "Counts.",
    total: Int = 0,

    @sequential
    @describe("Counts on.")
    pub fn next(mut self) -> Int {
        self.total += 1;
        self.total
    }
}
`},
	{[]explained{{"@approve", "On a function of a tool: asks the application before each call, with `await emit(\"tool:approval\", …)`."}},
		`tool Files {
    description: "Deletes.",

    @approve
    @describe("Deletes a file.")
    @param("path", "Its path.")
    pub fn delete(self, path: String) -> Bool { path != "" }
}
`},
	{[]explained{
		{"@on_unknown", "Determines what happens to effects whose outcome is unknown because the run was interrupted during them: `\"retry\"`, `\"fail\"` or `\"ask\"`. Allowed on functions, functions of tools and of MCP servers, agents and hosts. The innermost one applies, and takes precedence over `[run.unknown]`."},
		{"@idempotent", "Declares that the effects inside may be repeated: `@on_unknown(\"retry\")`."},
	}, `use std::{http, run};

@on_unknown("fail")
fn order(sku: String) -> Result<Int, HttpError> {
    Ok(http::post("https://shop.test/orders", { "sku": sku })?.status)
}

@idempotent
fn note(text: String) -> Result<Int, HttpError> {
    Ok(http::post("https://shop.test/notes", { "key": run::key("note"), "text": text })?.status)
}

@test
fn both() {
    mock_http("https://shop.test/orders", { status: 201 });
    mock_http("https://shop.test/notes", { status: 204 });
    assert_eq([order("a1")?, note("ordered")?], [201, 204]);
}
`},
}

// plainTypes lists Any and the built-in types that have no file in the library.
var plainTypes = []word{
	{[]explained{
		{"Any", "Any value, checked at run time: members, calls, operators, loops and patterns apply to the actual value. `x as T` checks it against a type. nil in it is None, and every other value is its own Some, so `is_some`, `unwrap_or`, `Some(v)` and `None` work on it; an `Option<Any>` contains the same values."},
	}, `use std::json;

@test
fn anything() {
    let data: Any = json::parse("{\"user\": {\"name\": \"ada\"}, \"tags\": [1, 2]}")?;
    assert_eq(data.user.name, "ada");
    assert_eq(data.team.unwrap_or("none"), "none");
    assert_eq((data.tags as Array<Int>).sum(), 3);
    assert_eq(match data.team { Some(t) => "team ${t}", None => "alone" }, "alone");
}
`},
	{[]explained{
		{"Nil", "The type of `nil` alone: the result of a function without `->`, of an `if` without `else`, and of a loop. Where it is expected, any value is accepted and discarded. nil is also the None of every Option."},
		{"Never", "The type of expressions that do not return: `return`, `break`, `continue`, `throw`, `panic(…)` and a `loop` without `break`. It is accepted wherever a value is expected."},
	}, `fn say(text: String) { println(text); }

fn port(text: String?) -> Int {
    let t = text ?? return 80;
    t.parse_int().unwrap_or(-1)
}

@test
fn nothing() {
    assert_eq(say("hello"), nil);
    assert_eq((port(nil), port("8080")), (80, 8080));
}
`},
}

package doc

// word is a row of the tables of words: reserved words and decorators that share
// one example, each with its explanation.
type word struct {
	words   []explained
	example string // a program's declarations; a test compiles it and runs its tests
}

type explained struct{ name, doc string }

// keywords lists the reserved and contextual keywords.
var keywords = []word{
	{[]explained{
		{"let", "Gives a name to a value. The name cannot be assigned to, nor what it names changed; a pattern takes a value apart. With `else` the pattern may fail, and the block then leaves."},
		{"mut", "Before a name in `let`, a parameter or `self`: it may be assigned to, and what it names changed in place."},
	}, `@test
fn names() {
    let (a, b) = (1, 2);
    let mut xs = [a];
    xs.push(b);
    let [first, ..] = xs else { panic("empty") };
    assert_eq((xs, first), ([1, 2], 1));
}
`},
	{[]explained{{"const", "Names a value that is known when the program is compiled. It stands beside functions or in one."}},
		`const LIMIT: Int = 3 * 60;

@test
fn constants() { assert_eq(LIMIT, 180); }
`},
	{[]explained{
		{"fn", "Declares a function, or with no name makes one. Parameters have types and may have defaults; the last expression is the result."},
		{"return", "Leaves the function, closure or handler with a value."},
	}, `fn area(width: Int, height: Int = 1) -> Int {
    if width < 0 || height < 0 { return 0; }
    width * height
}

@test
fn functions() { assert_eq([area(3, 2), area(3), area(-1, 5)], [6, 3, 0]); }
`},
	{[]explained{
		{"agent", "Declares a model behind a connection, with its settings. Its methods are execute, execute_with_schema, chat, stream, stream_with_schema and the builders."},
		{"uses", "Names an agent's connection: `uses main` is the field `provider: main`. Elsewhere it is an ordinary name."},
		{"mock", "In a test: says what an agent or host answers from here on. Elsewhere it is an ordinary name."},
	}, `agent Judge uses scripted { system_prompt: "Answer yes or no." }

@test
fn asking() {
    mock Judge { response: "yes" }
    assert_eq(Judge.execute("Is it done?")?.text, "yes");
}
`},
	{[]explained{
		{"host", "Declares an agent program of its own, a process that the manifest says how to start."},
		{"listen", "Gives a host work and answers what it asks meanwhile, by a handler for each type of message. Its value is the host's result, or the error."},
		{"ask", "As the whole handler of a question or an approval in `listen`: the person at the terminal or on the relay answers. Elsewhere it is an ordinary name, and a value named `ask` in scope is meant instead."},
		{"on", "May stand before the type in a handler of `listen`. Elsewhere it is an ordinary name."},
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
	{[]explained{{"tool", "Declares functions that models and hosts may call. Its fields keep their values for the run."}},
		`tool Counter {
    description: "Counts.",
    total: Int = 0,

    @describe("Adds to the count and gives it.")
    @param("by", "How much to add.")
    pub fn add(mut self, by: Int = 1) -> Int {
        self.total += by;
        self.total
    }
}

@test
fn tools() { assert_eq([Counter.add(), Counter.add(by: 2)], [1, 3]); }
`},
	{[]explained{{"mcp", "Declares functions of a server that speaks the Model Context Protocol; the manifest says how it is reached."}},
		`mcp Files {
    @describe("Reads a file.")
    fn read(path: String) -> String;
}
`},
	{[]explained{{"schema", "Declares the shape of data from outside. A `?` marks a field that may be absent."}},
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
		{"struct", "Declares a type with named fields. Its values are values: nobody sees another's change."},
		{"impl", "Gives a type methods, or implements a trait for it."},
		{"trait", "Declares methods that types may implement; a bound of type parameters."},
		{"self", "The value that a method is called on."},
		{"Self", "The type that an `impl` or `trait` is about."},
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
		{"enum", "Declares a type that is one of several variants, with values of their own."},
		{"match", "Takes a value apart by patterns, the first that fits; all cases must be covered."},
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
	{[]explained{{"type", "Gives a type another name."}},
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
		{"use", "Brings names of other modules in: one, a list, or with `*` all."},
	}, `mod geometry {
    pub fn area(w: Int, h: Int) -> Int { w * h }
}

use geometry::area;
use std::math::{self, PI};

@test
fn modules() { assert_eq((area(2, 3), math::round(PI)), (6, 3)); }
`},
	{[]explained{
		{"if", "Chooses by a condition, or with `let` by a pattern. It is an expression."},
		{"else", "What an `if` gives otherwise; after `let`, where the pattern does not fit."},
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
		{"for", "Runs a body for each element of a collection, as it was at the start."},
		{"in", "Stands between the pattern and the collection of a `for`."},
		{"while", "Repeats as long as a condition holds, or with `let` as long as a pattern fits."},
		{"loop", "Repeats until `break`, whose value is the loop's, or until the function is left."},
		{"break", "Leaves the innermost loop, or the one of a label. With a value it leaves a `loop`, and the value is the loop's."},
		{"continue", "Goes on with the next turn of the innermost loop, or of the one of a label."},
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
		{"try", "Runs a block whose errors are caught by `catch`; without one it gives a Result, faults included."},
		{"catch", "Takes the errors of a `try`: those of a type, or all others."},
		{"throw", "Raises an error: it goes to the nearest `catch` that takes it, or leaves the function."},
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
		{"async", "Before `fn`: a call gives a Task, which runs on while the caller does."},
		{"await", "Waits for a task's value; of a tuple, for all its elements, which run at once; before `emit`, for the application's answer."},
		{"race", "Runs its elements at once, gives the first value and cancels the others. Elsewhere it is an ordinary name."},
		{"parallel", "Before `for`: runs the body for all elements at once and gives an array in their order. Elsewhere it is an ordinary name."},
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
	{[]explained{{"emit", "Hands a value to the application on a channel. With `await` before it, it waits for an answer."}},
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
		{"pipeline", "Declares stages that hand values on. `P.run(…)` gives the last one's, or the first error."},
		{"stage", "A step of a pipeline: a function of the stage before, or with `=` a value that later stages see."},
	}, `pipeline Shout(text: String) -> String {
    stage trimmed = text.trim();
    stage loud(s: String) -> String { s.to_upper() }
    stage marked(s: String) -> String { "${s}!" }
}

@test
fn stages() { assert_eq(Shout.run(" hi ")?, "HI!"); }
`},
	{[]explained{
		{"hashmap", "Declares a store of values by key, which every function sees."},
		{"with_persistence", "After what makes a hashmap, ledger or memory: keeps it in a file, so that the next run finds what this one stored. A test has its own, in memory. Elsewhere it is an ordinary name."},
	}, `hashmap visits: HashMap<String, Int> = HashMap::new().with_persistence("visits.db");

@test
fn counting() {
    visits.increment("home");
    assert_eq(visits.increment("home"), 2);
}
`},
	{[]explained{{"ledger", "Declares a store of texts that are found by words and keys."}},
		`ledger facts: Ledger = Ledger::new();

@test
fn finding() {
    facts.insert("capital of France", ["geo"], "Paris");
    assert_eq(facts.query().from_identifier("France")[0].value, "Paris");
}
`},
	{[]explained{{"memory", "Declares a conversation that agents remember, the last messages if a number says so."}},
		`agent Writer uses scripted {}

memory talk: Memory = Memory::new(20);

@test
fn remembering() {
    mock Writer { response: "hello" }
    Writer.with_memory(talk).execute("hi")?;
    assert_eq(talk.len(), 2);
}
`},
	{[]explained{{"as", "Converts between Int and Float, checks an Any to be of a type, and gives an import another name."}},
		`use std::math as m;

@test
fn conversions() {
    let x: Any = 7;
    assert_eq((2.9 as Int, 1 as Float, x as Int, m::abs(-1)), (2, 1.0, 7, 1));
}
`},
	{[]explained{
		{"true", "The Bool that holds."},
		{"false", "The Bool that does not hold."},
		{"nil", "The value of type Nil, and the Option that holds nothing."},
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
		{"@test", "Makes a function a test; a text names it, groups before `::`."},
		{"@expect_fail", "A test that must fail, and with a text, with an error that has it."},
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
		{"@describe", "Says what a tool's function does. Models and hosts are offered what has one."},
		{"@param", "Says what a parameter of a tool's function means, before the function or on the parameter itself."},
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
	{[]explained{{"@limit", "Before `parallel for`: how many bodies run at once."}},
		`use std::time;

@test
fn two_at_a_time() {
    let before = time::monotonic_ms();
    @limit(2) parallel for _ in 0..4 { time::sleep(10); };
    assert_eq(time::monotonic_ms() - before, 20);
}
`},
	{[]explained{{"@retry", "Calls again what failed, `max` times in all, with a growing delay between."}},
		`agent Judge uses scripted {}

@retry(max: 3, backoff: "none", delay_ms: 0)
fn ask() -> Result<String, AgentError> { Ok(Judge.execute("Well?")?.text) }

@test
fn the_second_time() {
    mock Judge { responses: [{ error: "busy" }, "yes"] }
    assert_eq(ask()?, "yes");
}
`},
	{[]explained{{"@timeout", "How many seconds a call may take."}},
		`use std::time;

@timeout(2)
fn slow() { time::sleep(5000); }

@test
@expect_fail
fn too_slow() { slow(); }
`},
	{[]explained{{"@allow", "Before a declaration, a module's included: warnings of these codes are not shown for what stands in it. `[lints] allow` of the manifest does it for the project."}},
		`@allow(W0409)
fn main() {
    let mut xs = [2, 1];
    xs.sort();
    println(xs.len());
}
`},
	{[]explained{{"@log", "Emits each call's beginning and end on a channel."}},
		`@log("calls")
fn add(a: Int, b: Int) -> Int { a + b }

@test
fn logged() {
    add(1, 2);
    assert_eq(test_emits()[0]["channel"], "calls");
}
`},
	{[]explained{{"@cache", "Keeps what a call gave, for `ttl_seconds`; the same arguments give it again. With `persist: \"answers.db\"` it is kept in that file, beyond the run."}},
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
	{[]explained{{"@sequential", "On a tool's function: a model's calls of it run one after the other, not at once."}},
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
	{[]explained{{"@approve", "On a tool's function: each call is first put to the application, by `await emit(\\\"tool:approval\\\", …)`."}},
		`tool Files {
    description: "Deletes.",

    @approve
    @describe("Deletes a file.")
    @param("path", "Its path.")
    pub fn delete(self, path: String) -> Bool { path != "" }
}
`},
	{[]explained{
		{"@on_unknown", "Says what becomes of effects within of which it is not known whether they were done, since the run was interrupted while they were under way: `\"retry\"`, `\"fail\"` or `\"ask\"`. On functions, functions of tools and of MCP servers, agents and hosts; the innermost says it, and before all `[run.unknown]`."},
		{"@idempotent", "Says that what is done within may be done twice: `@on_unknown(\"retry\")`."},
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

// plainTypes are the built-in types that have no file in the library, and Any.
var plainTypes = []word{
	{[]explained{
		{"Any", "Anything, checked when it is used: members, calls, operators, loops and patterns work on what is there. `x as T` checks it against a type. nil in it is None, and every other value its own Some, so `is_some`, `unwrap_or`, `Some(v)` and `None` work on it; an `Option<Any>` holds the same."},
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
		{"Nil", "The type of `nil` alone: what a function without `->` gives, an `if` without `else`, a loop. Where it is wanted any value is taken and dropped. nil is also the None of every Option."},
		{"Never", "The type of what does not come back: `return`, `break`, `continue`, `throw`, `panic(…)` and a `loop` without `break`. It fits wherever a value is wanted."},
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

package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const servedToAll = `
use std::time;

struct Point { x: Int, label: Option<String> }

struct Tree { value: Int, kids: Array<Tree> }

enum Shape { Dot, Circle(Float) }

schema Topic { title: String, words?: Int }

schema Draft { text: String, note?: String }

pub tool T {
    description: "Gives",

    @describe("a struct") fn point(self) -> Point { Point { x: 1, label: nil } }
    @describe("an Option") fn maybe(self, @param("whether") yes: Bool) -> Option<Int> { if yes { Some(1) } else { None } }
    @describe("an enum") fn shape(self) -> Shape { Shape::Circle(1.5) }
    @describe("trees") fn trees(self) -> Array<Tree> { [Tree { value: 1, kids: [Tree { value: 2, kids: [] }] }] }
    @describe("text") fn text(self) -> String { "text" }

    @sequential
    @describe("holds")
    fn hold(self, @param("whether not") no: Bool = false) -> String {
        emit("holding");
        if !no { time::sleep(600000); }
        "held"
    }
}

/// Writes
pub pipeline Write {
    stage draft(topic: Topic) -> String {
        emit("note", "thinking");
        topic.title
    }
    stage check(text: String) -> Draft { Draft { text: text } }
}

fn main() { println(Shape::Dot); }`

// TestServeReference connects the protocol's reference client to `concerto mcp serve`. `make
// mcp-reference` installs the client together with the reference server.
func TestServeReference(t *testing.T) {
	sdk, err := filepath.Abs(filepath.Join("..", "..", "bin", "npm", "node_modules", "@modelcontextprotocol", "sdk"))
	if err != nil {
		t.Fatal(err)
	}
	node, err := exec.LookPath("node")
	if _, missing := os.Stat(sdk); err != nil || missing != nil {
		t.Skip("the reference client is not installed: run `make mcp-reference`")
	}
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"tools.conc": servedToAll})
	c := exec.CommandContext(t.Context(), node, filepath.Join("testdata", "mcp", "client.mjs"), sdk, "concerto", "mcp", "serve", filepath.Join(dir, "tools.conc"))
	c.Env = append(os.Environ(), "HOME="+dir)
	got, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("run the reference client: %v\n%s", err, got)
	}
	const want = `T_hold(no) T_maybe(yes) typed T_point() typed T_shape() typed T_text() T_trees() typed Write(topic) typed
T_point gives {"x":1,"label":null} {"x":1,"label":null}
T_maybe gives 1 {"result":1}
T_maybe gives null {"result":null}
T_shape gives {"variant":"Circle","data":1.5} {"result":{"variant":"Circle","data":1.5}}
T_trees gives [{"value":1,"kids":[{"value":2,"kids":[]}]}] {"result":[{"value":1,"kids":[{"value":2,"kids":[]}]}]}
T_text gives text null
T_text error bad arguments for T_text: extra: there is no such argument; the function has none null
Write gives {"text":"ab"} {"text":"ab"}
Write error bad arguments for Write: topic.title: missing, expected String null
1 [holding]
T_text gives text null
T_hold ended: enough
T_hold gives held null
`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
}

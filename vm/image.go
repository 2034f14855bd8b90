package vm

import (
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/ir"
)

// image is a loaded program: the loader builds it, and the runs of it share it.
// A run changes three things in it, none of which alters what a run does.
// Closures are made when first wanted, since few of them ever are. Strings of
// constants cache facts about themselves. Counters and coverage add up over the
// runs. That is why two runs of an image must not go on at the same time.
type image struct {
	program *ir.Program

	// Code.
	code        []ins
	origin      []int32 // code[pc] comes from instruction origin[pc] of its block
	blocks      []block // by start
	functions   []function
	closures    []value.Slot // of functions without captures, made when first wanted
	natives     []native     // the program's, then those that its effects are asked by
	constants   []value.Slot
	reciprocals map[int32]int32  // by divisor: where in constants
	texts       []map[string]int // of opSwitchText: which of its cases a String is
	tallies
	mapped *positionMap // for snapshots, made when first wanted
	debug  debugging    // with Application.Debugger

	// What it declares.
	types     []*value.Type
	typeDescs []value.Slot
	methods   map[string][]method
	toolDecls []*toolDecl
	hostDecls []Host
	pipelines []*pipeline
	called    []ToolFunction // functions that tools are made of
}

// tallies is what is counted of an image's runs.
type tallies struct {
	counters []counter // with Config.Count
	cover    *cover    // with Config.Cover
}

// load makes the image of a program.
func load(config *Config) (*image, error) {
	l := loader{&image{program: config.Program}, config}
	if config.Count.Points {
		l.cover = &cover{index: map[Point]int32{}}
	}
	return l.image, l.load()
}

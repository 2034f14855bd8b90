package stdlib

import (
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/stdlib/fleet"
	"github.com/concerto-lang/concerto/stdlib/formats"
	"github.com/concerto-lang/concerto/stdlib/native"
	"github.com/concerto-lang/concerto/stdlib/scoring"
	"github.com/concerto-lang/concerto/stdlib/times"
	"github.com/concerto-lang/concerto/vm"
)

// registry contains all natives, one table for each family. It contains pointers, so that no code
// runs at the start of the process to create it: the linker knows their values.
var registry = [...]*native.Table{
	&preludeNatives, &printNatives, &intNatives, &floatNatives, &stringNatives, &arrayNatives, &mapNatives, &optionNatives, &resultNatives,
	&rangeNatives, &errorNatives, &taskNatives, &shapeNatives, &partialNatives,
	&partyNatives, &hostStreamNatives, &agentNatives, &agentCallNatives, &toolsNatives, &mcpNatives, &decorateNatives, &cacheNatives,
	&hashMapNatives, &ledgerNatives, &memoryNatives, &queueNatives, &collectionsNatives,
	&appNatives, &appCallNatives, &runNatives, &times.Clock, &commandNatives, &cryptoNatives, &formats.CSV, &envNatives, &fmtNatives, &fsNatives, &httpNatives, &ioNatives, &formats.JSON, &mathNatives,
	&pathNatives, &promptNatives, &randomNatives, &regexNatives, &times.Time, &formats.TOML, &fleet.Work, &fleet.Merge, &formats.YAML,
	&mockNatives, &mockMCPNatives, &scoring.Natives,
}

// Native returns the library function with this registered name, or nil if there is none. It
// searches the tables, because a program needs few natives and an index would take more time than
// it saves.
func Native(name string) vm.Native {
	for _, family := range registry {
		for _, n := range *family {
			if n.Name == name {
				return n.Func
			}
		}
	}
	return nil
}

var taskNatives = native.Table{
	{"Task.is_done", func(a *vm.Args) (value.Slot, error) { return value.Bool(a.Task(0).Done()), nil }},
	{"Task.cancel", func(a *vm.Args) (value.Slot, error) {
		a.Task(0).Cancel()
		return value.Nil, nil
	}},
}

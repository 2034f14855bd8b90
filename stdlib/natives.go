package stdlib

import (
	"github.com/concerto-lang/concerto/stdlib/formats"
	"github.com/concerto-lang/concerto/stdlib/native"
	"github.com/concerto-lang/concerto/stdlib/times"
	"github.com/concerto-lang/concerto/vm"
)

// registry is all natives, one table per family. It is a literal, so that it
// costs nothing at the start.
var registry = [...]native.Table{
	preludeNatives, printNatives, intNatives, floatNatives, stringNatives, arrayNatives, mapNatives, optionNatives, resultNatives,
	rangeNatives, errorNatives, taskNatives, shapeNatives, partialNatives,
	partyNatives, hostStreamNatives, agentNatives, agentCallNatives, toolsNatives, mcpNatives, decorateNatives, cacheNatives,
	hashMapNatives, ledgerNatives, memoryNatives, collectionsNatives,
	appNatives, appCallNatives, times.Clock, commandNatives, cryptoNatives, formats.CSV, envNatives, fmtNatives, fsNatives, httpNatives, ioNatives, formats.JSON, mathNatives,
	pathNatives, promptNatives, randomNatives, regexNatives, times.Time, formats.TOML, formats.YAML,
	mockNatives, mockMCPNatives,
}

// Native finds a Go function of the library by its registered name; nil when
// there is none. It searches the tables: a program needs few natives, so an
// index would not pay.
func Native(name string) vm.Native {
	for _, family := range registry {
		for i := range family {
			if family[i].Name == name {
				return family[i].Func
			}
		}
	}
	return nil
}

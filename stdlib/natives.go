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

// What natives keep of a run, in a snapshot of it. Each says once what it is made of, for writing
// and for reading.

// Kept makes an empty one of what the library keeps of a run, by its name in snapshots; nil when
// there is none of that name. It is for vm.Config.
func Kept(name string) vm.Kept {
	for _, make := range keptKinds {
		if x := make(); x.KeptAs() == name {
			return x
		}
	}
	return nil
}

var keptKinds = []func() vm.Kept{
	func() vm.Kept { return new(cache) },
	func() vm.Kept { return new(swept) },
	func() vm.Kept { return new(remotes) },
	func() vm.Kept { return new(mocks) },
	func() vm.Kept { return new(mockedApp) },
	func() vm.Kept { return new(mockedServers) },
	func() vm.Kept { return new(partial) },
}

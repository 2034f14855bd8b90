package stdlib

import "github.com/concerto-lang/concerto/vm"

// native is a Go function with the name it is registered under: `Type.method` for
// methods, `module.f` for a module's, else what @native or @effect says. What an
// @effect names asks for that effect.
type native struct {
	name string
	f    vm.Native
}

// registry is all natives, a family a table. It is literal, so that a start costs
// nothing.
var registry = [...][]native{
	preludeNatives, printNatives, intNatives, floatNatives, stringNatives, arrayNatives, mapNatives, optionNatives, resultNatives,
	rangeNatives, errorNatives, taskNatives, shapeNatives, partialNatives,
	partyNatives, agentNatives, agentCallNatives, toolsNatives, mcpNatives, decorateNatives, cacheNatives,
	hashMapNatives, ledgerNatives, memoryNatives, collectionsNatives,
	clockNatives, commandNatives, cryptoNatives, envNatives, fmtNatives, fsNatives, httpNatives, jsonNatives, mathNatives,
	promptNatives, randomNatives, regexNatives, timeNatives,
	mockNatives, mockMCPNatives,
}

// Native finds a Go function of the library by its registered name; nil when there
// is none. A program needs few of them: nothing is made for finding them.
func Native(name string) vm.Native {
	for _, family := range registry {
		for i := range family {
			if family[i].name == name {
				return family[i].f
			}
		}
	}
	return nil
}

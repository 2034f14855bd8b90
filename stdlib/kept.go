package stdlib

import (
	"github.com/concerto-lang/concerto/vm"
)

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

module example/publisher

go 1.22

require github.com/concerto-lang/concerto/sdk/go v0.1.0

// Outside this repository a line less: `go get github.com/concerto-lang/concerto/sdk/go/host`.
replace github.com/concerto-lang/concerto/sdk/go => ../../../../sdk/go

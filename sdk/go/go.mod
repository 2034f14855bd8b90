module github.com/concerto-lang/concerto/sdk/go

go 1.22

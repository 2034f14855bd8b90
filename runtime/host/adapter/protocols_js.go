package adapter

// Protocols is empty in a page, where all hosts use the host protocol. The adapters would be a
// fortieth of the playground.
var Protocols = map[string]*Protocol{}

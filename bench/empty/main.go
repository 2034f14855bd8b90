// Command empty does nothing: the floor of what starting a Go program costs.
package main

func main() {}

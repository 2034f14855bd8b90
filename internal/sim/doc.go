// Package sim runs programs in virtual time on a simulated machine, and injects crashes, power cuts
// and lost messages. A Schedule determines a run: the program, the order of concurrent calls, and
// the faults. The code under test is that of the product; only its calls to the operating system
// are replaced.
//
// Three rules make a schedule repeatable. Every call of a process to its environment passes a gate,
// at which one call continues at a time. The priority of a call follows from its name and the
// schedule's order, and not from its arrival. The name of a call follows from the program, and not
// from the time.
//
// There are four worlds. In the first one, a Schedule runs one program on one machine. In the
// second one, an EngineSchedule lets the workers of an engine execute several runs of a shared
// store: they crash, are stopped for a time, do not reach the store, and lose responses. In the
// third one, a MergeSchedule lets people submit changes to a merge queue, and move its target,
// while runners merge. Git is a model there (package simgit). In the fourth one, a RelaySchedule
// lets programs ask people through hostd and the relay's server, who answer on two phones.
//
// A judge decides what is right. It uses what the server, the models, the hosts and the people of
// the world have seen, and what they have answered. No two of their answers are equal, so that a
// repeated effect shows.
//
// TestRules checks what the simulated files, locks, pipes, sockets and processes have in common
// with those of Linux: a table of rules, each of which holds on both. A difference that is found
// later becomes a rule.
package sim

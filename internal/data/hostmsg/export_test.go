package hostmsg

// init adds two types of messages to the table for the tests of this package: one for each form of
// a person's answer.
func init() {
	messages = append(messages,
		Message{Type: "confirm", Schema: "HostApproval", Role: Asks, Form: YesNo, Timed: true, Default: "approval_default", Channel: "host:confirm",
			Doc: "it needs a yes or a no, by another name"},
		Message{Type: "which", Schema: "HostQuestion", Role: Asks, Form: Inquiry, Timed: true, Default: "question_default", Channel: "host:which",
			Doc: "it needs to know something, by another name"},
	)
}

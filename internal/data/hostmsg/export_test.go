package hostmsg

// The table of these tests has two more types of messages that a person answers, one of each
// form. They are there before any package reads the table.
func init() {
	messages = append(messages,
		Message{Type: "confirm", Schema: "HostApproval", Role: Asks, Form: YesNo, Timed: true, Default: "approval_default", Channel: "host:confirm",
			Doc: "it needs a yes or a no, by another name"},
		Message{Type: "which", Schema: "HostQuestion", Role: Asks, Form: Inquiry, Timed: true, Default: "question_default", Channel: "host:which",
			Doc: "it needs to know something, by another name"},
	)
	byLength = indexByLength()
}

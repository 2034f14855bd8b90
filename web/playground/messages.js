// The messages that a host of Concerto's protocol may send, as templates for the user who plays it.
// A test compares the types with internal/data/hostmsg.
export const templates = {
  result: { type: "result", text: "done" },
  partial: { type: "partial", text: "a piece of the result" },
  retract: { type: "retract", messages: ["m1"] },
  progress: { type: "progress", message: "working", percent: 50 },
  question: { type: "question", id: "q1", question: "Tabs or spaces?", options: ["tabs", "spaces"] },
  approval: { type: "approval", id: "a1", description: "delete old.go", risk_level: "high" },
  tool_call: { type: "tool_call", id: "t1", name: "tool", args: {} },
  withdraw: { type: "withdraw", id: "q1" },
  log: { type: "log", level: "info", message: "a remark" },
  plan_limit: { type: "plan_limit", window: "5h", status: "near" },
  error: { type: "error", message: "it failed", code: "failed", recoverable: false },
  init_ack: { type: "init_ack" },
};

// A host that counts words and shows them as it goes. console.log writes whole lines at once, as
// the protocol requires; console.error goes to the run's log.
const readline = require("readline");

const send = (message) => console.log(JSON.stringify(message));

async function main() {
  const lines = readline.createInterface({ input: process.stdin })[Symbol.asyncIterator]();
  const receive = async () => {
    const { value, done } = await lines.next();
    return done ? null : JSON.parse(value);
  };
  for (let message = await receive(); message; message = await receive()) {
    if (message.type !== "prompt") continue;
    send({ type: "question", id: "case", question: "Count The and the as two words?" });
    const answer = await receive();
    const text = answer.value === "yes" ? message.text : message.text.toLowerCase();
    const counts = {};
    for (const word of text.split(/\s+/)) {
      counts[word] = (counts[word] ?? 0) + 1;
      send({ type: "progress", message: `counted ${word}` });
      send({ type: "partial", text: `${word} ` });
    }
    send({ type: "result", counts });
  }
}

main();

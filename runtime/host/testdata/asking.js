// A host as its author would write it for Node: events, buffered output.
const readline = require('readline');

let params = {};
let count = 0;
let prompt = null;

function say(message) {
  process.stdout.write(JSON.stringify(message) + '\n');
}

readline.createInterface({ input: process.stdin }).on('line', (line) => {
  const message = JSON.parse(line);
  switch (message.type) {
    case 'init':
      params = message.params;
      say({ type: 'init_ack', version: '1.0.0', capabilities: ['streaming'] });
      break;
    case 'prompt':
      prompt = message;
      count += 1;
      console.error('working on', prompt.text);
      say({ type: 'progress', message: 'Überblick', percent: 10 });
      say({ type: 'question', id: 'q' + count, question: 'keep “it”?', options: ['yes', 'no'] });
      break;
    case 'response':
      if (message.value === 'fail') process.exit(3);
      say({ type: 'result', text: params.model + ': ' + message.value, count, context: prompt.context ?? null });
      break;
  }
});

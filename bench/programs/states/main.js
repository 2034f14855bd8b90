const Idle = {kind: "idle"}, Done = {kind: "done"};

class Worker {
  constructor(id, energy) {
    this.id = id;
    this.state = Idle;
    this.energy = energy;
    this.output = 0;
  }

  step(tick) {
    const state = this.state;
    switch (state.kind) {
      case "idle":
        this.state = this.energy > 20 ? {kind: "working", left: 1 + (this.id + tick) % 7} : {kind: "resting", left: 3, gain: 2 + tick % 5};
        break;
      case "working":
        this.output += state.left;
        this.energy -= 3;
        this.state = state.left > 1 ? {kind: "working", left: state.left - 1} : Idle;
        break;
      case "resting":
        this.energy += state.gain * 3;
        this.state = state.left > 1 ? {kind: "resting", left: state.left - 1, gain: state.gain} : Idle;
        break;
    }
    if (this.output > 2000) this.state = Done;
  }
}

function main() {
  const workers = [];
  for (let id = 0; id < 1000; id++) workers.push(new Worker(id, id % 50));
  for (let tick = 0; tick < 1000; tick++) {
    for (let i = 0; i < workers.length; i++) workers[i].step(tick);
  }
  let energy = 0, output = 0, done = 0;
  for (const w of workers) {
    energy += w.energy;
    output += w.output;
    if (w.state === Done) done++;
  }
  return `${energy} ${output} ${done}`;
}

print(main());

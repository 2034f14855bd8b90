// Made by `make sdk` from publisher.mts, sha256 92d8138bfe1560ac0eaa0a192d838e92c958f4ac0da8ef85eae99b36df81a32a.
// A host that publishes the next version of a package, or would. It asks how large
// the change is, looks up the last version with the program's tool, and publishes
// only what it is allowed to.
import { serve } from "../../../../sdk/typescript/concerto-host.js";
const places = ["major", "minor", "patch"];
async function publish(task) {
    task.progress("looking up the last version", { percent: 10 });
    const last = await task.call("last_version", { name: task.text });
    const size = await task.ask(`${task.text} ${last} is the last. How large is the change?`, { options: places });
    const place = places.indexOf(size);
    const version = last.split(".").map((n, i) => (i < place ? n : i === place ? Number(n) + 1 : 0)).join(".");
    const may = await task.approve(`publish ${task.text} ${version}`, {
        tool: "publish",
        args: { version },
        kind: "execute",
        risk_level: "high",
    });
    if (!may.allow)
        return { text: `not published: ${may.reason}` };
    console.log("this goes to the log, as a host's prints do");
    task.partial("uploaded, ");
    return { text: `${task.text} ${may.input.version} is out`, version: may.input.version };
}
await serve(publish, { capabilities: ["cancel"], testable: true });

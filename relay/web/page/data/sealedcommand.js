// Commands that only a machine can read, and the responses to its RPCs. The formats are those of
// package relay/seal.
import { canonical, isObject, refuse } from "./canonical.js";
import { deriveKey, openJSON, place, sealText, tagOf } from "./epochs.js";

const placeOf = (purpose, { account, host, run = "", kind, id, device }, epoch) => place(purpose, account, host, run, kind, epoch, id, device);

// sealCommand returns the members {id, enc, data} of the frame of a command {statement, sig,
// content}. key is the command key of an epoch. A guest has the id of its link's share as device.
export async function sealCommand(key, epoch, command, device = command.statement.device) {
  const s = command.statement, { id } = s;
  return { id, enc: { v: 1, epoch }, data: { ct: await sealText(key.seal, placeOf("command", { ...s, device }, epoch), canonical(command)), device, epoch, id } };
}

// openCommand returns a command that this device has sealed. statement is that of the command.
export const openCommand = (key, statement, { epoch, ct }) => openJSON(key.seal, placeOf("command", statement, epoch), ct);

// openResponse returns the data of the response to the RPC that has the given statement and sealed
// data.
export async function openResponse(key, statement, { epoch, ct }, response) {
  const data = await openJSON(await deriveKey(key.derive, "response", statement.id, tagOf(ct)), placeOf("response", statement, epoch), response);
  return isObject(data) ? data : refuse("bad_message");
}

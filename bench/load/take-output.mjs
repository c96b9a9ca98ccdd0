/**
 * Takes all output of an execution off the wire and only counts it: what the daemon gives to a reader that makes no
 * message of each piece. The time begins with the first piece of output.
 */
import { request } from "node:http";

/** more than the events around the output have */
const outputMinBytes = 1024;

/** @param {{ url: string, token: string, processId: string }} what */
export function takeOutput({ url, token, processId }) {
  const id = Buffer.from(processId);
  // process_id = 1, lossless = 3
  const message = Buffer.concat([Buffer.of(0x0a, id.length), id, Buffer.of(0x18, 1)]);
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(message.length, 1);
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/connect+proto" };
  return new Promise((resolve, reject) => {
    const asked = request(`${url}/exec.v1.Processes/Attach`, { method: "POST", headers }, (response) => {
      let bytes = 0;
      let startedMs;
      response.on("data", (data) => {
        bytes += data.length;
        if (data.length >= outputMinBytes) startedMs ??= performance.now();
      });
      response.once("end", () => resolve({ bytes, ms: performance.now() - startedMs }));
      response.once("error", reject);
    });
    asked.once("error", reject);
    asked.end(Buffer.concat([prefix, message]));
  });
}

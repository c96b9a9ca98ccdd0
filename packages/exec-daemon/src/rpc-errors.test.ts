import { Code, createClient, createRouterTransport } from "@connectrpc/connect";
import { createLogger } from "@sand/node-kit";
import { BoxError } from "@sand/protocol";
import { Control } from "@sand/protocol/exec";
import { expect, test } from "vitest";
import { createErrorInterceptor } from "./rpc-errors.ts";

async function answerTo(thrown: unknown): Promise<unknown> {
  const log = createLogger({ name: "test", level: "silent" });
  const fail = (): never => {
    throw thrown;
  };
  const router = { interceptors: [createErrorInterceptor(log)] };
  const transport = createRouterTransport(({ service }) => service(Control, { ping: fail }), { router });
  return await createClient(Control, transport)
    .ping({})
    .catch((error: unknown) => error);
}

const fullDisk = Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" });

test.each([
  ["as it comes", fullDisk],
  [
    "as the cause of another failure",
    new BoxError("file/io", "the journal can't be used", { cause: fullDisk }),
  ],
])("a full disk is said so, wherever it was met: %s", async (_, thrown) => {
  const answer = await answerTo(thrown);
  expect(answer).toMatchObject({ code: Code.ResourceExhausted, rawMessage: "there is no space left" });
});

test("a bug says nothing of its text, and an error with a code is what it says", async () => {
  expect(await answerTo(new Error("secret"))).toMatchObject({
    ...{ code: Code.Internal, rawMessage: "the daemon failed" },
  });
  expect(await answerTo(new BoxError("file/denied", "not there", { cause: fullDisk }))).toMatchObject({
    ...{ code: Code.PermissionDenied, rawMessage: "not there" },
  });
});

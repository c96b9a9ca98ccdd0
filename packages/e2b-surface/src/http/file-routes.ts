/** `/files`: who holds the token may read and write, and who holds a signed address what it was signed for. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { Code, ConnectError } from "@connectrpc/connect";
import { checkUser } from "../choose-user.ts";
import { sendFile } from "../files/download.ts";
import { receiveFiles } from "../files/receive-files.ts";
import { judgeSignature, type SignedOperation } from "../files/signature.ts";
import { resolvePath } from "../resolve-path.ts";
import { invalid } from "../surface-error.ts";
import type { DaemonPorts } from "../surface-ports.ts";
import type { SurfaceSettings } from "../surface-settings.ts";
import { sendJson } from "./answer.ts";

export interface FileRouteDeps {
  readonly ports: DaemonPorts;
  readonly settings: SurfaceSettings;
  readonly nowMs: () => number;
}

export async function answerFiles(
  deps: FileRouteDeps,
  query: URLSearchParams,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { ports } = deps;
  admit(deps, query, request);
  checkUser(ports.account, query.get("username") ?? undefined);
  const path = query.get("path") ?? "";
  if (request.method === "POST") {
    sendJson(response, 200, await receiveFiles(ports, path, request));
    return;
  }
  if (path === "") throw invalid("the path is missing");
  await sendFile(ports.files, resolvePath(path, ports.account.home), request, response);
}

function admit({ settings, nowMs }: FileRouteDeps, query: URLSearchParams, request: IncomingMessage): void {
  const sent = request.headersDistinct["x-access-token"]?.[0];
  if (sent !== undefined) {
    if (settings.hasToken(sent)) return;
    throw unauthenticated("the access token is wrong");
  }
  const operation: SignedOperation = request.method === "POST" ? "write" : "read";
  const verdict = judgeSignature(
    {
      path: query.get("path") ?? "",
      operation,
      user: query.get("username") ?? "",
      signature: query.get("signature") ?? "",
      expiration: query.get("signature_expiration") ?? undefined,
    },
    settings.token,
    nowMs(),
  );
  switch (verdict) {
    case "valid":
      return;
    case "missing":
      throw unauthenticated("an access token or a signature is needed");
    case "wrong":
      throw unauthenticated("the signature is wrong");
    case "expired":
      throw unauthenticated("the signature has expired");
  }
}

export function unauthenticated(message: string): ConnectError {
  return new ConnectError(message, Code.Unauthenticated);
}

/** POST /files/compose: joins files, in their order, to one, and removes them when that is there whole. */
import { basename } from "node:path";
import { checkUser } from "../choose-user.ts";
import type { JsonObject } from "../http/read-json.ts";
import { textField } from "../http/read-json.ts";
import { limits } from "../limits.ts";
import { resolvePath } from "../resolve-path.ts";
import { invalid, sandCodeOf } from "../surface-error.ts";
import type { DaemonPorts } from "../surface-ports.ts";
import type { ReceivedFile } from "./received-file.ts";
import { uploadFile } from "./upload-file.ts";

export async function composeFiles(ports: DaemonPorts, body: JsonObject): Promise<ReceivedFile> {
  checkUser(ports.account, textField(body, "username"));
  const { home } = ports.account;
  const given = textField(body, "destination") ?? "";
  if (given === "") throw invalid("the destination is missing");
  const destination = resolvePath(given, home);
  const sources = parseSources(body.source_paths).map((path) => resolvePath(path, home));
  await uploadFile(ports.files, destination, readAll(ports.files, sources));
  for (const path of new Set(sources)) {
    if (path !== destination) await ports.files.remove({ path, recursive: false });
  }
  return { path: destination, name: basename(destination), type: "file" };
}

function parseSources(value: unknown): readonly string[] {
  const isList = Array.isArray(value) && value.every((path) => typeof path === "string" && path !== "");
  if (!isList || value.length === 0 || value.length > limits.composeSourcesMax)
    throw invalid(`source_paths are 1 to ${limits.composeSourcesMax} paths`);
  return value;
}

async function* readAll(files: DaemonPorts["files"], paths: readonly string[]): AsyncGenerator<Uint8Array> {
  for (const path of paths) {
    let expectedVersion = "";
    for (let offset = 0; ; ) {
      const piece = await readPiece(files, { path, offset: BigInt(offset), expectedVersion });
      expectedVersion = piece.version;
      if (piece.data.length > 0) yield piece.data;
      offset += piece.data.length;
      if (offset >= Number(piece.totalBytes) || piece.data.length === 0) break;
    }
  }
}

async function readPiece(
  files: DaemonPorts["files"],
  at: { readonly path: string; readonly offset: bigint; readonly expectedVersion: string },
) {
  try {
    return await files.read({ ...at, lengthMax: limits.pieceBytes, noDigest: true });
  } catch (error) {
    if (sandCodeOf(error) === "file/not-a-file") throw invalid("one of the sources is no file");
    throw error;
  }
}

/**
 * Snapshots in S3-compatible storage.
 *
 * Nothing is asked of the server's own checksums: many accept a wrong one. What is read is proved by its hash above.
 * Conditions are sent as headers; a server that doesn't know them answers 501 or 400, which is told apart from a condition that doesn't hold.
 */
import { Agent as HttpAgent } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import type { GetObjectCommandOutput, PutObjectCommandInput } from "@aws-sdk/client-s3";
import { BoxError } from "@sand/protocol";
import type { ListedObject, ObjectStore, StoredBytes } from "@sand/store/snapshots";
import { loadS3 } from "./carried-s3.ts";

export interface S3Access {
  readonly endpoint: string | null;
  readonly region: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken: string | null;
}

export interface S3StoreOptions {
  readonly bucket: string;
  /** ends with a slash, or is empty */
  readonly prefix: string;
  readonly access: S3Access;
}

const parallelMax = 8;
const attemptsMax = 4;
const connectTimeoutMs = 5_000;
const requestTimeoutMs = 60_000;
/** a manifest of the greatest size fits; anything larger isn't ours */
const objectMaxBytes = 256 * 1_048_576;

export async function openS3Store({ bucket, prefix, access }: S3StoreOptions): Promise<ObjectStore> {
  const s3 = await loadS3();
  const client = new s3.S3Client({
    region: access.region,
    ...(access.endpoint === null ? {} : { endpoint: access.endpoint, forcePathStyle: true }),
    credentials: {
      accessKeyId: access.accessKeyId,
      secretAccessKey: access.secretAccessKey,
      ...(access.sessionToken === null ? {} : { sessionToken: access.sessionToken }),
    },
    maxAttempts: attemptsMax,
    requestChecksumCalculation: "WHEN_REQUIRED",
    responseChecksumValidation: "WHEN_REQUIRED",
    requestHandler: {
      connectionTimeout: connectTimeoutMs,
      requestTimeout: requestTimeoutMs,
      throwOnRequestTimeout: true,
      httpAgent: new HttpAgent({ keepAlive: true, maxSockets: parallelMax }),
      httpsAgent: new HttpsAgent({ keepAlive: true, maxSockets: parallelMax }),
    },
  });
  const address = `s3://${bucket}/${prefix}${access.endpoint === null ? "" : ` at ${access.endpoint}`}`;
  const name = (key: string) => ({ Bucket: bucket, Key: `${prefix}${key}` });

  async function put(
    key: string,
    bytes: Uint8Array,
    condition: Partial<PutObjectCommandInput>,
  ): Promise<Answer> {
    try {
      await client.send(new s3.PutObjectCommand({ ...name(key), Body: bytes, ...condition }));
      return "done";
    } catch (error) {
      const answer = answerOf(error);
      if (answer === undefined) throw unavailable(error, address);
      return answer;
    }
  }

  async function get(key: string, range?: { readonly from: number; readonly to: number }) {
    try {
      const Range = range === undefined ? undefined : `bytes=${range.from}-${range.to - 1}`;
      const found = await client.send(
        new s3.GetObjectCommand({ ...name(key), ...(Range === undefined ? {} : { Range }) }),
      );
      return await readBytes(found);
    } catch (error) {
      if (statusOf(error) === 404) return undefined;
      throw unavailable(error, address);
    }
  }

  async function* list(below: string): AsyncIterable<ListedObject> {
    let token: string | undefined;
    do {
      const page = await client
        .send(
          new s3.ListObjectsV2Command({
            ...{ Bucket: bucket, Prefix: `${prefix}${below}` },
            ...(token === undefined ? {} : { ContinuationToken: token }),
          }),
        )
        .catch((error: unknown) => {
          throw unavailable(error, address);
        });
      for (const { Key, Size } of page.Contents ?? []) {
        if (Key?.startsWith(prefix) === true) yield { key: Key.slice(prefix.length), bytes: Size ?? 0 };
      }
      token = page.IsTruncated === true ? page.NextContinuationToken : undefined;
    } while (token !== undefined);
  }

  return {
    address,
    parallel: parallelMax,
    async put(key, bytes) {
      const answer = await put(key, bytes, {});
      if (answer !== "done") throw unavailable(new Error("an unconditional write was refused"), address);
    },
    async create(key, bytes) {
      const answer = await put(key, bytes, { IfNoneMatch: "*" });
      if (answer === "unsupported") return { kind: "unsupported" };
      return { kind: answer === "done" ? "created" : "exists" };
    },
    async replace({ key, bytes, etag, style }) {
      const answer = await put(key, bytes, { IfMatch: style === "quoted" ? `"${etag}"` : etag });
      if (answer === "unsupported") return { kind: "unsupported" };
      return { kind: answer === "done" ? "replaced" : "stale" };
    },
    get,
    list,
    async remove(key) {
      try {
        await client.send(new s3.DeleteObjectCommand(name(key)));
      } catch (error) {
        if (statusOf(error) !== 404) throw unavailable(error, address);
      }
    },
    // A write is durable when it was answered, and one that was cut off left nothing.
    async settle() {},
    async tidy() {},
    async close() {
      client.destroy();
    },
  };
}

type Answer = "done" | "refused" | "unsupported";

/** 409 is what some answer to the loser of two writes at once. */
function answerOf(error: unknown): Answer | undefined {
  const status = statusOf(error);
  if (status === 412 || status === 409) return "refused";
  return status === 501 ? "unsupported" : undefined;
}

async function readBytes(found: GetObjectCommandOutput): Promise<StoredBytes> {
  if ((found.ContentLength ?? 0) > objectMaxBytes) throw new Error("the object is larger than any of ours");
  const bytes = (await found.Body?.transformToByteArray()) ?? new Uint8Array();
  return { bytes, etag: (found.ETag ?? "").replaceAll('"', "") };
}

function statusOf(error: unknown): number | undefined {
  if (typeof error !== "object" || error === null || !("$metadata" in error)) return undefined;
  const metadata = error.$metadata;
  if (typeof metadata !== "object" || metadata === null || !("httpStatusCode" in metadata)) return undefined;
  return typeof metadata.httpStatusCode === "number" ? metadata.httpStatusCode : undefined;
}

/** The library's messages name hosts, buckets and codes, never a credential. */
function unavailable(cause: unknown, address: string): BoxError {
  const status = statusOf(cause);
  const name = cause instanceof Error ? cause.name : "";
  const why = cause instanceof Error && cause.message !== "" ? cause.message : "no answer";
  const isRefused = status === 401 || status === 403;
  return new BoxError("box-store/unavailable", `${address} can't be used: ${name} ${why}`.slice(0, 500), {
    cause,
    hint: isRefused
      ? "check the access key, its secret and what it is allowed to do"
      : "check the endpoint, the bucket's name and the network",
  });
}

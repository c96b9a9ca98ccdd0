/** Where the proof keeps its snapshots: a directory, or a real S3 server that it starts. */
import { createRequire } from "node:module";
import { join } from "node:path";
import { openS3Store } from "../../../packages/host/src/box-store/s3-store.ts";
import { openDirectoryStore } from "../../../packages/store/src/snapshots/door.ts";
import * as kit from "../../../packages/testkit/src/proofs/door.ts";

const noS3 = { endpoint: null, region: null, accessKeyId: null, secretAccessKey: null, sessionToken: null };

/** `access(name)`: what a call to the role names; `open(name)`: the same store in this process; `env(name)`: for a host. */
export async function openTarget(kind, folder) {
  return kind === "directory" ? directoryTarget(folder) : await radosgwTarget();
}

function directoryTarget(folder) {
  const path = (name) => join(folder, `store-${name}`);
  return {
    access: (name) => ({ address: path(name), s3: noS3 }),
    env: (name) => ({ SAND_BOX_STORE: path(name) }),
    open: async (name) => openDirectoryStore({ path: path(name) }),
    async [Symbol.asyncDispose]() {},
  };
}

async function radosgwTarget() {
  if (!kit.hasRadosgw())
    throw new Error("the proof needs root and: apt-get install radosgw ceph-mon ceph-osd ceph-common");
  const server = await kit.startRadosgw();
  const { endpoint, accessKeyId, secretAccessKey } = server;
  const s3 = { endpoint, region: "us-east-1", accessKeyId, secretAccessKey, sessionToken: null };
  await createBucket(s3);
  return {
    access: (name) => ({ address: `s3://boxes/${name}`, s3 }),
    env: (name) => ({
      SAND_BOX_STORE: `s3://boxes/${name}`,
      SAND_BOX_STORE_ENDPOINT: endpoint,
      SAND_BOX_STORE_ACCESS_KEY_ID: accessKeyId,
      SAND_BOX_STORE_SECRET_ACCESS_KEY: secretAccessKey,
    }),
    open: (name) => openS3Store({ bucket: "boxes", prefix: `${name}/`, access: s3 }),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

async function createBucket({ endpoint, region, accessKeyId, secretAccessKey }) {
  const load = createRequire(new URL("../../../packages/host/package.json", import.meta.url));
  const { CreateBucketCommand, S3Client } = load("@aws-sdk/client-s3");
  const credentials = { accessKeyId, secretAccessKey };
  const client = new S3Client({ endpoint, region, credentials, forcePathStyle: true });
  await client.send(new CreateBucketCommand({ Bucket: "boxes" }));
  client.destroy();
}

/** Opens the store that an address names. */
import { BoxError } from "@sand/protocol";
import type { StoreAccess } from "@sand/store/box-store";
import { looksLikeStore, type ObjectStore, openDirectoryStore } from "@sand/store/snapshots";
import { openS3Store } from "./s3-store.ts";
import { parseStoreAddress } from "./store-address.ts";

/** how long a gentle snapshot rests after a write to a disk, as a share of what the write took */
const restShare = 2;
/** servers that aren't Amazon's take any */
const regionFallback = "us-east-1";

export async function openBoxStore(
  { address, s3 }: StoreAccess,
  options: { readonly isGentle: boolean; readonly workingFolder: string },
): Promise<ObjectStore> {
  const parsed = parseStoreAddress(address, options.workingFolder);
  if (parsed.kind === "directory") {
    if (!looksLikeStore(parsed.path)) {
      throw new BoxError("box-store/refused", `${parsed.path} holds other things than a box store`, {
        hint: "give a folder of its own; it is made when it isn't there",
      });
    }
    return openDirectoryStore({ path: parsed.path, restShare: options.isGentle ? restShare : 0 });
  }
  const { accessKeyId, secretAccessKey } = s3;
  if (accessKeyId === null || secretAccessKey === null) {
    throw new BoxError("config/invalid", "there are no credentials for S3", {
      hint: "set SAND_BOX_STORE_ACCESS_KEY_ID and SAND_BOX_STORE_SECRET_ACCESS_KEY",
    });
  }
  const { endpoint, sessionToken } = s3;
  const access = {
    endpoint,
    region: s3.region ?? regionFallback,
    accessKeyId,
    secretAccessKey,
    sessionToken,
  };
  return await openS3Store({ bucket: parsed.bucket, prefix: parsed.prefix, access });
}

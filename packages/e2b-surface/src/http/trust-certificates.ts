/**
 * Makes further certificates known to commands. The system's own store belongs to root and isn't touched: a file with
 * the system's certificates and these is put into the home, and the variables that programs read lead there.
 */
import { X509Certificate } from "node:crypto";
import { posix } from "node:path";
import { uploadFile } from "../files/upload-file.ts";
import { invalid } from "../surface-error.ts";
import type { DaemonPorts } from "../surface-ports.ts";

const systemBundle = "/etc/ssl/certs/ca-certificates.crt";
const certificatesMax = 1000;
const systemBundleMaxBytes = 4 * 1024 * 1024;

export function createTrust({ files, account }: DaemonPorts) {
  const folder = posix.join(account.home, ".config", "e2b");
  const [own, all] = [posix.join(folder, "ca-own.crt"), posix.join(folder, "ca-all.crt")];

  return async (pem: string): Promise<Readonly<Record<string, string>>> => {
    checkCertificates(pem);
    const ownBytes = Buffer.from(`${pem.trim()}\n`, "utf8");
    const system = await readSystem();
    await uploadFile(files, own, one(ownBytes));
    await uploadFile(files, all, one(Buffer.concat([system, Buffer.from("\n"), ownBytes])));
    return {
      NODE_EXTRA_CA_CERTS: own,
      ...{ SSL_CERT_FILE: all, CURL_CA_BUNDLE: all, REQUESTS_CA_BUNDLE: all, GIT_SSL_CAINFO: all },
    };
  };

  async function readSystem(): Promise<Uint8Array> {
    try {
      const { data } = await files.read({
        path: systemBundle,
        lengthMax: systemBundleMaxBytes,
        noDigest: true,
      });
      return data;
    } catch {
      // A machine without any certificates: then these are all there are.
      return new Uint8Array(0);
    }
  }
}

async function* one(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

function checkCertificates(pem: string): void {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----/gu) ?? [];
  if (blocks.length === 0 || blocks.length > certificatesMax)
    throw invalid(`a bundle holds 1 to ${certificatesMax} certificates`);
  try {
    for (const block of blocks) new X509Certificate(block);
  } catch {
    throw invalid("the bundle holds something that is no certificate");
  }
}

/**
 * A self-signed certificate for 127.0.0.1 and localhost, made here so that no test needs a program or a stored key.
 *
 * DER is written by hand: each value is a tag, a length and its content.
 */
import { generateKeyPairSync, sign } from "node:crypto";

export interface SelfSigned {
  /** PEM texts */
  readonly cert: string;
  readonly key: string;
}

const tags = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octets: 0x04,
  oid: 0x06,
  text: 0x0c,
  time: 0x18,
  sequence: 0x30,
  set: 0x31,
} as const;

const oids = {
  ecdsaWithSha256: Buffer.from("2a8648ce3d040302", "hex"),
  commonName: Buffer.from("550403", "hex"),
  basicConstraints: Buffer.from("551d13", "hex"),
  subjectAltName: Buffer.from("551d11", "hex"),
} as const;

function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  const head = length < 0x80 ? [length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...head]), content]);
}

const sequence = (...parts: readonly Buffer[]): Buffer => der(tags.sequence, ...parts);
const bits = (content: Buffer): Buffer => der(tags.bitString, Buffer.from([0]), content);

function timeOf(atMs: number): Buffer {
  const digits = new Date(atMs).toISOString().slice(0, 19).replace(/[-T:]/gu, "");
  return der(tags.time, Buffer.from(`${digits}Z`, "ascii"));
}

function extension(id: Buffer, value: Buffer): Buffer {
  return sequence(der(tags.oid, id), der(tags.octets, value));
}

const dayMs = 86_400_000;

export function makeSelfSigned(): SelfSigned {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
  const algorithm = sequence(der(tags.oid, oids.ecdsaWithSha256));
  const name = sequence(
    der(tags.set, sequence(der(tags.oid, oids.commonName), der(tags.text, Buffer.from("sand test")))),
  );
  const altNames = sequence(der(0x82, Buffer.from("localhost")), der(0x87, Buffer.from([127, 0, 0, 1])));
  const isAuthority = sequence(der(tags.boolean, Buffer.from([0xff])));
  const body = sequence(
    der(0xa0, der(tags.integer, Buffer.from([2]))),
    der(tags.integer, Buffer.from([1])),
    algorithm,
    name,
    sequence(timeOf(Date.now() - dayMs), timeOf(Date.now() + dayMs)),
    name,
    publicKey.export({ type: "spki", format: "der" }),
    der(
      0xa3,
      sequence(extension(oids.subjectAltName, altNames), extension(oids.basicConstraints, isAuthority)),
    ),
  );
  const signature = sign("sha256", body, privateKey);
  const encoded = sequence(body, algorithm, bits(signature)).toString("base64");
  const lines = encoded.match(/.{1,64}/gu) ?? [];
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${lines.join("\n")}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
  };
}

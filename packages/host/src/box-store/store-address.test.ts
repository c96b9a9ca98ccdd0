import { expect, test } from "vitest";
import { parseStoreAddress } from "./store-address.ts";

test.each([
  ["/mnt/backups", { kind: "directory", path: "/mnt/backups" }],
  ["backups", { kind: "directory", path: "/srv/here/backups" }],
  ["s3://boxes", { kind: "s3", bucket: "boxes", prefix: "" }],
  ["s3://boxes/a//laptop/", { kind: "s3", bucket: "boxes", prefix: "a/laptop/" }],
])("%j is a store", (text, address) => {
  expect(parseStoreAddress(text, "/srv/here")).toEqual(address);
});

test.each(["s3://", "s3:/boxes", "s3://B/x", "s3://boxes/../x", "https://boxes", "s3://boxes/a b"])(
  "%j is none",
  (text) => {
    expect(() => parseStoreAddress(text, "/srv/here")).toThrow(/names no box store/u);
  },
);

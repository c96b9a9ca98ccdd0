/**
 * The S3 client, loaded by the one process that speaks to S3. A bundle carries it compressed, beside its program, so
 * that no other start pays for its size; the bundling script replaces this file.
 */
export type S3Library = typeof import("@aws-sdk/client-s3");

export async function loadS3(): Promise<S3Library> {
  return await import("@aws-sdk/client-s3");
}

/** What an upload gives along for its files: `X-Metadata-<name>` headers, names in small letters. Pure. */
import { limits } from "../limits.ts";
import { invalid } from "../surface-error.ts";

const headerPrefix = "x-metadata-";
export const attributeNamespace = "user.e2b.";

/** Of a header that comes several times the first is taken. `headers` has names in small letters. */
export function parseMetadata(
  headers: Readonly<Record<string, readonly string[] | undefined>>,
): Readonly<Record<string, string>> {
  const metadata: Record<string, string> = {};
  let bytes = 0;
  for (const [header, [value = ""] = []] of Object.entries(headers)) {
    if (!header.startsWith(headerPrefix)) continue;
    const key = header.slice(headerPrefix.length);
    checkText(key, "name");
    checkText(value, "value");
    if (key === "" || key.length > limits.metadataKeyMaxBytes)
      throw invalid(`a metadata name has 1 to ${limits.metadataKeyMaxBytes} characters`);
    bytes += attributeNamespace.length + key.length + value.length;
    metadata[key] = value;
  }
  if (bytes > limits.metadataMaxBytes)
    throw invalid(`the metadata is larger than ${limits.metadataMaxBytes} bytes`);
  return metadata;
}

function checkText(text: string, what: string): void {
  if (!/^[\x20-\x7e]*$/u.test(text)) throw invalid(`a metadata ${what} is printable ASCII`);
}

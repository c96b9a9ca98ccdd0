/** Reads a whole body, but never more than `maxBytes`: the other side may be anything. */
import { CommandFailure } from "../command-failure.ts";

export async function readBounded(response: Response, maxBytes: number): Promise<string> {
  if (response.body === null) return "";
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  for await (const chunk of response.body) {
    bytes += chunk.byteLength;
    if (bytes > maxBytes)
      throw new CommandFailure("serverError", `the answer is longer than ${maxBytes} bytes`);
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

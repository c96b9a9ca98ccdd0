/**
 * The encoding of a download, from `Accept-Encoding`: gzip where the client asks for it, else as it is. Undefined when
 * neither may be sent. Pure.
 */
export type Encoding = "identity" | "gzip";

export function negotiateEncoding(header: string | undefined): Encoding | undefined {
  if (header === undefined || header.trim() === "") return "identity";
  const weights = parseWeights(header);
  const gzip = weights.get("gzip") ?? weights.get("x-gzip") ?? weights.get("*") ?? 0;
  // As it is may always be sent, unless it is ruled out by name or by a star that rules everything out.
  const identity = weights.get("identity") ?? (weights.get("*") === 0 ? 0 : 0.001);
  if (gzip > 0 && gzip >= identity) return "gzip";
  return identity > 0 ? "identity" : undefined;
}

function parseWeights(header: string): ReadonlyMap<string, number> {
  const weights = new Map<string, number>();
  for (const part of header.split(",").slice(0, 32)) {
    const [name = "", ...parameters] = part.split(";").map((text) => text.trim().toLowerCase());
    const weight = parameters.find((text) => text.startsWith("q="));
    const value = weight === undefined ? 1 : Number(weight.slice(2));
    if (name !== "") weights.set(name, Number.isFinite(value) ? Math.min(Math.max(value, 0), 1) : 0);
  }
  return weights;
}

/**
 * Ids and names of earlier calls in the form that this provider takes.
 *
 * A history may come from another provider, whose ids hold colons and dots; one of them would refuse every later
 * request of the conversation. What has the right form goes out as it is.
 */
const wrongIdChars = /[^a-zA-Z0-9_-]/gu;
const nameMaxChars = 128;

/** Which id goes out for each of these; different ones stay different. */
export function conformIds(ids: readonly string[]): ReadonlyMap<string, string> {
  const taken = new Set(ids.filter((id) => conformText(id) === id));
  const conformed = new Map<string, string>();
  for (const id of ids) {
    if (conformed.has(id)) continue;
    let candidate = conformText(id);
    while (candidate !== id && taken.has(candidate)) candidate += "_";
    taken.add(candidate);
    conformed.set(id, candidate);
  }
  return conformed;
}

export function conformName(name: string): string {
  return conformText(name).slice(0, nameMaxChars);
}

function conformText(text: string): string {
  return text === "" ? "_" : text.replaceAll(wrongIdChars, "_");
}

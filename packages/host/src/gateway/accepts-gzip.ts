/** True when an `Accept-Encoding` header allows gzip; a weight of zero forbids it. */
export function acceptsGzip(header: string | readonly string[] | undefined): boolean {
  const list = typeof header === "string" ? header : (header ?? []).join(",");
  return list.split(",").some((item) => {
    const [name, ...parameters] = item.split(";").map((part) => part.trim().toLowerCase());
    return name === "gzip" && !parameters.some((parameter) => /^q=0(\.0*)?$/u.test(parameter));
  });
}

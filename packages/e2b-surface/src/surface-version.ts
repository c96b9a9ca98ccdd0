/**
 * The version of E2B's own daemon that clients may take us for. Their SDK asks nobody what works; it compares this
 * number, so it is only as high as what is really here.
 */

/** what 0.6.2 brought: attributes of files, which need a file system that keeps them */
const withoutAttributes = "0.5.7";
const complete = "0.6.4";

export function surfaceVersion(features: { readonly attributes: boolean }): string {
  return features.attributes ? complete : withoutAttributes;
}

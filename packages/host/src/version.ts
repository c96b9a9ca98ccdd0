/** The version of this build; it stands in `package.json` too, and a test holds the two together. */
export const version = "0.1.0";

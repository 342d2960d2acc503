const SLUG = /^[a-z0-9]+(-[a-z0-9]+)*$/;

/** The short name of an account: 3 to 63 small letters and digits, in groups joined by single hyphens. */
export function isSlug(text: string): boolean {
  return text.length >= 3 && text.length <= 63 && SLUG.test(text);
}

/** What an artifact is, once it is no longer text in a JSON answer. */
export interface Download {
  readonly bytes: Buffer;
  readonly contentType: string;
}

const BINARY = /;\s*base64\s*$/i;
const TYPE = /^[\w!#$&^.+-]{1,127}\/[\w!#$&^.+-]{1,127}$/;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}(?:==)?|[A-Za-z0-9+/]{3}=?)?$/;
const UNKNOWN = 'application/octet-stream';

/**
 * The bytes behind an artifact's text: those that it stands for where its type ends in `;base64`, else those of the text. What
 * says that it is base64 and is not is given as it was sent. A type that is none is not repeated.
 */
export function downloadOf(mimeType: string, content: string): Download {
  const [type = ''] = mimeType.split(';').map((part) => part.trim());
  const known = TYPE.test(type) ? type.toLowerCase() : UNKNOWN;
  const packed = BINARY.test(mimeType) ? content.replaceAll(/\s/g, '') : undefined;
  if (packed !== undefined && BASE64.test(packed)) return { bytes: Buffer.from(packed, 'base64'), contentType: known };
  return { bytes: Buffer.from(content), contentType: known === UNKNOWN ? known : `${known}; charset=utf-8` };
}

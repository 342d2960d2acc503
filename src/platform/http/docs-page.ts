type Json = { readonly [key: string]: unknown };

interface Described {
  readonly summary: string;
  readonly tags: readonly string[];
  readonly 'x-signalbox-capability'?: string;
  readonly parameters?: readonly Json[];
  readonly requestBody?: Json;
  readonly responses: Readonly<Record<string, Json>>;
}

/** The reference as one page that needs nothing but itself: no script, no style and no font from elsewhere. */
export function docsPageOf(document: Json): string {
  const paths = document['paths'] as Readonly<Record<string, Readonly<Record<string, Described>>>>;
  const entries = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, described]) => ({ path, method, described })),
  );
  const areas = [...new Set(entries.map(({ described }) => described.tags[0] ?? ''))];
  const sections = areas.map((area) => {
    const items = entries
      .filter(({ described }) => described.tags[0] === area)
      .map(({ path, method, described }) => item(method, path, described));
    return `<section><h2>${escape(area)}</h2>${items.join('')}</section>`;
  });
  const { schemas } = document['components'] as { readonly schemas: Json };
  const shapes = Object.entries(schemas).map(
    ([name, schema]) => `<details id="${escape(name)}"><summary>${escape(name)}</summary>${code(schema)}</details>`,
  );
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Signalbox API</title><style>${STYLE}</style></head><body>
<h1>Signalbox API</h1><p>Made from the operations that this build serves; the same as <a href="openapi.json">openapi.json</a>.</p>
${sections.join('\n')}<section><h2>Schemas</h2>${shapes.join('')}</section></body></html>`;
}

function item(method: string, path: string, described: Described): string {
  const capability = described['x-signalbox-capability'];
  const parts = [
    capability ? `<p>Needs <code>${escape(capability)}</code>.</p>` : '',
    described.parameters ? `<h4>Parameters</h4>${code(described.parameters)}` : '',
    described.requestBody ? `<h4>Body</h4>${code(described.requestBody)}` : '',
    `<h4>Answers</h4>${code(described.responses)}`,
  ];
  const title = `<b>${escape(method.toUpperCase())}</b> <code>${escape(path)}</code> ${escape(described.summary)}`;
  return `<details><summary>${title}</summary>${parts.join('')}</details>`;
}

function code(value: unknown): string {
  return `<pre>${escape(JSON.stringify(value, null, 2))}</pre>`;
}

function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}

const STYLE =
  'body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1c1c1c;background:#fcfcfa}' +
  'h2{border-bottom:1px solid #ccc}details{margin:.4rem 0}summary{cursor:pointer}pre{background:#f2f1ec;padding:.6rem;overflow:auto;font-size:13px}' +
  'h4{margin:.6rem 0 .2rem}@media(prefers-color-scheme:dark){body{color:#e6e6e6;background:#161616}pre{background:#222}h2{border-color:#444}}';

import fs from 'node:fs';
import path from 'node:path';
import type { z } from 'zod';
import { CAPABILITIES, KNOWN_CAPABILITIES } from '../src/access/capabilities/capabilities.policy.ts';
import { BUILT_IN_ROLES, capabilitiesOf } from '../src/access/roles/roles.policy.ts';
import { SETTINGS, type Setting } from '../src/platform/config/settings.ts';
import { FAULT_KINDS, declaredFaults } from '../src/platform/faults/faults.ts';
import { AREAS } from '../src/platform/operation/areas.ts';
import { areaOf, type Operation } from '../src/platform/operation/operation.ts';
import { declaredEvents } from '../src/platform/outbox/event.ts';

/** What a program that is built, but need not listen, can say about itself. */
export interface Known {
  readonly operations: readonly Operation[];
  /** The OpenAPI document as it is served. */
  readonly document: object;
}

/** The references under docs/generated: file name → text. The same program gives the same texts. */
export function referencesOf({ operations, document }: Known): ReadonlyMap<string, string> {
  return new Map([
    ['openapi.json', `${JSON.stringify(document, null, 2)}\n`],
    ['operations.md', operationsPage(operations)],
    ['capabilities.md', capabilitiesPage(operations)],
    ['roles.md', rolesPage()],
    ['events.md', eventsPage()],
    ['faults.md', faultsPage(operations)],
    ['settings.md', settingsPage()],
  ]);
}

function operationsPage(operations: readonly Operation[]): string {
  const sections = AREAS.flatMap((area) => {
    const ofArea = operations.filter((op) => areaOf(op) === area).sort((a, b) => (a.id < b.id ? -1 : 1));
    if (ofArea.length === 0) return [];
    const rows = ofArea.map((op) => [
      code(op.id),
      code(reachOf(op)),
      callerOf(op),
      auditOf(op),
      op.faults.map((fault) => code(fault.code)).join(', '),
      op.summary,
    ]);
    return [`## ${area}`, table(['Operation', 'Reached by', 'Who', 'Audit', 'Own faults', 'What it does'], rows)];
  });
  return page(
    'Operations',
    'Everything that can be asked of the program. *Ours* is not in the contract that public clients know.',
    sections,
  );
}

function reachOf({ http, frame }: Operation): string {
  if (http) return `${http.method} ${http.path}`;
  return `frame ${frame?.type}${frame?.reply ? ` → ${frame.reply}` : ''}`;
}

function callerOf({ capability, operatorsOnly, systemAdminsOnly, ours }: Operation): string {
  const notes = [
    ...(operatorsOnly ? ['no worker tokens'] : []),
    ...(systemAdminsOnly ? ['system admins'] : []),
    ...(ours ? ['*ours*'] : []),
  ];
  return [whoOf(capability), ...notes].join(', ');
}

function whoOf(capability: Operation['capability']): string {
  if (typeof capability === 'string') return code(capability);
  if ('anyoneBecause' in capability) return `anyone: ${capability.anyoneBecause}`;
  return 'onlyWorkers' in capability ? 'worker token' : 'any credential';
}

function auditOf({ audit }: Operation): string {
  if (!audit) return '';
  return 'action' in audit ? code(audit.action) : `none: ${audit.unauditedBecause}`;
}

function capabilitiesPage(operations: readonly Operation[]): string {
  const rows = [...KNOWN_CAPABILITIES].sort().map((capability) => {
    const { area, sensitivity, allows } = CAPABILITIES[capability];
    const asking = operations.filter((op) => op.capability === capability).map(({ id }) => code(id));
    return [code(capability), area, sensitivity, allows, asking.sort().join(', ')];
  });
  return page('Capabilities', 'What a principal may be granted, and what asks for it.', [
    table(['Capability', 'Area', 'Sensitivity', 'Lets its holder', 'Asked for by'], rows),
  ]);
}

function rolesPage(): string {
  const held = BUILT_IN_ROLES.map((role) => capabilitiesOf([role]));
  const rows = [...KNOWN_CAPABILITIES]
    .sort()
    .map((capability) => [
      code(capability),
      ...held.map((capabilities) => (capabilities.has(capability) ? 'yes' : '')),
    ]);
  return page('Roles', 'The built-in roles of every account. What is not granted is refused.', [
    table(['Capability', ...BUILT_IN_ROLES.map(code)], rows),
  ]);
}

function eventsPage(): string {
  const sources = sourcesUnder('src').map((file) => ({ file, text: fs.readFileSync(file, 'utf8') }));
  const rows = declaredEvents().map(({ topic, schema }) => {
    const [name] = sources.flatMap(({ text }) => namesOf(topic, text));
    const using = (use: RegExp): string =>
      areasOf(name === undefined ? [] : sources.filter(({ text }) => use.test(text)).map(({ file }) => file));
    const fields = Object.keys(schema.shape).map(code).join(', ');
    return [
      code(topic),
      fields,
      using(new RegExp(`\\b${name}\\.publish\\(`)),
      using(new RegExp(`\\.subscribe\\(\\s*${name}\\.topic\\b`)),
    ];
  });
  return page(
    'Events',
    'Facts that rooms tell each other, at least once, after the change that made them true is committed.',
    [table(['Fact', 'Says', 'Told by', 'Heard by'], rows)],
  );
}

/** The name under which a source file declares a fact. */
function namesOf(topic: string, text: string): string[] {
  return [...text.matchAll(/export const (\w+) = event\(\s*'([^']+)'/g)].flatMap(([, name, declared]) =>
    declared === topic && name ? [name] : [],
  );
}

function sourcesUnder(directory: string): string[] {
  const files = fs
    .readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.spec.ts'));
  return files.map((name) => path.posix.join(directory, name.replaceAll('\\', '/'))).sort();
}

function areasOf(files: readonly string[]): string {
  return [...new Set(files.map((file) => code(file.split('/').slice(1, 3).join('/'))))].join(', ');
}

function faultsPage(operations: readonly Operation[]): string {
  const rows = declaredFaults().map(({ code: name, kind, sentence }) => {
    const raising = operations
      .filter(({ faults }) => faults.some((fault) => fault.code === name))
      .map(({ id }) => code(id));
    return [code(name), String(FAULT_KINDS[kind]), sentence, raising.sort().join(', ')];
  });
  return page(
    'Faults',
    'Everything that can go wrong, by the `code` of the error body. The texts may be more exact in a given case. What no operation declares, the ground or a command raises.',
    [table(['Code', 'HTTP', 'Sentence', 'Declared by'], rows)],
  );
}

function settingsPage(): string {
  const rows = Object.values<Setting>(SETTINGS).map(({ variable, schema, fallback, sentence, secret }) => [
    code(variable),
    kindOf(schema),
    fallback === undefined ? '' : fallback === '' ? '(empty)' : code(fallback),
    secret ? `${sentence} Never shown.` : sentence,
  ]);
  return page(
    'Settings',
    'Environment variables, read once at the start. A wrong value stops the start and names itself.',
    [table(['Variable', 'Form', 'Default', 'What it does'], rows)],
  );
}

/** What a setting may be, in the words with which it refuses something else. */
function kindOf(schema: z.ZodType): string {
  const probe = schema.safeParse('?');
  if (probe.success) return Array.isArray(probe.data) ? 'a list, separated by commas' : 'text';
  const [issue] = probe.error.issues;
  if (issue?.code === 'invalid_value') return issue.values.map((value) => code(String(value))).join(' or ');
  return (issue?.message ?? '').replace(/^must be /, '').replace(/^must have /, 'text with ');
}

function page(title: string, purpose: string, sections: readonly string[]): string {
  return `# ${title}\n\n${purpose} Written by \`npm run gen\`; not by hand.\n\n${sections.join('\n\n')}\n`;
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [head, head.map(() => '---'), ...rows.map((row) => row.map((cell) => cell.replaceAll('|', '\\|')))];
  return lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

function code(text: string): string {
  return `\`${text}\``;
}

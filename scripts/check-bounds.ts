/**
 * Checks who imports whom: rooms call down only, and into another room only through its index. dependency-cruiser reads
 * the imports. It once saw nothing at all (with a newer compiler) and called that a success, so the number it saw counts too.
 */
import { cruise, type ICruiseResult } from 'dependency-cruiser';

const ROOMS = [
  'platform',
  'audit',
  'identity',
  'access',
  'vault',
  'agents',
  'gateway',
  'runs',
  'workers',
  'dispatch',
  'evidence',
  'entry',
];
const LEAST_MODULES = 100;

const upward = ROOMS.flatMap((room, level) => {
  const above = ROOMS.slice(level + 1);
  if (above.length === 0) return [];
  return [
    {
      name: `${room} calls down only`,
      severity: 'error' as const,
      from: { path: `^src/${room}/` },
      to: { path: `^src/(${above.join('|')})/` },
    },
  ];
});
const faces = ROOMS.filter((room) => room !== 'platform').map((room) => ({
  name: `${room} is entered by its index`,
  severity: 'error' as const,
  from: { pathNot: `^src/${room}/` },
  to: { path: `^src/${room}/(?!index\\.ts$)` },
}));

const result = await cruise(['src'], {
  ruleSet: {
    forbidden: [
      ...upward,
      ...faces,
      {
        name: 'no cycles',
        severity: 'error',
        from: {},
        to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } },
      },
    ],
  },
  validate: true,
  exclude: { path: 'node_modules|\\.spec\\.ts$' },
  doNotFollow: { path: 'node_modules|generated' },
  tsPreCompilationDeps: true,
  combinedDependencies: true,
});
const { summary, modules } = result.output as ICruiseResult;
for (const { rule, from, to } of summary.violations) console.error(`${rule.name}: ${from} -> ${to}`);
const ours = modules.filter(({ source }) => source.startsWith('src/')).length;
if (ours < LEAST_MODULES) console.error(`only ${ours} modules were seen: the check saw nothing`);
console.log(`bounds: ${ours} modules, ${summary.violations.length} violations`);
process.exitCode = summary.violations.length > 0 || ours < LEAST_MODULES ? 1 : 0;

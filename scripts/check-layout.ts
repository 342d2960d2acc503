/** Checks what no linter knows: file roles, the length of files, views that are in a migration, READMEs, versions. */
import fs from 'node:fs';
import path from 'node:path';

const ROLES = 'contract|controller|service|states|policy|store|events|faults|sweep|jobs|stream|client|module';
const IN_AREA = new RegExp(`^src/[a-z]+/([a-z-]+)/[a-z-]+\\.(${ROLES})(\\.spec)?\\.ts$`);
const VIEW = /^src\/[a-z]+\/[a-z-]+\/[a-z-]+\.view\.sql$/;
const IN_ROOM = /^src\/([a-z]+)\/(index|\1\.module)\.ts$|^src\/[a-z]+\/README\.md$/;
const GROUND = /^src\/platform\/([a-z-]+\/)?[a-z-]+(\.[a-z]+)?(\.spec)?\.ts$|^src\/platform\/README\.md$/;
const PROGRAM = /^src\/[a-z.-]+\.ts$/;
const LONGEST = 400;

const problems: string[] = [];
const files = ['src', 'test', 'examples', 'bench', 'scripts'].flatMap(listed);

for (const file of files.filter((name) => name.startsWith('src/'))) {
  const isKnown = file.startsWith('src/platform/')
    ? GROUND.test(file)
    : [IN_AREA, VIEW, IN_ROOM, PROGRAM].some((form) => form.test(file));
  if (!isKnown) problems.push(`${file}: its name says no role`);
}
for (const file of files.filter((name) => name.endsWith('.ts'))) {
  const lines = fs.readFileSync(file, 'utf8').split('\n').length - 1;
  if (lines > LONGEST) problems.push(`${file}: ${lines} lines; a file over ${LONGEST} is two areas`);
}
for (const room of directoriesIn('src')) {
  if (!fs.existsSync(`src/${room}/README.md`)) problems.push(`src/${room} has no README.md`);
}

const migrations = listed('prisma/migrations')
  .filter((name) => name.endsWith('.sql'))
  .map((name) => fs.readFileSync(name, 'utf8'))
  .join('\n');
for (const file of files.filter((name) => VIEW.test(name))) {
  if (!migrations.includes(fs.readFileSync(file, 'utf8').trim())) problems.push(`${file}: no migration has this text`);
}

const { version } = JSON.parse(fs.readFileSync('package.json', 'utf8')) as { version: string };
if (!fs.readFileSync('src/platform/version.ts', 'utf8').includes(`'${version}'`))
  problems.push(`src/platform/version.ts does not say ${version}`);
const lock = fs.readFileSync('package-lock.json', 'utf8');
if (lock.includes('"resolved"')) problems.push('package-lock.json names where packages were fetched');

for (const problem of problems) console.error(problem);
console.log(`layout: ${files.length} files, ${problems.length} problems`);
process.exitCode = problems.length > 0 ? 1 : 0;

function listed(directory: string): string[] {
  if (!fs.existsSync(directory)) return [];
  return fs
    .readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name));
}

function directoriesIn(directory: string): string[] {
  return fs
    .readdirSync(directory, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name);
}

import { fileURLToPath } from 'node:url';
import { defineConfig } from 'prisma/config';

// Prisma downloads a native schema engine unless it is told of another. This one is WebAssembly, from npm.
process.env['PRISMA_SCHEMA_ENGINE_BINARY'] ??= fileURLToPath(
  new URL('./prisma/offline/schema-engine.ts', import.meta.url),
);

const url = process.env['DATABASE_URL'];

export default defineConfig({
  schema: 'prisma/schema.prisma',
  migrations: { path: 'prisma/migrations' },
  ...(url ? { datasource: { url } } : {}),
});

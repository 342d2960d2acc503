/** Compiles on every change and restarts the control plane: `npm run dev`. Ctrl-C ends both. */
import { spawn, type ChildProcess } from 'node:child_process';

const children: ChildProcess[] = [
  spawn('tsc', ['-p', 'tsconfig.build.json', '--watch', '--preserveWatchOutput'], { stdio: 'inherit' }),
  spawn(process.execPath, ['--watch', '--watch-preserve-output', 'dist/src/main.js'], { stdio: 'inherit' }),
];

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    for (const child of children) child.kill(signal);
  });
}
for (const child of children) {
  child.once('exit', () => {
    for (const other of children) other.kill();
  });
}

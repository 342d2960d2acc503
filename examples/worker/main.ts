/**
 * The demo agent: a glossary that answers word by word. It has no model behind it, but it leaves the traces of an agent
 * that has: an agent span around a tool call and a generation, a log line, progress, usage, streamed output.
 *
 * Configuration comes from the environment, under the names that workers of the Python SDK use:
 * `AGENTOPS_URL`, `AGENTOPS_WORKER_TOKEN`, `AGENTOPS_AGENT_ID`, `AGENTOPS_WORKER_ID`.
 */

import { setTimeout as pause } from 'node:timers/promises';
import type { JsonObject } from './frames.ts';
import { RunFailure, type Run } from './run.ts';
import { runWorker } from './worker.ts';

const MODEL = { provider: 'signalbox', model: 'demo-glossary' };
const STREAM_MS = 2_000;

const GLOSSARY: Readonly<Record<string, string>> = {
  agent: 'An agent is what can be asked for work: it has a handle, an input schema and any number of workers.',
  worker: 'A worker is one process that serves one agent: it asks for a run, does it and reports.',
  run: 'A run is one piece of work from the question to its end, with everything that was said on the way.',
  attempt: 'An attempt is one offer of a run to one worker; a late report of an older attempt changes nothing.',
  span: 'A span is a step of a run that has a beginning and an end, such as a tool call.',
  token: 'A worker token says which agent a worker may serve; it is shown once and only its hash is kept.',
  audit: 'The audit log says who changed what and when, and whether it was allowed; rows are only ever added.',
};

const INPUT_SCHEMA = {
  type: 'object',
  properties: {
    prompt: { type: 'string', description: 'What to explain, e.g. "What is a run, and what is a worker?"' },
    words: { type: 'integer', minimum: 1, maximum: 200, description: 'How many words the answer has.' },
    seconds: { type: 'number', minimum: 0, description: 'How long to think first.' },
    fail: { type: 'boolean', description: 'Fail instead of answering, to see what that looks like.' },
  },
  additionalProperties: true,
};

/** The input as the schema above lets it through: the control plane has checked it before the run existed. */
interface Question {
  readonly prompt?: string;
  readonly words?: number;
  readonly seconds?: number;
  readonly fail?: boolean;
}

async function answer(run: Run): Promise<JsonObject> {
  const { prompt = 'What is a run?', words, seconds = 0, fail = false }: Question = run.input;
  return run.span('answer', 'agent', { prompt }, async () => {
    run.log('info', `asked: ${prompt}`, { characters: prompt.length });
    run.message('Looking it up.');
    const entries = await lookUp(run, prompt);
    await pause(seconds * 1_000, undefined, { signal: run.signal });
    if (fail) throw new RunFailure('the input asked for a failure', { step: 'generate', entries: entries.length });
    const text = await generate(run, prompt, toLength(entries.join(' '), words));
    return { text, entries: entries.length };
  });
}

/** The tool: finds the glossary entries whose word is in the prompt. */
async function lookUp(run: Run, prompt: string): Promise<readonly string[]> {
  return run.span('lookup', 'tool', { args: { prompt } }, async (span) => {
    await pause(150, undefined, { signal: run.signal });
    const asked = (prompt.toLowerCase().match(/[a-z]+/g) ?? []).map((word) => word.replace(/s$/, ''));
    const found = [...new Set(asked)].filter((word) => Object.hasOwn(GLOSSARY, word));
    span.result({ found });
    return found.length > 0 ? found.flatMap((word) => GLOSSARY[word] ?? []) : Object.values(GLOSSARY);
  });
}

/** The generation: says the answer word by word, and counts words where a model would count tokens. */
async function generate(run: Run, prompt: string, answerWords: readonly string[]): Promise<string> {
  return run.span('generate', 'llm', { model: MODEL.model }, async (span) => {
    let text = '';
    for (const word of answerWords) {
      text = text === '' ? word : `${text} ${word}`;
      run.output(text);
      await pause(STREAM_MS / answerWords.length, undefined, { signal: run.signal });
    }
    const input_tokens = prompt.split(/\s+/).length;
    const output_tokens = answerWords.length;
    const usage = { ...MODEL, input_tokens, output_tokens, total_tokens: input_tokens + output_tokens };
    run.usage(usage);
    span.result({ call_usage: usage });
    return text;
  });
}

/** Cuts a text to a number of words, or repeats it up to there. */
function toLength(text: string, length: number | undefined): readonly string[] {
  const words = text.split(' ');
  if (length === undefined) return words;
  return Array.from({ length }, (_, index) => words[index % words.length] ?? '');
}

const drain = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => drain.abort());

try {
  await runWorker({
    url: process.env['AGENTOPS_URL'] ?? 'http://127.0.0.1:8080',
    token: process.env['AGENTOPS_WORKER_TOKEN'] ?? '',
    agentId: process.env['AGENTOPS_AGENT_ID'] ?? 'demo',
    workerId: process.env['AGENTOPS_WORKER_ID'],
    name: 'Demo',
    agent: {
      description: 'Explains the words of a control plane for agents.',
      version: '1.0.0',
      model: MODEL.model,
      tools: ['lookup'],
      input_schema: INPUT_SCHEMA,
      default_input: { prompt: 'What is a run, and what is a worker?' },
      skills: [
        {
          skill_id: 'glossary',
          name: 'Glossary',
          description: 'What the words of a control plane mean.',
          content: Object.values(GLOSSARY).join('\n'),
        },
      ],
    },
    onRun: answer,
    signal: drain.signal,
  });
} catch (error) {
  console.error(`worker: ${String(error)}`);
  process.exitCode = 1;
}

/**
 * The demo agent: a glossary that answers word by word. It has no model behind it, but it leaves the traces of an agent
 * that has: an agent span around a tool call and a generation, a log line, progress, usage, streamed output.
 *
 * Configuration comes from the environment, under the names that workers of the Python SDK use:
 * `AGENTOPS_URL`, `AGENTOPS_WORKER_TOKEN`, `AGENTOPS_AGENT_ID`, `AGENTOPS_WORKER_ID`.
 */

import { setTimeout as pause } from 'node:timers/promises';
import { RunFailure, runAgent, type JsonObject, type Run } from '../worker/src/index.ts';

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

async function answer(run: Run<Question>): Promise<JsonObject> {
  const { prompt = 'What is a run?', words, seconds = 0, fail = false } = run.input;
  return run.span('answer', 'agent', { prompt }, async () => {
    await run.log('info', `asked: ${prompt}`, { characters: prompt.length });
    await run.message('Looking it up.');
    const entries = await lookUp(run, prompt);
    await pause(seconds * 1_000, undefined, { signal: run.signal });
    if (fail) throw new RunFailure('the input asked for a failure', { step: 'generate', entries: entries.length });
    const text = await generate(run, prompt, toLength(entries.join(' '), words));
    return { text, entries: entries.length };
  });
}

/** The tool: finds the glossary entries whose word is in the prompt. */
async function lookUp(run: Run<Question>, prompt: string): Promise<readonly string[]> {
  return run.tool('lookup', { prompt }, async () => {
    await pause(150, undefined, { signal: run.signal });
    const asked = (prompt.toLowerCase().match(/[a-z]+/g) ?? []).map((word) => word.replace(/s$/, ''));
    const found = [...new Set(asked)].filter((word) => Object.hasOwn(GLOSSARY, word));
    return found.length > 0 ? found.flatMap((word) => GLOSSARY[word] ?? []) : Object.values(GLOSSARY);
  });
}

/** The generation: says the answer word by word, and counts words where a model would count tokens. */
async function generate(run: Run<Question>, prompt: string, answerWords: readonly string[]): Promise<string> {
  return run.span('generate', 'llm', { model: MODEL.model }, async (span) => {
    let text = '';
    for (const word of answerWords) {
      text = text === '' ? word : `${text} ${word}`;
      await run.output(text);
      await pause(STREAM_MS / answerWords.length, undefined, { signal: run.signal });
    }
    const inputTokens = prompt.split(/\s+/).length;
    const outputTokens = answerWords.length;
    await run.usage({ ...MODEL, inputTokens, outputTokens, totalTokens: inputTokens + outputTokens });
    span.result({ words: outputTokens });
    return text;
  });
}

/** Cuts a text to a number of words, or repeats it up to there. */
function toLength(text: string, length: number | undefined): readonly string[] {
  const words = text.split(' ');
  if (length === undefined) return words;
  return Array.from({ length }, (_, index) => words[index % words.length] ?? '');
}

await runAgent<Question>({
  agent: {
    id: process.env['AGENTOPS_AGENT_ID'] ?? 'demo',
    name: 'Demo',
    description: 'Explains the words of a control plane for agents.',
    version: '1.0.0',
    model: MODEL.model,
    tools: ['lookup'],
    inputSchema: INPUT_SCHEMA,
    defaultInput: { prompt: 'What is a run, and what is a worker?' },
    skills: [
      {
        id: 'glossary',
        name: 'Glossary',
        description: 'What the words of a control plane mean.',
        content: Object.values(GLOSSARY).join('\n'),
      },
    ],
  },
  onRun: answer,
});

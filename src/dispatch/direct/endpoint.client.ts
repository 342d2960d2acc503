import { Inject, Injectable } from '@nestjs/common';
import { CONFIG, type Config } from '../../platform/config/config.ts';
import { Outbound, OutboundFailure, type OutboundAnswer, type OutboundCall } from '../../platform/outbound/outbound.ts';
import { aboutTask, readAnswer, sendingOf, type Job, type Said } from './message.policy.ts';

const ASK_MS = 10_000;
const ASK_TRIES = 3;
const CANCEL_MS = 5_000;
const CANCEL_ANSWER_BYTES = 64 * 1024;

/** Speaks A2A over JSON-RPC 2.0 with the address that a worker gave (worker-protocol.md §20.6). */
@Injectable()
export class EndpointClient {
  constructor(
    @Inject(Outbound) private readonly outbound: Outbound,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /** @throws OutboundFailure */
  async send(url: string, job: Job, how: Pick<OutboundCall, 'signal' | 'withinMs' | 'maySend'>): Promise<Said> {
    const { frameLimitBytes: mostBytes } = this.config;
    return readAnswer(await this.post({ ...how, url, body: sendingOf(job), mostBytes }), 'message/send');
  }

  /** How the task of a run stands; also when nobody can say. */
  async ask(url: string, runId: string): Promise<Said> {
    const { frameLimitBytes: mostBytes } = this.config;
    try {
      const asked = { url, body: aboutTask('tasks/get', runId), mostBytes, withinMs: ASK_MS, tries: ASK_TRIES };
      return readAnswer(await this.post(asked), 'tasks/get');
    } catch (error) {
      if (!(error instanceof OutboundFailure)) throw error;
      return { kind: 'unknown', why: error.message };
    }
  }

  /** Once. True when the endpoint says that it took it. */
  async cancel(url: string, runId: string): Promise<boolean> {
    const call = { url, body: aboutTask('tasks/cancel', runId), mostBytes: CANCEL_ANSWER_BYTES, withinMs: CANCEL_MS };
    const answer = await this.post(call).catch(() => undefined);
    return answer?.status === 200 && !answer.body.includes('"error"');
  }

  private post(call: Omit<OutboundCall, 'method' | 'headers'>): Promise<OutboundAnswer> {
    return this.outbound.call({ ...call, method: 'POST', headers: { 'content-type': 'application/json' } });
  }
}

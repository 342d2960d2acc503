import { hash } from 'node:crypto';
import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { CONFIG, type Config } from '../../platform/config/config.ts';
import type { InputProblem } from '../../platform/json/problems.ts';
import { writeJson } from '../../platform/json/json.ts';
import { Recent } from '../../platform/input-schema/recent.ts';
import { InputChecksBusy, InputSchemas } from '../../platform/input-schema/checks.ts';
import { InputChecksFull } from './registry.faults.ts';

/** Each process of a fleet registers with the same schema. */
const SCHEMAS_REMEMBERED = 256;

/** The schemas that agents declare, for this process. Ends their threads with it. */
@Injectable()
export class InputChecks implements OnApplicationShutdown {
  private readonly schemas: InputSchemas;
  private readonly errors = new Recent<{ readonly error: string | null }>(SCHEMAS_REMEMBERED);

  constructor(@Inject(CONFIG) config: Config) {
    this.schemas = new InputSchemas({ checkMs: config.inputCheckMilliseconds });
  }

  async onApplicationShutdown(): Promise<void> {
    await this.schemas.close();
  }

  /** Why a schema checks nothing; null if it can be used, or says nothing. */
  async errorIn(schema: unknown): Promise<string | null> {
    const key = hash('sha256', writeJson(schema));
    const known = this.errors.get(key);
    if (known) return known.error;
    const error = await this.schemas.describe(schema).catch(inOurWords);
    this.errors.set(key, { error });
    return error;
  }

  /** What of an input does not fit; empty if all of it does. */
  async problemsOf(schema: unknown, input: unknown): Promise<readonly InputProblem[]> {
    return this.schemas.check(schema, input).catch(inOurWords);
  }
}

function inOurWords(error: unknown): never {
  throw error instanceof InputChecksBusy ? InputChecksFull({ cause: error }) : error;
}

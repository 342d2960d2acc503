/** What operators configure for an agent's workers (worker-protocol §13), read at start and again whenever it changes. */

import { sentence } from './errors.ts';
import type { FrameLink } from './frames.ts';
import { isObject, type JsonObject } from './json.ts';

/** One step of the configuration, such as `{ type: 'prompt_append', text: '…' }`. */
export interface ConfigOp {
  readonly type: string;
  readonly text?: string;
  readonly name?: string;
  readonly server?: JsonObject;
  readonly skill_id?: string;
  readonly [field: string]: unknown;
}

/** The configuration in force. The library hands it over and applies nothing of it: what a prompt is, the agent knows. */
export interface WorkerConfig {
  /** Empty: nothing was ever set, or it could not be read. */
  readonly version: string;
  readonly skillsVersion: string;
  readonly actionRulesVersion: string;
  readonly ops: readonly ConfigOp[];
  /** Which tool calls are denied or must be asked for; the control plane applies the same rules to `run.approve`. */
  readonly actionRules: JsonObject;
}

const NOTHING: WorkerConfig = { version: '', skillsVersion: '', actionRulesVersion: '', ops: [], actionRules: {} };

/** The names under which jobs and `config_changed` carry the three versions. */
type Versions = Readonly<Record<'config_version' | 'skills_version' | 'action_rules_version', unknown>>;

export interface ConfigOptions {
  readonly link: FrameLink;
  /** The types of op that the agent applies; all others are reported as unsupported. */
  readonly supportedOps: readonly string[];
  readonly log: (line: string) => void;
}

/** Holds the configuration, and fetches it when another one is in force. */
export class ConfigKeeper {
  readonly #options: ConfigOptions;
  #current = NOTHING;
  #reading: Promise<void> | undefined;

  constructor(options: ConfigOptions) {
    this.#options = options;
  }

  get current(): WorkerConfig {
    return this.#current;
  }

  /** Reads it unless these are the versions that are held already. What is not said is no difference. */
  async follow(versions: Partial<Versions>): Promise<void> {
    const { version, skillsVersion, actionRulesVersion } = this.#current;
    const isHeld = (said: unknown, held: string): boolean => typeof said !== 'string' || said === held;
    if (
      !isHeld(versions.config_version, version) ||
      !isHeld(versions.skills_version, skillsVersion) ||
      !isHeld(versions.action_rules_version, actionRulesVersion)
    )
      await this.read();
  }

  /** Reads it, and says which of its ops this agent does not know. A failure leaves what was held, and a line in the log. */
  async read(): Promise<void> {
    this.#reading ??= this.#read().finally(() => (this.#reading = undefined));
    await this.#reading;
  }

  async #read(): Promise<void> {
    const { link, supportedOps, log } = this.#options;
    try {
      const { config } = await link.ask('config_request', {});
      this.#current = parseConfig(config);
    } catch (error) {
      return log(`the configuration could not be read: ${sentence(error)}`);
    }
    const { version, ops } = this.#current;
    const unsupported = new Set(ops.map(({ type }) => type).filter((type) => !supportedOps.includes(type)));
    await link.tell('config_ack', { version, unsupported_ops: [...unsupported] });
  }
}

function parseConfig(config: unknown): WorkerConfig {
  if (!isObject(config) || typeof config['version'] !== 'string') throw new Error('it is not a configuration');
  const { version, skills_version: skills, action_rules_version: rules, ops, action_rules: actionRules } = config;
  return {
    version,
    skillsVersion: typeof skills === 'string' ? skills : '',
    actionRulesVersion: typeof rules === 'string' ? rules : '',
    ops: Array.isArray(ops) ? ops.filter(isOp) : [],
    actionRules: isObject(actionRules) ? actionRules : {},
  };
}

function isOp(op: unknown): op is ConfigOp {
  return isObject(op) && typeof op['type'] === 'string';
}

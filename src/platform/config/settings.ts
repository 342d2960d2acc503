import { z } from 'zod';
import {
  addresses,
  bytes,
  databaseUrl,
  email,
  hosts,
  hours,
  httpUrl,
  MiB,
  minutes,
  redisUrl,
  seconds,
  shift,
  whole,
} from './kinds.ts';
import { secret, setting, type Setting } from './setting.ts';
import { SIGN_IN_SETTINGS } from './sign-in-settings.ts';

export type { Setting } from './setting.ts';

/** All settings, in the order of the generated reference. Nothing else in the program reads the environment. */
export const SETTINGS = {
  port: setting('PORT', whole(0, 65_535), '8080', 'The port that HTTP is served on; 0 takes a free one.'),
  host: setting('HOST', z.string().min(1), '127.0.0.1', 'The address that HTTP is served on.'),
  publicUrl: setting(
    'PUBLIC_URL',
    httpUrl.optional(),
    undefined,
    'The address at which clients reach this installation; absent: the address it listens on.',
  ),
  databaseUrl: secret(
    'DATABASE_URL',
    databaseUrl.optional(),
    'The PostgreSQL to use, as the owner of the schema; absent: a private one under the data directory.',
  ),
  redisUrl: secret(
    'REDIS_URL',
    redisUrl.optional(),
    'A Redis for pokes between replicas. This build keeps to PostgreSQL and says so at start.',
  ),
  dataDir: setting(
    'SIGNALBOX_DATA_DIR',
    z.string().min(1),
    '.signalbox',
    'Where the private PostgreSQL, the keys and the first API key are kept.',
  ),
  keys: secret(
    'SIGNALBOX_KEYS',
    z.string().min(1).optional(),
    'The key ring as JSON {"active", "keys": {id: base64 of 32 bytes}}; absent: keys.json in the data directory.',
  ),
  handedOutKeptHours: setting(
    'SIGNALBOX_HANDED_OUT_KEPT_HOURS',
    hours(0.0001, 8_760),
    '24',
    'How long after the end of a run its secrets are still masked in what is said of it; replaced values are kept sealed for that.',
  ),
  trustedProxies: setting(
    'SIGNALBOX_TRUSTED_PROXIES',
    addresses,
    '',
    'Addresses or CIDRs, comma-separated, whose X-Forwarded-* headers count; empty: nobody’s.',
  ),
  ownerEmail: setting(
    'SIGNALBOX_OWNER_EMAIL',
    email,
    'owner@localhost',
    'The mail address of the first account’s owner, which single sign-on will match.',
  ),
  bootstrapApiKey: secret(
    'SIGNALBOX_BOOTSTRAP_API_KEY',
    z
      .string()
      .regex(/^\S{32,}$/, 'must have at least 32 characters, and no white space')
      .optional(),
    'The owner’s first API key, used at the very first start only; absent: one is made, printed once and kept.',
  ),
  auth: setting(
    'SIGNALBOX_AUTH',
    z.enum(['on', 'off']),
    'on',
    'off: whoever shows no credential is the owner. For development on a loopback address only.',
  ),
  ...SIGN_IN_SETTINGS,
  outboundAllow: setting(
    'SIGNALBOX_OUTBOUND_ALLOW',
    hosts,
    '',
    'Hosts, addresses or CIDRs that outbound calls may reach beyond the public internet, over plain HTTP too; all other calls go to public addresses by HTTPS.',
  ),
  logLevel: setting(
    'SIGNALBOX_LOG_LEVEL',
    z.enum(['debug', 'info', 'warn', 'error']),
    'info',
    'The lowest level that is written to standard output.',
  ),
  invokeWaitSeconds: setting(
    'SIGNALBOX_INVOKE_WAIT_SECONDS',
    seconds(0.1, 3_600),
    '600',
    'How long a waiting invoke is held open before it is answered with the run as it stands.',
  ),
  invokeUnreachableSeconds: setting(
    'SIGNALBOX_INVOKE_UNREACHABLE_SECONDS',
    seconds(0.1, 3_600),
    '30',
    'How long an invoked agent may be without an assignable worker before the run fails as unreachable.',
  ),
  silentLimitSeconds: setting(
    'SIGNALBOX_SILENT_LIMIT_SECONDS',
    seconds(0.5, 86_400),
    '900',
    'How long a worker with a started run may say nothing before it counts as lost; an agent’s policy may differ.',
  ),
  runLimitSeconds: setting(
    'SIGNALBOX_RUN_LIMIT_SECONDS',
    seconds(0.1, 2_592_000),
    '86400',
    'How long a run may take from its first claim on, over all attempts; an agent’s policy may differ.',
  ),
  queueTtlSeconds: setting(
    'SIGNALBOX_QUEUE_TTL_SECONDS',
    seconds(0.1, 2_592_000),
    '86400',
    'How long a run may wait in the queue before it fails; an agent’s policy may differ.',
  ),
  maxOffers: setting(
    'SIGNALBOX_MAX_OFFERS',
    whole(1, 20),
    '5',
    'How often a run is offered before it fails as undeliverable; an agent’s policy may differ.',
  ),
  offerSeconds: setting(
    'SIGNALBOX_OFFER_SECONDS',
    seconds(0.1, 3_600),
    '90',
    'How long a worker may hold a run without starting it; then others are offered it.',
  ),
  closedOfferSeconds: setting(
    'SIGNALBOX_CLOSED_OFFER_SECONDS',
    seconds(0.1, 3_600),
    '6',
    'How long after a worker closed its channel a run that it has not started is offered to others.',
  ),
  closedLostSeconds: setting(
    'SIGNALBOX_CLOSED_LOST_SECONDS',
    seconds(0.1, 3_600),
    '15',
    'How long after a worker closed its channel, and opened no other, it counts as lost.',
  ),
  unackedSeconds: setting(
    'SIGNALBOX_UNACKED_SECONDS',
    seconds(0.1, 3_600),
    '20',
    'How long a worker’s machine may leave bytes of its channel unacknowledged before the worker counts as lost.',
  ),
  failedOfferSeconds: setting(
    'SIGNALBOX_FAILED_OFFER_SECONDS',
    seconds(0, 3_600),
    '2',
    'How long a run that a worker was offered and did not start is kept for the others.',
  ),
  directAfterSeconds: setting(
    'SIGNALBOX_DIRECT_AFTER_SECONDS',
    seconds(0.1, 3_600),
    '10',
    'How long a run waits, and its worker asks for nothing, before a worker without a channel is dialled at the address it gave; after a refusal twice as long each time, at most 30 times as long.',
  ),
  directAtOnce: setting(
    'SIGNALBOX_DIRECT_AT_ONCE',
    whole(1, 10_000),
    '64',
    'How many dialled runs one replica waits for at once; a quarter of them at most are one account’s.',
  ),
  presenceWindowSeconds: setting(
    'SIGNALBOX_PRESENCE_WINDOW_SECONDS',
    seconds(0.5, 3_600),
    '90',
    'How long a sign of life counts; two keep-alives of the worker SDK. Without a started run, a longer silence is a loss.',
  ),
  heartbeatWindowSeconds: setting(
    'SIGNALBOX_HEARTBEAT_WINDOW_SECONDS',
    seconds(0.5, 3_600),
    '35',
    'As SIGNALBOX_PRESENCE_WINDOW_SECONDS, for workers of SDK 0.1, which send a heartbeat every 10 s: three of them, and a margin.',
  ),
  claimWindowSeconds: setting(
    'SIGNALBOX_CLAIM_WINDOW_SECONDS',
    seconds(0.5, 3_600),
    '25',
    'How long after its last claim a worker counts as asking for work; two polls of the worker SDK.',
  ),
  actionSeconds: setting(
    'SIGNALBOX_ACTION_SECONDS',
    seconds(0.5, 3_600),
    '300',
    'How long a worker that was asked for something is told again after each reconnect; then the request has expired.',
  ),
  channelPingSeconds: setting(
    'SIGNALBOX_CHANNEL_PING_SECONDS',
    seconds(0.1, 45),
    '5',
    'How often a worker channel is pinged; the SDK drops a channel that is silent for 60 s.',
  ),
  streamCommentSeconds: setting(
    'SIGNALBOX_STREAM_COMMENT_SECONDS',
    seconds(0.1, 45),
    '15',
    'How often an idle reader’s stream gets a comment, so that proxies keep it open.',
  ),
  sweepSeconds: setting(
    'SIGNALBOX_SWEEP_SECONDS',
    seconds(0.05, 60),
    '2',
    'How often the sweeps behind doorbells, cancels and unreachable agents look.',
  ),
  retentionSweepSeconds: setting(
    'SIGNALBOX_RETENTION_SWEEP_SECONDS',
    seconds(1, 86_400),
    '600',
    'How often evidence and runs are deleted that their account keeps no longer.',
  ),
  turnWaitSeconds: setting(
    'SIGNALBOX_TURN_WAIT_SECONDS',
    seconds(0.05, 60),
    '5',
    'How long a call may wait for its turn under overload before it is refused.',
  ),
  failedCredentialsPerMinute: setting(
    'SIGNALBOX_FAILED_CREDENTIALS_PER_MINUTE',
    whole(1, 1_000_000),
    '10',
    'How many credentials that nobody has an address may present in a minute before it is told 429; those that open something still do.',
  ),
  claimRefusalWaitSeconds: setting(
    'SIGNALBOX_CLAIM_REFUSAL_WAIT_SECONDS',
    seconds(0, 4.5),
    '4',
    'How long a worker of SDK 0.2, or an unknown one, waits for the refusal of a claim: it asks again at once after it, and gives up after 5 s.',
  ),
  eventsWaitSeconds: setting(
    'SIGNALBOX_EVENTS_WAIT_SECONDS',
    seconds(0.05, 25),
    '10',
    'How long a frame of events may wait for its turn; the worker SDK waits 30 s for an answer and sends events once.',
  ),
  waitingPerAccount: setting(
    'SIGNALBOX_WAITING_PER_ACCOUNT',
    whole(1, 100_000),
    '200',
    'How many calls of one account may wait for their turn on one replica; more are answered 429.',
  ),
  drainSeconds: setting(
    'SIGNALBOX_DRAIN_SECONDS',
    seconds(0.1, 60),
    '7',
    'How long short requests may take to finish after SIGTERM.',
  ),
  idempotencyHours: setting(
    'SIGNALBOX_IDEMPOTENCY_HOURS',
    hours(0.0001, 8_760),
    '24',
    'How long an Idempotency-Key is remembered, in hours.',
  ),
  keyRevealMinutes: setting(
    'SIGNALBOX_KEY_REVEAL_MINUTES',
    minutes(0.001, 1_440),
    '15',
    'How long a new API key can be shown again to its creator, in minutes.',
  ),
  streamsPerPrincipal: setting(
    'SIGNALBOX_STREAMS_PER_PRINCIPAL',
    whole(1, 100_000),
    '100',
    'Live streams that one principal may hold on one replica; worker channels are not counted.',
  ),
  streamBacklogBytes: setting(
    'SIGNALBOX_STREAM_BACKLOG_BYTES',
    bytes(64 * MiB),
    String(MiB),
    'How far a live reader may be behind before it is closed; it resumes where it was.',
  ),
  bodyLimitBytes: setting(
    'SIGNALBOX_BODY_LIMIT_BYTES',
    bytes(64 * MiB),
    String(2 * MiB),
    'The largest request body where nothing else is said.',
  ),
  runBodyLimitBytes: setting(
    'SIGNALBOX_RUN_BODY_LIMIT_BYTES',
    bytes(64 * MiB),
    String(8 * MiB),
    'The largest body of an invoke or of POST /runs.',
  ),
  bodiesLimitBytes: setting(
    'SIGNALBOX_BODIES_LIMIT_BYTES',
    bytes(1024 * MiB),
    String(32 * MiB),
    'How many bytes of request bodies one replica holds at once; three quarters of it at most are one account’s.',
  ),
  frameLimitBytes: setting(
    'SIGNALBOX_FRAME_LIMIT_BYTES',
    bytes(256 * MiB),
    String(16 * MiB),
    'The largest frame of a worker.',
  ),
  eventLimitBytes: setting(
    'SIGNALBOX_EVENT_LIMIT_BYTES',
    bytes(16 * MiB),
    String(MiB),
    'The largest event; beyond it its largest fields become artifacts.',
  ),
  fieldLimitBytes: setting(
    'SIGNALBOX_FIELD_LIMIT_BYTES',
    bytes(16 * MiB),
    String(64 * 1024),
    'The largest field of an event; a larger one becomes an artifact with a preview.',
  ),
  artifactLimitBytes: setting(
    'SIGNALBOX_ARTIFACT_LIMIT_BYTES',
    bytes(256 * MiB),
    String(32 * MiB),
    'The largest artifact; what an event carries beyond it is cut there and marked.',
  ),
  searchSeconds: setting(
    'SIGNALBOX_SEARCH_SECONDS',
    seconds(0.05, 15),
    '5',
    'How long a search, a summary or a list by text may take before it is refused.',
  ),
  jsonDepthLimit: setting(
    'SIGNALBOX_JSON_DEPTH_LIMIT',
    whole(8, 190),
    '150',
    'The deepest nesting of a request body; the worker SDK cannot parse more than 197 levels.',
  ),
  evidenceDepthLimit: setting(
    'SIGNALBOX_EVIDENCE_DEPTH_LIMIT',
    whole(8, 150),
    '64',
    'The deepest nesting of a value in evidence; a deeper one becomes an artifact.',
  ),
  headersLimitBytes: setting(
    'SIGNALBOX_HEADERS_LIMIT_BYTES',
    bytes(MiB),
    String(16 * 1024),
    'The size of all request headers together.',
  ),
  inputCheckMilliseconds: setting(
    'SIGNALBOX_INPUT_CHECK_MILLISECONDS',
    whole(10, 10_000),
    '500',
    'How long the check of an input against its agent’s schema may take.',
  ),
  clockOffsetSeconds: setting(
    'SIGNALBOX_CLOCK_OFFSET_SECONDS',
    shift(86_400),
    '0',
    'How far this process’s clock is put wrong, for tests of the program; refused unless NODE_ENV is test.',
  ),
} as const satisfies Record<string, Setting>;

/** The configuration of one process. */
export type Config = {
  readonly [Name in keyof typeof SETTINGS]: z.output<(typeof SETTINGS)[Name]['schema']>;
};

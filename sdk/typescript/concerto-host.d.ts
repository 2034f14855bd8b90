// Made by `make sdk` from concerto-host.ts, sha256 a68ed31b363dac9ed54e99576f0eb8924f2e08cce3d962ac30f127473f9e7dc0.
/** Any JSON value. */
export type Json = any;
/** A request got no answer: no handler exists, the handler failed, the request was
 * withdrawn, or the exchange was cancelled. The message has the cause. */
export declare class Refused extends Error {
    constructor(message: string);
}
/** The answer to an approval. Only a clear yes allows. */
export interface Decision {
    allow: boolean;
    /** The reason for a denial. */
    reason: string;
    /** The arguments to use: the original ones, or those the answer changed. */
    input: Json;
    /** The scope of the approval. */
    scope: "once" | "session" | "always";
}
export interface ProgressFields {
    percent?: number;
    stage?: string;
    usage?: {
        tokens_in: number;
        tokens_out: number;
        tokens_cached?: number;
    };
    cost_usd?: number;
    turns?: number;
}
export interface PlanLimitFields {
    used_percent?: number;
    /** A time as in RFC 3339. */
    resets_at?: string;
}
export interface AskFields {
    options?: string[];
    questions?: Json[];
    schema?: Json;
    id?: string;
}
export interface ApproveFields {
    tool?: string;
    args?: Json;
    kind?: string;
    risk_level?: string;
    id?: string;
}
export interface ServeOptions {
    /** Receives the parameters of the manifest. Its result, such as { version: "1.2.0" },
     * is added to init_ack; its exception rejects the parameters. */
    init?: (params: Record<string, Json>) => unknown;
    /** Announced in init_ack. "cancel" means that the handler checks task.cancelled, and "steer" that
     * it reads task.messages(). */
    capabilities?: string[];
    /** Answer the prompts of `concerto host test` without calling the handler. */
    testable?: boolean;
}
export type Handler = (task: Task) => unknown;
/** A tool that the host may call. parameters is a JSON Schema. */
export interface ToolSpec {
    name: string;
    description: string;
    parameters: Json;
}
/** One prompt. */
export declare class Task {
    readonly text: string;
    /** undefined if there is none. */
    readonly context: Json;
    /** The JSON Schema of the expected result, if any. */
    readonly schema: Json;
    /** Of the manifest, as passed to init. */
    readonly params: Record<string, Json>;
    /** The conversation to continue. */
    readonly session: string | undefined;
    /** The prompt continues the exchange of the last one. */
    readonly queued: boolean;
    /** The callable tools; sent to hosts with the capability "tools". */
    readonly tools: ToolSpec[];
    /** Aborted when the result is no longer needed. */
    readonly cancelled: AbortSignal;
    private readonly server;
    private readonly controller;
    private readonly open;
    private stopReason;
    private received;
    /** Reports progress; percent is rounded to an integer. usage, cost_usd and turns are totals since the exchange began. */
    progress(message: string, fields?: ProgressFields): void;
    /** Reports a limit of the plan under which the host works. The window is "5h", "week" or another text. */
    planLimit(window: string, status: "near" | "reached", fields?: PlanLimitFields): void;
    /** Sends a log line to the program. The level is debug, info, warn or error. */
    log(level: string, message: string): void;
    /** Sends a part of the result. message is the id of the message to which it belongs. */
    partial(text: string, message?: string): void;
    /** Removes the parts of these messages from the result. */
    retract(messages: string[]): void;
    /** Asks the program and returns its answer. Rejects with Refused. */
    ask(question: string, fields?: AskFields): Promise<Json>;
    /** Asks whether an action is allowed. Rejects with Refused if there is no answer. */
    approve(description: string, fields?: ApproveFields): Promise<Decision>;
    /** Calls one of the program's tools and returns its result. Rejects with Refused. */
    call(tool: string, args: Json, fields?: {
        id?: string;
    }): Promise<Json>;
    /** Returns the texts that the program has sent to this task since the last call. Only hosts with
     * the capability "steer" receive them. */
    messages(): string[];
    /** Withdraws the requests with these ids, or all open ones. They reject with Refused. */
    withdraw(...ids: string[]): void;
    private sendNote;
    private request;
}
/** Handles prompts one at a time until standard input ends. Then it cancels the running
 * handler, and the promise is fulfilled when the handler has returned. */
export declare function serve(handler: Handler, options?: ServeOptions): Promise<void>;

// Made by `make sdk` from concerto.ts, sha256 1cbf9e7c56fd5a54a4111f8df1c0eef5557ddac9229525cb52cb652d6253d34f.
/** Any JSON value. */
export type Json = any;
/** The base class of all errors of this module. */
export declare class ConcertoError extends Error {
    constructor(message: string);
}
/** The server refused a request. code is JSON-RPC's or the protocol's, such as -32010 for
 * a duplicate tool name; data is the server's additional data, or {}. */
export declare class RequestError extends ConcertoError {
    readonly code: number;
    readonly data: Record<string, Json>;
    constructor(message: string, code?: number, data?: Record<string, Json>);
}
/** The server is not reachable, or no longer. */
export declare class ConnectionLost extends ConcertoError {
}
/** A session ended without a result. */
export declare class SessionError extends ConcertoError {
    /** The kind of the program's error, "cancelled", "limit" (over its budget), "panic", or
     * "lost" if the server no longer knows the session. */
    readonly kind: string;
    /** Innermost first. */
    readonly trace: {
        function: string;
        file: string;
        line: number;
        column: number;
    }[];
    constructor(kind: string, message: string, trace?: Json[]);
}
/** A tool call failed. */
export declare class ToolError extends ConcertoError {
    /** failed, arguments, not_found, denied, timeout, cancelled, unavailable or limit. */
    readonly outcome: string;
    readonly metadata: Record<string, Json>;
    constructor(message: string, outcome?: string, metadata?: Record<string, Json>);
}
/** The result of a tool. Any other return value of a handler is the output of a
 * successful call. */
export interface ToolResult {
    success: boolean;
    output?: Json;
    error?: string | null;
    metadata?: Record<string, Json>;
}
/** One call of a tool. */
export interface ToolContext {
    readonly session_id: string;
    readonly cwd: string;
    /** What the application passed for the session, not the environment of a process. */
    readonly environment: Record<string, string>;
    readonly metadata: Record<string, Json>;
    /** The same for each attempt: a key for actions that must happen once. */
    readonly call_id: string;
    readonly tool: string;
    readonly version: number;
    /** The caller. */
    readonly by: string;
    readonly route: "agent" | "host" | "dispatch" | "mcp" | "client" | "tool";
    /** Names of the enclosing calls. */
    readonly chain: string[];
    readonly timeout_s: number;
    /** Aborted when the result is no longer needed. */
    readonly cancelled: AbortSignal;
    /** Reports the progress of the call. */
    progress(progress: number, total?: number, message?: string): Promise<void>;
    /** Emits an event on a channel of the session. */
    emit(channel: string, payload?: Json): Promise<void>;
    /** Calls another tool and returns its output. Rejects with ToolError. */
    call(name: string, args?: Record<string, Json>): Promise<Json>;
}
/** Returns the output of a tool or a ToolResult; its exception is the tool's failure. */
export type Handler = (input: any, ctx: ToolContext) => unknown;
/** The definition of a tool. Times are in seconds. */
export interface ToolDefinition {
    name: string;
    description: string;
    /** The JSON Schema of an object; any object without it. */
    parameters?: Json;
    output?: Json;
    version?: number;
    scope?: "global" | "session";
    category?: string;
    requires_approval?: boolean;
    approval_timeout?: number;
    on_timeout?: "deny" | "allow" | "halt";
    timeout?: number;
    idle_timeout?: number;
    sequential?: boolean;
    max_concurrent?: number;
    requires?: string[];
}
export interface ToolOptions {
    /** Replaces a tool of this name. */
    replace?: boolean;
    /** Limits the tool to one session. */
    session?: Session | string;
}
/** An event of a session; seq counts from 1 without gaps. The other members depend on the
 * type: state {state, result?, error?, usage?}, first and last; emit {channel, payload,
 * awaited?}; print {text}; log {level, message}; tool {phase, call_id, tool, by, route,
 * outcome?, duration_ms?}; gap {from, to}. */
export interface Event {
    session_id: string;
    seq: number;
    ts: string;
    type: "state" | "emit" | "print" | "log" | "tool" | "gap";
    [member: string]: Json;
}
/** A run of a program. `for await (const event of session)` yields its events from the
 * first to the last, which has type "state". It keeps the last 10,000 events; an event
 * of type "gap" replaces older ones. */
export declare class Session implements AsyncIterable<Event> {
    readonly id: string;
    state: "running" | "done" | "failed" | "cancelled";
    /** Of models, after the end. */
    usage: Json;
    /** The number of the last received event. */
    cursor: number;
    private readonly client;
    private events;
    private end;
    private lost;
    private wake;
    private changed;
    [Symbol.asyncIterator](): AsyncIterator<Event>;
    /** Waits for the end and returns the result of `main`. Rejects with SessionError, or
     * ConnectionLost if the server no longer answers. */
    result(): Promise<Json>;
    /** Stops the session as Ctrl-C does, and waits until it has ended. No effect on an
     * ended session. */
    cancel(reason?: string): Promise<void>;
    /** The index of the first stored event after a number. */
    private after;
    private change;
}
export interface RunOptions {
    /** The result of std::app's inputs(). */
    inputs?: Record<string, Json>;
    args?: string[];
    cwd?: string;
    environment?: Record<string, string>;
    /** Visible to std::app's session() and to tools. */
    metadata?: Record<string, Json>;
    budget?: {
        max_run_seconds?: number;
        max_tokens?: number;
        max_cost_usd?: number;
        max_tool_calls?: number;
    };
    /** The application's tools for the session: all, none, or the named ones. */
    tools?: boolean | string[];
    /** Seconds for which the session continues without this client; null: forever. */
    linger_s?: number | null;
}
/** A path as for `concerto run`, or the text or compiled form of a program. */
export type Program = string | {
    path: string;
} | {
    source: string;
} | {
    ir: Json;
};
export interface ConnectOptions {
    /** The client's name for the server. */
    name?: string;
    version?: string;
    /** What the application can display, such as "render:image/png". */
    render?: string[];
    /** The seconds for which to try to reconnect. */
    patience?: number;
}
export interface StdioOptions extends ConnectOptions {
    /** Further flags of `concerto serve`. */
    flags?: string[];
    /** The concerto binary: by default the variable CONCERTO, else the one in PATH. */
    command?: string | string[];
    cwd?: string;
    /** Its environment, by default this process's. */
    env?: Record<string, string>;
}
/** A client of a server, with the tools of this application. */
export declare class Concerto {
    client_id: string;
    /** Of the server. */
    limits: {
        max_message?: number;
        max_sessions?: number;
    };
    private readonly link;
    private ids;
    private waiting;
    private working;
    private sentAnswers;
    private answerBytes;
    private answers;
    private arrived;
    private readonly own;
    private readonly registering;
    private readonly pending;
    private readonly sessions;
    private readonly awaits;
    private missing;
    private ended;
    private closed;
    private constructor();
    /** Starts `concerto serve --stdio`. */
    static stdio(options?: StdioOptions): Promise<Concerto>;
    /** Connects to `concerto serve --http`: http(s)://HOST:PORT or ws(s)://HOST:PORT. The
     * token is the one that the server printed, or that its --token-env names. */
    static connect(url: string, token?: string, options?: ConnectOptions): Promise<Concerto>;
    private static open;
    /** Closes the connection. A server started by stdio() stops, after up to --drain
     * seconds for running sessions; other servers remove the tools. */
    close(): Promise<void>;
    /** Registers a tool for agents and programs. Rejects with RequestError, as do run() and
     * call(), which wait for it. */
    tool(definition: ToolDefinition, handler: Handler, options?: ToolOptions): Promise<void>;
    /** Waits until all tools are registered. */
    registered(): Promise<void>;
    /** Removes a tool of this application, "x" in every version or "x@2", and reports
     * whether it existed. Running calls continue. */
    unregister(name: string): Promise<boolean>;
    /** The existing tools, as `tools/list` returns them. */
    tools(only?: {
        session?: Session | string;
        category?: string;
    }): Promise<Json[]>;
    /** Calls a tool of any application and returns its output. Rejects with ToolError. */
    call(name: string, args?: Record<string, Json>, session?: Session | string): Promise<Json>;
    private callTool;
    /** Starts a program. Rejects with RequestError, which lists all errors of the program. */
    run(program: Program, options?: RunOptions): Promise<Session>;
    /** Attaches to a running session: its events after a number, and its awaited emits. */
    session(id: string, after?: number): Promise<Session>;
    /** Answers awaited emits on a channel: f(payload), async or not, returns the value of
     * the emit; its exception is the program's EmitError. */
    on_await(channel: string, f: (payload: any) => unknown): void;
    private claim;
    /** The session of an event, which may arrive before the answer that names it. */
    private of;
    /** Sends a request of the protocol and returns its result. Rejects with RequestError or
     * ConnectionLost. */
    request(method: string, params?: Json): Promise<Json>;
    private notify;
    private send;
    private answered;
    /** Reports whether this answers resumed()'s ping. */
    private probed;
    private handleRequest;
    private sendAnswer;
    private serve;
    private callHandler;
    /** Subscribes to a session after its last received event. */
    private resubscribe;
    /** Cancels the handlers that work for a client that the server no longer knows. */
    private forget;
}

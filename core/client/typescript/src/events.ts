import type { RefusedError } from "./errors.js";
import { type Sender, refusalOf } from "./send.js";
import type { Run, Step } from "./types.js";

/** One thing that has happened to a run. */
export interface RunEvent {
  /** The place of the event in the story of the run; empty where it was found without a stream. */
  id: string;
  /** More names may come; pass over those that are not known. */
  name: "run.created" | "run.started" | "step.completed" | "run.completed" | (string & {});
  /** The run without its steps, in events about runs. */
  run: Run | null;
  /** The step without its findings, in events about steps. */
  step: Step | null;
}

/**
 * How long a stream may say nothing before it counts as broken. The service speaks every 15 seconds.
 */
const silenceMs = 45_000;

/** Bounds an event of a stream. */
const maxEvent = 2 ** 20;

/**
 * One event as it came, before it is known what it is about.
 *
 * @internal
 */
export interface Message {
  id: string;
  name: string;
  data: string;
}

/**
 * Says that something else than a stream was answered.
 *
 * @internal
 */
export class NoStream extends Error {
  /** The refusal; null where there are no more events. */
  constructor(readonly refused: RefusedError | null) {
    super("there is no stream of events");
  }
}

/**
 * Reads the events after the last one until the stream ends.
 *
 * @internal
 */
export async function* events(
  sender: Sender, path: string, last: string, signal: AbortSignal | undefined,
): AsyncGenerator<RunEvent, void, undefined> {
  try {
    for await (const message of follow(sender, path, last, signal)) {
      yield eventOf(message);
    }
  } catch (error) {
    if (!(error instanceof NoStream)) {
      throw error;
    }
    if (error.refused !== null) {
      throw error.refused;
    }
  }
}

/**
 * Reads the messages after the last one until the stream ends.
 *
 * @internal
 */
export async function* follow(
  sender: Sender, path: string, last: string, signal: AbortSignal | undefined,
): AsyncGenerator<Message, void, undefined> {
  const headers: Record<string, string> = { Accept: "text/event-stream" };
  if (last !== "") {
    headers["Last-Event-ID"] = last;
  }
  const controller = new AbortController();
  const stop = (): void => controller.abort(signal?.reason);
  signal?.addEventListener("abort", stop, { once: true });
  const fallSilent = (): void => controller.abort(new Error("the stream of events is silent"));
  let disarm = sender.clock.after(silenceMs, fallSilent);
  try {
    const response = await sender.open({ method: "GET", path, headers }, controller.signal);
    const [mediaType] = (response.headers.get("Content-Type") ?? "").split(";");
    if (response.status !== 200 || mediaType?.trim().toLowerCase() !== "text/event-stream" || !response.body) {
      const { status, headers } = response;
      const content = new Uint8Array(await response.arrayBuffer());
      throw new NoStream(status === 204 ? null : refusalOf({ status, headers, content, attempts: 1 }, null));
    }
    const told: Message[] = [];
    const parser = new EventParser((message) => told.push(message));
    const reader = response.body.getReader();
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
      disarm();
      disarm = sender.clock.after(silenceMs, fallSilent);
      parser.push(read.value);
      yield* told.splice(0);
    }
  } finally {
    disarm();
    signal?.removeEventListener("abort", stop);
    controller.abort(); // The rest is not wanted.
  }
}

/**
 * Reads server-sent events as the HTML standard has them.
 *
 * @internal
 */
export class EventParser {
  readonly #tell: (message: Message) => void;
  readonly #decoder = new TextDecoder();
  #rest = "";
  #id = "";
  #name = "";
  #data: string[] = [];
  #length = 0;

  constructor(tell: (message: Message) => void) {
    this.#tell = tell;
  }

  /** Takes the next bytes, which may end anywhere. */
  push(bytes: Uint8Array): void {
    const text = this.#rest + this.#decoder.decode(bytes, { stream: true });
    // A carriage return at the end may be the first half of a line's end.
    const whole = text.endsWith("\r") ? text.slice(0, -1) : text;
    const lines = whole.split(/\r\n|\r|\n/);
    this.#rest = (lines.pop() ?? "") + text.slice(whole.length);
    for (const line of lines) {
      this.#line(line);
    }
    if (this.#rest.length + this.#length > maxEvent) {
      throw new Error("an event is too long");
    }
  }

  #line(line: string): void {
    if (line === "") {
      this.#dispatch();
      return;
    }
    const [, field, value] = /^([^:]*):? ?(.*)$/s.exec(line) ?? ["", "", ""];
    switch (field) {
      case "id":
        this.#id = value ?? "";
        break;
      case "event":
        this.#name = value ?? "";
        break;
      case "data":
        this.#data.push(value ?? "");
        this.#length += line.length;
        break;
    }
  }

  #dispatch(): void {
    const message = { id: this.#id, name: this.#name, data: this.#data.join("\n") };
    this.#name = "";
    this.#data = [];
    this.#length = 0;
    if (message.name !== "") {
      this.#tell(message);
    }
  }
}

/**
 * Reads what a message is about.
 *
 * @internal
 */
export function eventOf({ id, name, data }: Message): RunEvent {
  return {
    id, name,
    run: name.startsWith("run.") ? JSON.parse(data) as Run : null,
    step: name.startsWith("step.") ? JSON.parse(data) as Step : null,
  };
}

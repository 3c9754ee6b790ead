import { RefusedError, UnreachableError } from "./errors.js";
import { NoStream, type RunEvent, eventOf, follow } from "./events.js";
import { retryAfterMs } from "./retry.js";
import { type Answer, type Sender, decode } from "./send.js";
import type { Run } from "./types.js";

/** How many seconds one long poll waits for the end of the run. */
const patientSeconds = 20;

/** The least time between two reads of a run that has not ended. */
const pollPauseMs = 1000;

/** After how many consecutive streams without an event the run is polled instead. */
const brokenStreams = 2;

/** How long a service that does not answer is tolerated. */
const maxOutageMs = 2 * 60_000;

/**
 * One wait for one run.
 *
 * @internal
 */
export class Wait {
  readonly #sender: Sender;
  readonly #path: string;
  readonly #signal: AbortSignal | undefined;
  readonly #tell: (event: RunEvent) => void;
  #last = "";
  #completed = false;
  /** The ids of the steps whose event was reported. */
  readonly #told = new Set<string>();

  /** The path is that of the run. */
  constructor(sender: Sender, path: string, signal: AbortSignal | undefined, tell: (event: RunEvent) => void) {
    this.#sender = sender;
    this.#path = path;
    this.#signal = signal;
    this.#tell = tell;
  }

  /** Returns the run when it is completed. */
  async run(): Promise<Run> {
    this.#signal?.throwIfAborted();
    await this.#follow();
    return this.#poll();
  }

  /** Reads streams of events until one reports the end, or the streams fail. */
  async #follow(): Promise<void> {
    for (let broken = 0; broken < brokenStreams && !this.#completed;) {
      let count = 0;
      // What the caller's function throws ends the wait, and not only the stream.
      let heard = false;
      try {
        for await (const message of follow(this.#sender, `${this.#path}events/`, this.#last, this.#signal)) {
          const event = eventOf(message);
          count++;
          heard = true;
          this.#take(event);
          heard = false;
        }
      } catch (error) {
        this.#signal?.throwIfAborted();
        if (heard) {
          throw error;
        }
        if (error instanceof NoStream) {
          return;
        }
      }
      if (this.#completed) {
        return;
      }
      broken = count > 0 ? 0 : broken + 1;
      await this.#sender.clock.sleep(this.#sender.clock.random() * pollPauseMs, this.#signal);
    }
  }

  /** Reads the run until it is completed. */
  async #poll(): Promise<Run> {
    const { clock } = this.#sender;
    let path = `${this.#path}?wait=${patientSeconds}`;
    let answered = clock.now();
    for (;;) {
      const began = clock.now();
      let asked = 0;
      try {
        const answer: Answer = await this.#sender.send({ method: "GET", path, signal: this.#signal });
        answered = clock.now();
        asked = retryAfterMs(answer.headers) ?? 0;
        const run = decode<Run>(answer.content, null, answer.attempts);
        this.#tellSteps(run);
        if (run.state === "COMPLETED") {
          return run;
        }
      } catch (error) {
        this.#signal?.throwIfAborted();
        if (error instanceof RefusedError && error.code === "invalid_parameter" && path !== this.#path) {
          path = this.#path;
        } else if (!isOutage(error) || clock.now() - answered > maxOutageMs) {
          throw error;
        }
      }
      const pause = Math.max(pollPauseMs, asked) - (clock.now() - began);
      await clock.sleep(Math.max(0, pause), this.#signal);
    }
  }

  #take(event: RunEvent): void {
    this.#last = event.id;
    this.#completed ||= event.name === "run.completed";
    if (event.step !== null) {
      if (this.#told.has(event.step.step_id)) {
        return;
      }
      this.#told.add(event.step.step_id);
    }
    this.#tell(event);
  }

  /** Reports the steps that have ended since the last poll. */
  #tellSteps(run: Run): void {
    for (const step of run.steps) {
      if (step.status === "PASSED" || step.status === "FAILED") {
        this.#take({ id: this.#last, name: "step.completed", run: null, step });
      }
    }
    if (run.state === "COMPLETED" && !this.#completed) {
      this.#take({ id: this.#last, name: "run.completed", run, step: null });
    }
  }
}

/** Reports whether the service may be back soon, as after a restart. */
function isOutage(error: unknown): boolean {
  if (error instanceof RefusedError) {
    return error.retryable || error.status >= 500;
  }
  return error instanceof UnreachableError;
}

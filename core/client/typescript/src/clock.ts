/**
 * What the client needs of time and chance. Tests have one of their own.
 *
 * @internal
 */
export interface Clock {
  /** The time in milliseconds, of use only for differences. */
  now(): number;
  /** Ends when the time is over, and throws the reason of the signal when that comes first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Calls the function after the time, unless the returned function was called before. */
  after(ms: number, call: () => void): () => void;
  /** A number from 0 up to, and without, 1. */
  random(): number;
}

/** @internal */
export const systemClock: Clock = {
  now: () => performance.now(),
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) {
        reject(signal.reason);
        return;
      }
      const timer = setTimeout(() => {
        signal?.removeEventListener("abort", stop);
        resolve();
      }, ms);
      const stop = (): void => {
        clearTimeout(timer);
        reject(signal?.reason);
      };
      signal?.addEventListener("abort", stop, { once: true });
    }),
  after: (ms, call) => {
    const timer = setTimeout(call, ms);
    return () => clearTimeout(timer);
  },
  random: () => Math.random(),
};

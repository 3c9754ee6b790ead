/** Makes an idempotency key: a UUIDv7, which begins with the time and ends with chance. */
export async function newKey(): Promise<string> {
  const bytes = await randomBytes(16);
  const view = new DataView(bytes.buffer);
  const now = Date.now();
  view.setUint16(0, Math.floor(now / 2 ** 32));
  view.setUint32(2, now % 2 ** 32);
  view.setUint8(6, 0x70 | (view.getUint8(6) & 0x0f));
  view.setUint8(8, 0x80 | (view.getUint8(8) & 0x3f));
  return hex(bytes).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

/** @internal */
export function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** @internal */
export async function randomBytes(length: number): Promise<Uint8Array> {
  return (await webCrypto()).getRandomValues(new Uint8Array(length));
}

/** @internal */
export async function webCrypto(): Promise<Crypto> {
  if (globalThis.crypto !== undefined) {
    return globalThis.crypto;
  }
  // Node 18 has it in a module only. The name is in a variable so that bundlers for browsers do not look for it.
  const module = "node:crypto";
  const { webcrypto } = await import(/* webpackIgnore: true */ /* @vite-ignore */ module) as { webcrypto: Crypto };
  return webcrypto;
}

/** Where keys can be kept: `localStorage`, `sessionStorage`, or anything that has these two methods. */
export interface KeyStorage {
  getItem(name: string): string | null | Promise<string | null>;
  setItem(name: string, value: string): void | Promise<void>;
}

/**
 * Takes the key of a piece of work out of a storage, or makes one and puts it there before it is used. A page that is
 * loaded again then starts with the same key and finds its run.
 *
 * A name stands for one piece of work. The client never removes it: do that when the id of the run is kept elsewhere.
 */
export async function keyFromStorage(storage: KeyStorage, name: string): Promise<string> {
  const take = async (): Promise<string> => {
    const kept = await storage.getItem(name);
    if (kept !== null) {
      return checkedKey(kept, `the storage has under ${JSON.stringify(name)}`);
    }
    const key = await newKey();
    await storage.setItem(name, key);
    return key;
  };
  // Two tabs that do the same work at once have to end up with one key.
  const locks = globalThis.navigator?.locks;
  return locks === undefined ? take() : locks.request(`simplevalidations-key-${name}`, take);
}

/**
 * Refuses what is no key: a new one in its place could start a second run.
 *
 * @internal
 */
export function checkedKey(text: string, where: string): string {
  if (!/^[!-~]{1,255}$/.test(text)) {
    throw new Error(`what ${where} is no idempotency key: look whether its run exists, then remove it`);
  }
  return text;
}

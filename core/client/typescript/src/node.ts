/**
 * What a program on Node.js has besides: documents in files, and keys in files.
 *
 * @packageDocumentation
 */
import * as fs from "node:fs";
import { link, open, readFile, stat, unlink } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

import type { Content } from "./form.js";
import { checkedKey, newKey } from "./keys.js";

/**
 * Takes a document from a file, with the file's name, to be spread into what is started. It is read while it is sent. A
 * file that is changed meanwhile is not sent: all attempts have the same bytes, or the call fails.
 */
export async function documentFromFile(path: string): Promise<{ content: Content; filename: string }> {
  return { content: await contentOf(path), filename: basename(path) };
}

async function contentOf(path: string): Promise<Content> {
  // Node has it from 19.8 on.
  const { openAsBlob } = fs as { openAsBlob?: (path: string) => Promise<Blob> };
  if (openAsBlob !== undefined) {
    return openAsBlob(path);
  }
  const first = await stat(path);
  return async function* () {
    const file = await open(path);
    try {
      const now = await file.stat();
      if (now.size !== first.size || now.mtimeMs !== first.mtimeMs || now.ino !== first.ino) {
        throw new Error(`${path} has changed while it was sent`);
      }
      yield* file.createReadStream({ autoClose: false });
    } finally {
      await file.close();
    }
  };
}

/**
 * Takes the key of a piece of work out of a file, or makes one and writes the file before it is used. A program that is
 * started again then starts with the same key and finds its run. Of two programs that race, both get the same key.
 *
 * A file stands for one piece of work. The client never removes it: do that when the id of the run is kept elsewhere.
 */
export async function keyFromFile(path: string): Promise<string> {
  const kept = await readKey(path);
  if (kept !== null) {
    return kept;
  }
  const key = await newKey();
  const folder = dirname(path);
  const temporary = join(folder, `.${basename(path)}.${key}`);
  await writeDurably(temporary, `${key}\n`);
  try {
    // Unlike a rename, a link does not replace what somebody else has put there.
    await link(temporary, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") {
      throw error;
    }
  } finally {
    await unlink(temporary);
  }
  await flushFolder(folder);
  const won = await readKey(path);
  if (won === null) {
    throw new Error(`${path} was removed while the key was written`);
  }
  return won;
}

async function readKey(path: string): Promise<string | null> {
  try {
    const text = await readFile(path, "latin1");
    return checkedKey(text.replace(/\r?\n$/, ""), `${path} holds`);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") {
      return null;
    }
    throw error;
  }
}

async function writeDurably(path: string, text: string): Promise<void> {
  const file = await open(path, "wx", 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Makes the name of a new file outlive a crash. Windows has no such thing for folders. */
async function flushFolder(folder: string): Promise<void> {
  if (process.platform === "win32") {
    return;
  }
  const opened = await open(folder, "r");
  try {
    await opened.sync();
  } finally {
    await opened.close();
  }
}

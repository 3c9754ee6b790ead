// What the pages of the documentation can do more of with a script: copy code, and remember the language of examples.
// It runs before the page is shown, so that the remembered tab is the one that is painted first.
"use strict";

(() => {
  const remembered = "sv-tab";

  /** A browser may forbid pages to keep anything. */
  function recall() {
    try {
      return localStorage.getItem(remembered);
    } catch {
      return null;
    }
  }

  function remember(name) {
    try {
      localStorage.setItem(remembered, name);
    } catch {}
  }

  /** Chooses a language in all groups of tabs of a part of the page that have it. */
  function choose(part, name) {
    for (const label of part.querySelectorAll(".tabs label")) {
      if (label.textContent === name) document.getElementById(label.htmlFor).checked = true;
    }
  }

  const chosen = recall();
  if (chosen) {
    const arriving = new MutationObserver(() => choose(document, chosen));
    arriving.observe(document, { childList: true, subtree: true });
    document.addEventListener("DOMContentLoaded", () => {
      arriving.disconnect(); // What it has not told of yet is lost.
      choose(document, chosen);
    });
  }

  document.addEventListener("change", (event) => {
    const input = event.target;
    if (!input.matches(".tabs input")) return;
    const name = input.labels[0].textContent;
    // What is above may become longer or shorter, and the reader is to stay where the tab is.
    const before = input.getBoundingClientRect().top;
    choose(document, name);
    scrollBy(0, input.getBoundingClientRect().top - before);
    remember(name);
  });

  /** The text of a block as it is meant to be typed: commands without their prompts and without what they print. */
  function codeOf(block) {
    const code = block.querySelector("code");
    if (!code.querySelector(".prompt")) return code.textContent;
    return [...code.childNodes]
      .flatMap((node, i, all) => (node.className === "prompt" ? [command(all[i + 1]?.textContent ?? "")] : []))
      .join("");
  }

  /** A command goes on behind a line that ends with a backslash. */
  function command(text) {
    const lines = text.split("\n");
    const last = lines.findIndex((line) => !line.endsWith("\\"));
    return `${lines.slice(0, last + 1).join("\n")}\n`;
  }

  /** Writes to the clipboard. Browsers offer the first way over encrypted connections alone. */
  async function write(text) {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      const area = document.createElement("textarea");
      area.className = "unseen";
      area.value = text;
      document.body.append(area);
      area.select();
      const done = document.execCommand("copy");
      area.remove();
      return done;
    }
  }

  async function copy(button, block) {
    button.textContent = (await write(codeOf(block))) ? "Copied" : "Not copied";
    button.focus();
    setTimeout(() => (button.textContent = "Copy"), 2000);
  }

  document.addEventListener("DOMContentLoaded", () => {
    for (const block of document.querySelectorAll(".code")) {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "copy";
      button.textContent = "Copy";
      button.setAttribute("aria-live", "polite");
      button.addEventListener("click", () => copy(button, block));
      block.prepend(button);
    }
  });
})();

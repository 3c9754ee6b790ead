// Numbers the lines of a workflow while it is written, and asks before a text that is not saved is left. Without it the
// numbers are those of the page as it was loaded.
"use strict";

(() => {
  const area = document.getElementById("text");
  const gutter = document.querySelector("[data-numbers]");
  if (!area || !gutter) return;
  const bad = new Set(gutter.dataset.numbers.split(" "));

  function number() {
    const count = area.value.split("\n").length;
    area.rows = Math.max(count + 1, 12);
    gutter.replaceChildren(...Array.from({ length: count }, (_, i) => {
      const line = document.createElement(bad.has(String(i + 1)) ? "b" : "span");
      line.textContent = `${i + 1}\n`;
      return line;
    }));
  }

  area.addEventListener("input", () => requestAnimationFrame(number));

  // Sending the form loses nothing: its answer has the text.
  let sent = false;
  document.addEventListener("submit", () => {
    sent = true;
  });
  addEventListener("pageshow", () => {
    sent = false;
  });
  addEventListener("beforeunload", (event) => {
    const changed = [area, document.getElementById("sample")].some((field) => field.value !== field.defaultValue);
    const unsaved = changed || "unsaved" in area.dataset;
    if (unsaved && !sent) event.preventDefault();
  });
})();

// Numbers the lines of a workflow while it is written. Without it they are those of the page as it was loaded.
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
})();

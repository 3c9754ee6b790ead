// What the dashboard's pages can do more of with a script. Without it all of them work as well.
"use strict";

(() => {
  const status = document.getElementById("status");

  /** Tells people who do not see the page what has happened. */
  function announce(text) {
    status.textContent = text;
  }

  for (const button of document.querySelectorAll("[data-copy]")) {
    button.hidden = false;
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(button.dataset.copy);
      announce("Copied");
    });
  }

  const units = [["day", 86400], ["h", 3600], ["min", 60], ["s", 1]];

  function roughly(seconds) {
    const [unit, size] = units.find(([, size]) => seconds >= size) ?? units.at(-1);
    const n = Math.floor(seconds / size);
    return `${n} ${unit}${unit === "day" && n !== 1 ? "s" : ""}`;
  }

  function refreshTimes() {
    for (const time of document.querySelectorAll("time[data-ago]")) {
      const passed = (Date.now() - new Date(time.dateTime).getTime()) / 1000;
      if (passed < 0) time.textContent = `in ${roughly(-passed)}`;
      else time.textContent = passed < 5 ? "just now" : `${roughly(passed)} ago`;
    }
  }
  setInterval(refreshTimes, 15000);

  document.addEventListener("keydown", (event) => {
    const search = document.getElementById("search");
    const typing = event.target.closest("input, textarea, select");
    if (event.key !== "/" || typing || !search || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    search.focus();
  });

  document.querySelector(".problem")?.focus();
})();

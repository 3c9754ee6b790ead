// What the dashboard's pages can do more of with a script. Without it all of them work as well.
"use strict";

(() => {
  const status = document.getElementById("status");

  let announced = 0;
  let announcement;

  /** Tells people who do not see the page what has happened: the latest news, and not more often than they can follow. */
  function announce(text) {
    if (!text) return;
    clearTimeout(announcement);
    announcement = setTimeout(() => {
      announced = Date.now();
      status.textContent = text;
    }, Math.max(0, announced + 3000 - Date.now()));
  }

  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy]");
    if (!button) return;
    await navigator.clipboard.writeText(button.dataset.copy);
    announce("Copied");
  });

  // Menus close by Escape, which leads back to their button, and by a click elsewhere.
  const menus = "details.orgs[open], details.account[open]";
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    for (const menu of document.querySelectorAll(menus)) {
      if (menu.contains(document.activeElement)) menu.querySelector("summary").focus();
      menu.open = false;
    }
  });
  document.addEventListener("click", (event) => {
    for (const menu of document.querySelectorAll(menus)) {
      if (!menu.contains(event.target)) menu.open = false;
    }
  });

  /** Adds what only the script can do to a part of the page. */
  function enhance(part) {
    // Browsers let pages write there over encrypted connections alone, and on the machine itself.
    for (const button of part.querySelectorAll("[data-copy]")) button.hidden = !navigator.clipboard;
    for (const later of part.querySelectorAll(".later")) setTimeout(() => later.classList.remove("later"), 10000);
  }
  enhance(document);

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

  for (const zone of document.querySelectorAll("[data-drop]")) {
    const input = zone.querySelector("input");
    const over = (event, is) => {
      if (!event.dataTransfer.types.includes("Files")) return;
      event.preventDefault();
      zone.classList.toggle("over", is);
    };
    zone.addEventListener("dragover", (event) => over(event, true));
    zone.addEventListener("dragleave", (event) => over(event, false));
    zone.addEventListener("drop", (event) => {
      over(event, false);
      if (event.dataTransfer.files.length === 0) return;
      input.files = event.dataTransfer.files;
      input.dispatchEvent(new Event("change"));
    });
    input.addEventListener("change", () => {
      const file = input.files[0];
      const tooLarge = file && file.size > Number(input.dataset.max);
      input.setCustomValidity(tooLarge ? "The file is larger than this page says." : "");
      if (tooLarge) input.reportValidity();
      else if (file) announce(`Chosen: ${file.name}`);
    });
  }

  for (const link of document.querySelectorAll("[data-line]")) {
    link.addEventListener("click", (event) => {
      event.preventDefault();
      const area = document.querySelector(link.hash);
      const lines = area.value.split("\n");
      const line = Number(link.dataset.line) - 1;
      const start = lines.slice(0, line).reduce((sum, text) => sum + text.length + 1, 0);
      area.focus();
      area.setSelectionRange(start, start + lines[line].length);
      area.scrollTop = (area.scrollHeight / lines.length) * Math.max(line - 3, 0);
    });
  }

  document.addEventListener("keydown", (event) => {
    const search = document.getElementById("search");
    const typing = event.target.closest("input, textarea, select");
    if (event.key !== "/" || !("shortcut" in document.body.dataset) || typing || !search || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    search.focus();
  });

  document.querySelector(".problem")?.focus();

  /** Puts a part of the page as it is now in place of what it was, and leaves open and focused what was. */
  function renew(old, fresh) {
    const reached = "a, button, summary, input";
    const focused = [...old.querySelectorAll(reached)].indexOf(document.activeElement);
    const opened = [...old.querySelectorAll("details[open][id]")].map((details) => details.id);
    old.replaceWith(fresh);
    for (const id of opened) document.getElementById(id)?.setAttribute("open", "");
    if (focused >= 0) (fresh.querySelectorAll(reached)[focused] ?? document.getElementById("main")).focus();
    enhance(fresh);
  }

  /** Reads the page anew and renews the parts that can change. */
  async function reread() {
    const answer = await fetch(location.href);
    if (!answer.ok || answer.redirected) return;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    document.title = page.title;
    for (const fresh of page.querySelectorAll("[data-part]")) {
      const old = document.getElementById(fresh.id);
      if (old) renew(old, fresh);
    }
  }

  /** Keeps the page up to date: the server tells that something has changed. Hidden pages listen to nothing. */
  function follow(live, address) {
    const [pill, link, button] = live.children;
    const [sign, state] = pill.children;
    let source;
    let last = "";
    let paused = false;
    let over = false;
    let wanted = false;
    let busy = false;

    function show(tone, mark, text) {
      pill.className = `pill ${tone}`;
      sign.textContent = mark;
      state.textContent = text;
      link.hidden = text !== "Not live";
      button.hidden = !link.hidden;
      button.textContent = paused ? "Resume" : "Pause";
    }

    function close() {
      source?.close();
      source = undefined;
    }

    async function refresh() {
      wanted = true;
      if (busy) return;
      busy = true;
      while (wanted) {
        wanted = false;
        await reread().catch(() => {});
        await new Promise((resume) => setTimeout(resume, 300));
      }
      busy = false;
      if (over) live.classList.add("spent");
    }

    function hear(event) {
      last = event.lastEventId || last;
      const news = JSON.parse(event.data);
      announce(news.say);
      return news;
    }

    function tellNewer(event) {
      const news = hear(event);
      const newer = document.querySelector("[data-live-new]");
      // A page that waits for the first run becomes another one.
      if (!newer) return location.reload();
      newer.textContent = `Show ${news.say}`;
      newer.hidden = false;
      document.title = `(${news.new}) ${document.title.replace(/^\(\d+\) /, "")}`;
    }

    function open() {
      if (source || paused || over || document.hidden) return;
      source = new EventSource(last ? `${address}&last=${encodeURIComponent(last)}` : address);
      source.onopen = () => show("ok", "●", "Live");
      source.onerror = () => {
        if (source.readyState !== EventSource.CLOSED) return show("warn", "!", "Reconnecting");
        close();
        show("idle", "–", "Not live");
      };
      source.addEventListener("runs", tellNewer);
      source.addEventListener("run", (event) => {
        hear(event);
        refresh();
      });
      source.addEventListener("end", () => {
        over = true;
        close();
        refresh();
      });
    }

    button.addEventListener("click", () => {
      paused = !paused;
      close();
      show("idle", "–", paused ? "Paused" : "Connecting");
      open();
    });
    document.addEventListener("visibilitychange", () => (document.hidden ? close() : open()));
    open();
  }

  const live = document.querySelector("[data-live]");
  if (live) follow(live, document.body.dataset.events);
})();

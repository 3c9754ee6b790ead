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

  /** Copies a text, also where pages may not write to the clipboard themselves, as over plain HTTP. */
  async function copy(text) {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const area = document.createElement("textarea");
      area.value = text;
      area.className = "unseen";
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
  }

  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy]");
    if (!button) return;
    await copy(button.dataset.copy);
    announce("Copied");
    const label = button.firstChild;
    if (button.classList.contains("done")) return;
    const was = label.data;
    label.data = "Copied ✓";
    button.classList.add("done");
    setTimeout(() => {
      label.data = was;
      button.classList.remove("done");
    }, 2000);
  });

  /** Shows that a form is being sent, so that nobody presses again; until the page is left, or seems to stay. */
  function showSending(button) {
    const parts = [...button.childNodes];
    button.style.minWidth = `${button.offsetWidth}px`;
    button.textContent = "Sending…";
    button.disabled = true;
    button.setAttribute("aria-busy", "true");
    const end = () => {
      button.replaceChildren(...parts);
      button.disabled = false;
      button.removeAttribute("aria-busy");
    };
    setTimeout(end, 10000);
    addEventListener("pageshow", end, { once: true });
  }
  document.addEventListener("submit", (event) => {
    const button = event.submitter;
    if (event.defaultPrevented || event.target.method !== "post" || !button?.matches(".btn") || button.disabled) return;
    // What the button itself says is a part of the form, so it is disabled behind the sending.
    setTimeout(() => showSending(button));
  });

  // Menus close by Escape, which leads back to their button, and by a click elsewhere.
  const menus = "details.orgs[open], details.account[open], details.confirm[open]";
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

  // The clock of the visitor, as long as the one of the server that it replaces.
  const local = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit", fractionalSecondDigits: 3 });

  /** Adds what only the script can do to a part of the page. Times are the visitor's, with UTC in their titles. */
  function enhance(part) {
    for (const button of part.querySelectorAll("[data-copy]")) button.hidden = false;
    for (const time of part.querySelectorAll("time[title]")) {
      const at = new Date(time.dateTime);
      if (time.dataset.clock === "") time.textContent = local.format(at);
      else time.title = `${at.toLocaleString()} · ${time.title}`;
    }
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

  const pick = document.querySelector("[data-pick]");
  if (pick) {
    const picked = document.querySelector("[data-picked]");
    const boxes = () => [...pick.form.elements].filter((box) => box.type === "checkbox" && box !== pick);

    /** Says how many rows of the list are selected. */
    function showPicked() {
      const all = boxes();
      const count = all.filter((box) => box.checked).length;
      pick.checked = count > 0 && count === all.length;
      pick.indeterminate = count > 0 && !pick.checked;
      picked.textContent = count > 0 ? `${count} selected` : "";
      return picked.textContent || "None selected";
    }
    document.addEventListener("change", (event) => {
      if (event.target.form !== pick.form) return;
      if (event.target === pick) for (const box of boxes()) box.checked = pick.checked;
      announce(showPicked());
    });
    // A page that was gone back to may have its selection still.
    addEventListener("pageshow", showPicked);
    pick.parentElement.hidden = false;
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
    const checked = [...old.querySelectorAll("input:checked")].map((input) => input.id);
    old.replaceWith(fresh);
    for (const id of checked) if (document.getElementById(id)) document.getElementById(id).checked = true;
    for (const id of opened) document.getElementById(id)?.setAttribute("open", "");
    if (focused >= 0) (fresh.querySelectorAll(reached)[focused] ?? document.getElementById("main")).focus();
    enhance(fresh);
  }

  const read = new Map();

  /** Reads the page anew, renews the parts that have changed, and tells whether there are any. */
  async function reread() {
    const answer = await fetch(location.href);
    if (!answer.ok || answer.redirected) return false;
    let changed = false;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    // The number of new runs stands before the title until they are shown.
    document.title = `${/^\(\d+\) |^/.exec(document.title)[0]}${page.title}`;
    for (const fresh of page.querySelectorAll("[data-part]")) {
      const old = document.getElementById(fresh.id);
      const text = fresh.outerHTML;
      if (!old || read.get(fresh.id) === text) continue;
      changed = true;
      read.set(fresh.id, text);
      renew(old, fresh);
    }
    return changed;
  }

  /** Reads the page anew now and then, more seldom while nothing changes. Hidden pages read nothing. */
  function poll(live) {
    const [pill, link, button] = live.children;
    let paused = false;
    let wait = 1000;
    function show() {
      pill.className = `pill ${paused ? "idle" : "ok"}`;
      pill.children[0].textContent = paused ? "–" : "●";
      pill.children[1].textContent = paused ? "Paused" : "Live";
      button.textContent = paused ? "Resume" : "Pause";
    }
    async function turn() {
      if (!paused && !document.hidden) {
        const changed = await reread().catch(() => false);
        wait = changed ? 1000 : Math.min(wait * 1.5, 15000);
      }
      setTimeout(turn, wait);
    }
    button.addEventListener("click", () => {
      paused = !paused;
      wait = 1000;
      show();
    });
    for (const part of document.querySelectorAll("[data-part]")) read.set(part.id, part.outerHTML);
    link.hidden = true;
    button.hidden = false;
    show();
    setTimeout(turn, wait);
  }

  // Browsers open six connections to a server that does not speak HTTP/2. Streams of all pages together leave some.
  const places = ["sv-stream-1", "sv-stream-2", "sv-stream-3", "sv-stream-4"];

  /** Takes a place for a stream among all open pages. It returns what gives the place back, or nothing if none is free. */
  async function takePlace() {
    // Without encryption pages cannot count each other, so none keeps a connection.
    for (const name of navigator.locks ? places : []) {
      const free = await new Promise((taken) => {
        navigator.locks.request(name, { ifAvailable: true }, (lock) => (lock ? new Promise((free) => taken(free)) : taken()));
      });
      if (free) return free;
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
    let opening = false;
    let free;

    function show(tone, mark, text) {
      pill.className = `pill ${tone}`;
      sign.textContent = mark;
      state.textContent = text;
      link.hidden = text !== "Not live" && text !== "Signed out";
      button.hidden = !link.hidden;
      button.textContent = paused ? "Resume" : "Pause";
    }

    function close() {
      source?.close();
      source = undefined;
      free?.();
      free = undefined;
    }

    /** The session has ended, or the membership. */
    function leave() {
      over = true;
      close();
      show("warn", "!", "Signed out");
      link.textContent = "Sign in again";
    }

    /** Asks why the server has ended the stream for good. */
    async function explain() {
      close();
      show("idle", "–", "Not live");
      const answer = await fetch(`${address}&once=true`).catch(() => {});
      if (answer?.redirected || answer?.status === 401) leave();
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

    /** Opens a stream, or asks again and again while other pages have all places. */
    async function open() {
      if (source || opening || paused || over || document.hidden) return;
      opening = true;
      free = await takePlace();
      opening = false;
      if (paused || over || document.hidden) close();
      else connect();
    }

    /** Streams if a place has become free in the meantime. */
    async function improve() {
      const place = opening || (await takePlace());
      if (!place || place === true) return;
      if (free || !source) return place();
      source.close();
      free = place;
      connect();
    }

    function connect() {
      const query = (last ? `&last=${encodeURIComponent(last)}` : "") + (free ? "" : "&once=true");
      let answered = false;
      source = new EventSource(address + query);
      source.onopen = () => {
        answered = true;
        show("ok", "●", "Live");
      };
      source.onerror = () => {
        if (source.readyState === EventSource.CLOSED) return explain();
        if (free || !answered) show("warn", "!", "Reconnecting");
        answered = false;
        if (!free) improve();
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
      source.addEventListener("expired", (event) => {
        hear(event);
        leave();
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

  const polled = document.querySelector("[data-poll]");
  if (polled) poll(polled);
  const live = document.querySelector("[data-live]");
  if (live) follow(live, document.body.dataset.events);
})();

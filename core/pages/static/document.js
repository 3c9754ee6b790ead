// Moves through a document without loading the page anew, and with the keys n and p. Without it the links do.
"use strict";

(() => {
  const status = document.getElementById("status");

  /** Puts the part of the document that an address shows in place of the one that the page has. */
  async function show(address, remember) {
    const answer = await fetch(address);
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const fresh = page.getElementById("document");
    const old = document.getElementById("document");
    if (!answer.ok || answer.redirected || !fresh || !old) return location.assign(address);
    old.replaceWith(fresh);
    if (remember) history.pushState(null, "", address);
    const line = document.getElementById(new URL(address, location.href).hash.slice(1));
    (line ?? fresh).scrollIntoView({ block: line && line !== fresh ? "center" : "start" });
    status.textContent = [...fresh.querySelectorAll(".here .notes, .here + .note .notes")].map((n) => n.textContent).join(" ")
      || fresh.querySelector(".docnav p").textContent;
    fresh.tabIndex = -1;
    fresh.focus({ preventScroll: true });
  }

  if (!document.getElementById("document")) return;

  document.addEventListener("click", (event) => {
    const link = event.target.closest("#document a[data-window], #document .map a");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    show(link.getAttribute("href"), true);
  });
  addEventListener("popstate", () => show(location.href, false));

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select")) return;
    if (!("shortcut" in document.body.dataset)) return;
    document.querySelector(`#document [data-key="${CSS.escape(event.key)}"]`)?.click();
  });
})();

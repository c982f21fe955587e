// Four small things that a page of HTML cannot do: times in the viewer's zone, times that pass, keys, and asking again when the store changed.
// Without this file every page works; its times are UTC.
"use strict";
(() => {
  // Times. The server writes UTC and an exact instant beside it.
  const CALM = 18 * 3600e3;
  const near = new Intl.DateTimeFormat("en-GB", {hour: "2-digit", minute: "2-digit", second: "2-digit"});
  const far = new Intl.DateTimeFormat("en-GB", {day: "2-digit", month: "short", hour: "2-digit", minute: "2-digit"});
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  let ahead = 0; // how much the server's clock is ahead of this one

  function duration(ms) {
    const seconds = ms / 1000;
    for (const [unit, size] of [["d", 86400], ["h", 3600], ["min", 60]]) {
      if (seconds >= 2 * size) return `${Math.round(seconds / size)} ${unit}`;
    }
    if (seconds >= 10) return `${Math.round(seconds)} s`;
    return seconds >= 1 ? `${seconds.toFixed(1)} s` : `${Math.round(ms)} ms`;
  }
  function write(element, text) {
    if (element.textContent !== text) element.textContent = text;
  }
  function showClocks(part) {
    for (const element of part.querySelectorAll("time[data-clock]")) {
      const moment = new Date(element.dateTime);
      const format = Math.abs(Date.now() + ahead - moment) < CALM ? near : far;
      write(element, format.format(moment).replace(",", ""));
    }
    for (const element of part.querySelectorAll("[data-zone]")) write(element, `Times are in ${zone}`);
    for (const element of part.querySelectorAll("[data-zone-name]")) write(element, zone);
    for (const element of part.querySelectorAll("[data-zone-value]")) element.value = zone;
  }
  function moveTimes(part) {
    const now = Date.now() + ahead;
    for (const element of part.querySelectorAll("time[data-ago]")) {
      const age = now - new Date(element.dateTime);
      if (age >= 2000) write(element, duration(age));
    }
    for (const element of part.querySelectorAll("time[data-due]")) {
      const left = new Date(element.dateTime) - now;
      write(element, left > 0 ? `in ${duration(left)}` : "now");
    }
  }

  // Asking again. The page stays as it is while somebody types in it or has a dialog open.
  let wanted = false;
  const live = () => document.getElementById("live");
  const here = () => location.pathname + location.search;
  function isBusy() {
    return document.querySelector("[popover]:popover-open") || live().querySelector(":is(input, textarea, select):focus");
  }
  function refresh() {
    if (isBusy()) wanted = true;
    else {
      wanted = false;
      htmx.ajax("GET", here(), {target: "#live", select: "#live", swap: "outerMorph", refreshes: true});
    }
  }
  document.addEventListener("htmx:before:swap", (event) => {
    const {ctx: {refreshes, request}, tasks} = event.detail;
    if (refreshes && (request.action !== here() || isBusy())) {
      event.preventDefault(); // somebody has gone on since the page asked for itself
      refresh();
      return;
    }
    for (const {fragment} of tasks) { showClocks(fragment); moveTimes(fragment); } // before it is seen, so that no time flickers
  });
  for (const name of ["changed", "tick"]) document.addEventListener(name, (event) => event.target.id === "wire" && refresh());
  for (const name of ["toggle", "focusout"]) {
    document.addEventListener(name, () => setTimeout(() => wanted && !isBusy() && refresh(), 100), true);
  }
  function wire(is_on) {
    for (const element of document.querySelectorAll("[data-wire]")) {
      element.dataset.wire = is_on ? "on" : "lost";
      write(element.querySelector("[data-wire-text]"), is_on ? "Live" : "Not connected");
    }
  }
  document.addEventListener("htmx:sse:error", () => wire(false));
  document.addEventListener("htmx:error", (event) => {
    if (event.target.id !== "wire") return;
    wire(false); // the first connection failed; later ones are renewed by the extension itself
    setTimeout(() => htmx.trigger("#wire", "connect"), 5000);
  });
  document.addEventListener("htmx:sse:after:connection", () => wire(true));
  document.addEventListener("htmx:config:request", (event) => {
    const body = event.detail.ctx.request.body; // addresses stay short: what was not filled in is not sent
    if (body instanceof FormData) for (const [name, value] of [...body]) if (value === "") body.delete(name);
  });

  // Keys.
  function move(by) {
    const rows = [...document.querySelectorAll("main [data-row]")].map((row) => row.matches("summary") ? row : row.querySelector("a")).filter(Boolean);
    const at = rows.indexOf(document.activeElement?.closest("a, summary"));
    const next = rows[at < 0 ? (by > 0 ? 0 : rows.length - 1) : Math.min(rows.length - 1, Math.max(0, at + by))];
    next?.focus();
    next?.scrollIntoView({block: "nearest"});
  }
  const keys = {
    "/": () => (document.querySelector("main [data-search]") ?? document.querySelector("[data-search]"))?.focus(),
    j: () => move(1),
    k: () => move(-1),
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const typing = event.target.matches?.("input:not([type=checkbox]), textarea, select");
    if (typing && event.key === "Escape") event.target.blur();
    if (typing || !keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
  });

  const said = document.querySelector("meta[name=now]");
  if (said) ahead = new Date(said.content) - Date.now();
  showClocks(document);
  setInterval(() => moveTimes(document), 1000);
})();

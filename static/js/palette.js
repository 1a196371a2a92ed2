// The palette: a dialog that is fetched when it is first opened. The input keeps the focus, the rows are links.
"use strict";

const PAUSE = 10; // ms without a key before the rows are asked for
let styled = null;

function withStyle(address) {
  styled ??= new Promise((done) => {
    const link = Object.assign(document.createElement("link"), { rel: "stylesheet", href: address, onload: done, onerror: done });
    document.head.append(link);
  });
  return styled;
}

async function fetched(address, signal) {
  const answer = await fetch(address, { signal, headers: { Accept: "text/html" } });
  if (!answer.ok || answer.redirected) throw new Error("not here");
  return new DOMParser().parseFromString(await answer.text(), "text/html");
}

// What was opened lately, as addresses; the server names them, and leaves out what is gone or not for this reader.
function recent(key) {
  try { return JSON.parse(localStorage.getItem(key) || "[]").filter((path) => path !== location.pathname).slice(0, 8); } catch { return []; }
}

export async function open(link, early = []) {
  const { palette, paletteStyle, recentKey } = link.dataset;
  const lately = recent(recentKey).map((path) => ["recent", path]);
  const address = (typed, part) => `${palette}?${new URLSearchParams([["q", typed], ...lately, ...(part ? [["part", "1"]] : [])])}`;
  let page;
  try {
    [page] = await Promise.all([fetched(address("", false)), withStyle(paletteStyle)]);
  } catch {
    location.href = link.href; // signed out, or the hub is away: the page of search says so
    return;
  }
  if (document.querySelector("dialog[open]")) return;
  const dialog = document.adoptNode(page.querySelector("dialog"));
  document.body.append(dialog);
  dialog.showModal(); // everything behind it is inert
  const input = dialog.querySelector("input");
  input.focus();
  run(dialog, input, address);
  for (const key of early) {
    if (key === "Enter") { dialog.querySelector("form").requestSubmit(); return; }
    input.value = key === "Backspace" ? input.value.slice(0, -1) : input.value + key;
  }
  if (input.value) input.dispatchEvent(new Event("input"));
}

function run(dialog, input, address) {
  let asked = Promise.resolve(), timer = 0, waiting = null, shown = input.value;
  const options = () => [...dialog.querySelectorAll("[role=option]")];
  const chosen = () => options().find((one) => one.ariaSelected === "true" || one.getAttribute("aria-selected") === "true");

  function choose(option) {
    for (const one of options()) one.setAttribute("aria-selected", String(one === option));
    if (option) { input.setAttribute("aria-activedescendant", option.id); option.scrollIntoView({ block: "nearest" }); }
    else input.removeAttribute("aria-activedescendant");
  }

  async function renew() {
    waiting?.abort();
    waiting = new AbortController();
    const typed = input.value;
    try {
      const page = await fetched(address(typed, true), waiting.signal);
      dialog.querySelector(".list").replaceWith(document.adoptNode(page.querySelector(".list")));
      shown = typed;
      choose(chosen());
    } catch (error) {
      if (error.name !== "AbortError") dialog.querySelector("form").submit();
    }
  }

  input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => { asked = renew(); }, PAUSE);
  });

  dialog.addEventListener("keydown", (event) => {
    if (event.isComposing) return;
    if (event.key === "Escape") { event.preventDefault(); dialog.close(); return; } // else a search field is emptied first
    const step = { ArrowDown: 1, ArrowUp: -1, n: event.ctrlKey && 1, p: event.ctrlKey && -1 }[event.key];
    if (step) {
      event.preventDefault();
      const all = options(), at = all.indexOf(chosen());
      choose(all[at < 0 && step < 0 ? all.length - 1 : (at + step + all.length) % all.length]);
    }
    if (event.key === "Home" && event.ctrlKey) choose(options()[0]);
    if (event.key === "End" && event.ctrlKey) choose(options().at(-1));
  });

  // Enter opens the chosen row of what is typed now, also where its rows have not come yet.
  dialog.querySelector("form").addEventListener("submit", async (event) => {
    event.preventDefault();
    clearTimeout(timer);
    await asked;
    if (shown !== input.value) await renew();
    const option = chosen();
    if (option) follow(option.href);
  });

  function follow(address) {
    dialog.close();
    const to = new URL(address);
    location.assign(to);
  }

  dialog.addEventListener("click", (event) => {
    if (event.target === dialog || event.target.closest("[data-close]")) dialog.close();
    if (event.target.closest(".opt") && !event.ctrlKey && !event.metaKey) dialog.close();
  });
  dialog.addEventListener("close", () => { waiting?.abort(); clearTimeout(timer); dialog.remove(); });
  choose(chosen());
}

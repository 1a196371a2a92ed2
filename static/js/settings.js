// Settings: what a form would change, and lists that are put in order by dragging or by keys. Buttons do the same without this script.
"use strict";
(() => {
  // ---- "Changed: …" beside the button of a form with data-changes ----
  const labelOf = (control) => {
    if (control.type === "radio") return control.closest("fieldset")?.querySelector("legend")?.textContent.trim();
    return control.labels?.[0]?.firstChild?.textContent.trim() || control.getAttribute("aria-label");
  };
  const words = (control, before) => {
    if (control.tagName === "SELECT") {
      const chosen = [...control.options].find((one) => (before ? one.defaultSelected : one.selected)) || control.options[0];
      return chosen?.textContent.trim();
    }
    if (control.type === "radio") {
      const all = [...control.form.elements[control.name]];
      return all.find((one) => (before ? one.defaultChecked : one.checked))?.parentElement.querySelector("b")?.textContent;
    }
    if (control.type === "checkbox") return "";
    return control.tagName === "TEXTAREA" ? "" : before ? control.defaultValue : control.value;
  };
  const differs = (control) => {
    if (!control.name || control.type === "hidden") return false;
    if (control.tagName === "SELECT") return words(control, true) !== words(control, false);
    if (control.type === "radio") return control.checked && !control.defaultChecked;
    if (control.type === "checkbox") return control.checked !== control.defaultChecked;
    return control.value !== control.defaultValue;
  };
  const tell = (form) => {
    const place = form.querySelector("[data-changed]");
    if (!place) return;
    const changes = [...form.elements].filter(differs).map((control) => {
      const [before, after] = [words(control, true), words(control, false)];
      return before && after ? `${labelOf(control)}, ${before} → ${after}` : labelOf(control);
    });
    place.textContent = changes.length ? `${place.dataset.changed} ${changes.join("; ")}` : "";
  };
  document.addEventListener("input", (event) => { const form = event.target.form?.closest("[data-changes]"); if (form) tell(form); });
  document.addEventListener("reset", (event) => setTimeout(() => tell(event.target)));

  // The list comes back from the server, perhaps more than once: where that takes the focus, the row that moved gets it back.
  let moved = "";
  document.addEventListener("htmx:afterSettle", () => {
    if (moved && !document.activeElement?.matches("input, a, button")) document.getElementById(moved)?.focus();
  });
  document.addEventListener("pointerdown", () => { moved = ""; });

  // ---- sorted lists: a move is one of the list's own buttons, with another place in it ----
  const rows = (list) => [...list.children];
  function move(list, row, to) {
    const at = rows(list).indexOf(row);
    if (to === at || to < 0 || to >= rows(list).length) return;
    const inputs = list.querySelectorAll("input[data-place]");
    if (inputs.length) { reorder(list, row, to); return; }
    const button = row.querySelector(to < at ? "[data-move=up]" : "[data-move=down]");
    const first = Number(list.querySelector("[data-place]").dataset.place);
    button.value = first + to;
    moved = row.querySelector(".drag").id;
    button.click();
  }
  // A list that is saved as a whole: its rows change places, and the numbers in them follow.
  function reorder(list, row, to) {
    const others = rows(list).filter((one) => one !== row);
    list.insertBefore(row, others[to] || null);
    rows(list).forEach((one, place) => {
      one.querySelector("input[data-place]").value = place + 1;
      const [up, down] = [one.querySelector("[data-move=up]"), one.querySelector("[data-move=down]")];
      if (up) up.disabled = place === 0;
      if (down) down.disabled = place === others.length;
    });
    list.dispatchEvent(new Event("input", { bubbles: true }));
    row.querySelector(".drag").focus();
  }
  document.addEventListener("click", (event) => {
    const button = event.target.closest("button[type=button][data-move]");
    const list = button?.closest("[data-sortable]");
    if (!list) return;
    const row = button.closest("li");
    reorder(list, row, rows(list).indexOf(row) + (button.dataset.move === "up" ? -1 : 1));
  });
  document.addEventListener("keydown", (event) => {
    const handle = event.target.closest?.(".drag");
    const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (!handle || !step) return;
    event.preventDefault();
    const [list, row] = [handle.closest("[data-sortable]"), handle.closest("li")];
    move(list, row, rows(list).indexOf(row) + step);
  });

  let dragged = null;
  const clear = () => document.querySelectorAll(".drop-before, .drop-after").forEach((one) => one.classList.remove("drop-before", "drop-after"));
  const under = (event) => rows(dragged.parentElement).find((one) => {
    const box = one.getBoundingClientRect();
    return event.clientY >= box.top && event.clientY < box.bottom;
  });
  document.addEventListener("pointerdown", (event) => {
    const handle = event.target.closest?.("[data-sortable] .drag");
    if (!handle || event.button) return;
    dragged = handle.closest("li");
    dragged.classList.add("dragged");
    handle.setPointerCapture(event.pointerId);
  });
  document.addEventListener("pointermove", (event) => {
    if (!dragged) return;
    clear();
    const row = under(event);
    if (!row || row === dragged) return;
    const all = rows(dragged.parentElement);
    row.classList.add(all.indexOf(row) < all.indexOf(dragged) ? "drop-before" : "drop-after");
  });
  const drop = (event) => {
    if (!dragged) return;
    const [row, list] = [dragged, dragged.parentElement];
    const target = event.type === "pointerup" ? under(event) : null;
    dragged = null;
    row.classList.remove("dragged");
    clear();
    if (target && target !== row) move(list, row, rows(list).indexOf(target));
  };
  document.addEventListener("pointerup", drop);
  document.addEventListener("pointercancel", drop);
})();

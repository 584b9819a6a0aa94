"use strict";
(() => {
  const errors = [];
  // Expressions are interpreted, not compiled, so that the page needs no eval.
  const options = { renderer: "svg", actions: false, ast: true };
  const draw = async (chart) => {
    const place = document.createElement("div");
    place.style.width = chart.dataset.wide === "yes" ? "100%" : "max-content";
    chart.append(place);
    try {
      await vegaEmbed(place, JSON.parse(chart.querySelector("script").textContent), options);
      chart.querySelector(".waiting").remove();
    } catch (error) {
      errors.push(error);
      place.remove();
      console.error(error);
    }
  };
  const charts = [...document.querySelectorAll(".chart")];
  const tell = () => {
    for (const chart of charts) {
      const wider = chart.scrollWidth > chart.clientWidth + 1;
      chart.parentElement.querySelector(".wider").hidden = !wider;
      // So that the keyboard scrolls it too.
      if (wider) chart.tabIndex = 0;
      else chart.removeAttribute("tabindex");
    }
  };
  Promise.all(charts.map(draw)).then(() => {
    tell();
    // Vega draws again first.
    window.addEventListener("resize", () => setTimeout(tell, 200));
    document.documentElement.dataset.charts = errors.length ? "failed" : "drawn";
  });

  const compare = (first, second) => {
    const [a, b] = [first, second].map((cell) => ("value" in cell.dataset ? Number(cell.dataset.value) : null));
    if (a !== null && b !== null) return a - b;
    if (a !== null || b !== null) return a === null ? 1 : -1;
    return first.textContent.localeCompare(second.textContent, undefined, { numeric: true });
  };
  const sort = (head) => {
    const table = head.closest("table");
    const column = head.cellIndex;
    // Numbers begin with the highest, names with the first.
    const first = head.classList.contains("number") ? "descending" : "ascending";
    const other = first === "ascending" ? "descending" : "ascending";
    const order = head.getAttribute("aria-sort") === first ? other : first;
    for (const each of table.tHead.rows[0].cells) each.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", order);
    const sign = order === "ascending" ? 1 : -1;
    const rows = [...table.tBodies[0].rows];
    const isEmpty = (row) => row.cells[column].textContent === "";
    rows.sort((a, b) => isEmpty(a) - isEmpty(b) || sign * compare(a.cells[column], b.cells[column]));
    table.tBodies[0].append(...rows);
  };
  for (const head of document.querySelectorAll("table.sortable th")) {
    head.querySelector("button").addEventListener("click", () => sort(head));
  }
})();

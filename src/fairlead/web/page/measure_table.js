// The table of measures, which can be sorted by each of its columns.

const MEASURE_SCOPES = [
  ["queue", "queues"],
  ["user", "users"],
  ["kind", "kinds of work"],
  ["cluster", "the cluster"],
];

function measuresSection(report) {
  const found = report.run.measures[report.scope];
  const place = element("div", {});
  const count = element("span", { class: "faint", role: "status" });
  const sorted = { key: null, isUp: true };
  const draw = () => {
    const sought = report.sought.trim().toLowerCase();
    const rows = found.rows.filter((each) => each.name.toLowerCase().includes(sought));
    count.textContent = sought ? `${rows.length} of ${found.rows.length}` : "";
    if (sorted.key !== null) rows.sort((one, other) => inOrder(report, one, other, sorted));
    const columns = report.page.columns.filter(
      ({ key }) =>
        !key.startsWith(WAIT_AT_LEAST) && // they are shown as the waits
        rows.some((each) => report.text(each, key) !== NOTHING),
    );
    const head = (key, title, meaning) =>
      element(
        "th",
        {
          scope: "col",
          "aria-sort": sorted.key === key ? (sorted.isUp ? "ascending" : "descending") : null,
          title: meaning,
        },
        element(
          "button",
          {
            type: "button",
            onclick: () => {
              sorted.isUp = sorted.key === key ? !sorted.isUp : key === "";
              sorted.key = key;
              draw();
              place.querySelector("[aria-sort] button").focus();
            },
          },
          title,
        ),
      );
    const unitOf = (column) =>
      column.form === "amount-time" ? column.title + " (" + report.unit + " hours)" : column.title;
    place.replaceChildren(
      table(
        [
          head("", "Name", "by name"),
          ...columns.map((column) => head(column.key, unitOf(column), column.meaning)),
        ],
        rows.map((each) =>
          row([
            nameOf(report, each.name),
            ...columns.map((column) => report.text(each, column.key)),
          ]),
        ),
        "Table of measures",
      ),
    );
  };
  draw();
  place.className = "tall";
  const scopes = choice(
    "choose-scope",
    "Of",
    MEASURE_SCOPES.filter(([scope]) => report.run.measures[scope].rows.length),
    report.scope,
    (scope) => report.choose({ scope }),
  );
  return element(
    "section",
    {},
    element("h2", {}, "Measures"),
    element(
      "p",
      { class: "faint" },
      `Of ${report.resource} where a measure is about a resource.`,
      onScreen(" Click on a title to sort, on a queue to see it over time."),
      found.left_out
        ? ` The ${found.rows.length} that got most; ${found.left_out} more are in measures.csv.`
        : "",
    ),
    element("div", { class: "toolbar" }, scopes, searchBox(report, draw), count),
    place,
  );
}

/** A name; that of a queue shows it by itself. */
function nameOf(report, name) {
  if (report.scope === "cluster") return "cluster";
  if (!name) return "(none)";
  if (report.scope !== "queue") return name;
  const pick = () => {
    report.choose({ queue: report.placeOf(name) });
    document.getElementById("picked-queue").scrollIntoView({ block: "center" });
  };
  return element("button", { type: "button", onclick: pick }, name);
}

/** A box for a part of a name, which leaves only the rows that have it. */
function searchBox(report, draw) {
  const box = element("input", {
    id: "search",
    type: "search",
    value: report.sought,
    oninput: () => {
      report.sought = box.value;
      draw();
    },
  });
  return element("label", {}, "Search by name", box);
}

/** Numbers by size, names by letters; what is not defined comes last either way. */
function inOrder(report, one, other, { key, isUp }) {
  const [a, b] =
    key === "" ? [one.name, other.name] : [report.shown(one, key), report.shown(other, key)];
  const [hasA, hasB] = [a !== null && a !== undefined, b !== null && b !== undefined];
  if (!hasA || !hasB) return hasA === hasB ? 0 : hasA ? -1 : 1;
  return (a < b ? -1 : a > b ? 1 : 0) * (isUp ? 1 : -1);
}

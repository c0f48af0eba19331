// What queues held over time: all on each other, each against its due, and their past use.

const KEYS =
  "Drag over a picture to look closer, double-click for the whole time. " +
  "With the keyboard: arrows move the cursor, + and \u2212 zoom, 0 shows all.";

/** A picture of *lines* with their names and values, and the same as a table. */
function chartOf(report, lines, caption, { ownTop, ...shape }) {
  const chart = new TimeChart(report.view, { label: caption + ". " + KEYS, lines, ...shape });
  return element(
    "figure",
    {},
    ownTop ? scaleSwitch(chart, "these queues", null, ownTop) : null,
    chart.svg,
    legendOf(report.view, lines, chart),
    linesAsTable(report.view, lines, caption),
  );
}

function heldSection(report, members) {
  const capacity = report.run.capacity[report.resource];
  const areas = members.map((member) => ({
    name: member.name,
    shade: member.shade,
    kind: "area",
    values: member.lines.allocated,
  }));
  const due = capacity.map((_, at) =>
    members.reduce((sum, member) => sum + (member.lines.entitled?.[at] ?? 0), 0),
  );
  const lines = [
    ...areas,
    { name: "due in all", kind: "due", swatch: "due", values: due },
    { name: "capacity", kind: "limit", swatch: "dashed", values: capacity },
  ];
  const held = capacity.map((_, at) =>
    areas.reduce((sum, area) => sum + (area.values?.[at] ?? 0), 0),
  );
  const ownTop = Math.max(...held, ...due);
  const caption = "What queues held over time, in " + report.units(2);
  return element(
    "section",
    {},
    element("h2", {}, "What queues held over time"),
    element("p", { class: "faint" }, caption + ", stacked. ", onScreen(KEYS)),
    chartOf(report, lines, caption, { height: 280, ticks: 5, ownTop }),
  );
}

const DUE_KINDS = ["allocated", "entitled", "fair_share"];

/** One queue against its due. With *top* it shares a scale, and a switch gives it its own. */
function dueFigure(report, member, top, hasFair) {
  const lines = [
    { name: "got", kind: "area", shade: member.shade, values: member.lines.allocated },
    { name: "fair share of the rules", kind: "fair", values: member.lines.fair_share },
    { name: "due", kind: "due", values: member.lines.entitled },
  ];
  const label = member.name + ": what it held against what was due";
  const chart = new TimeChart(report.view, {
    label: label + ". " + KEYS,
    lines,
    height: 150,
    top,
    ticks: 3,
  });
  const words = element("p", { class: "faint" });
  const update = () => {
    const [got, fair, due] = lines.map((line) => numberText(report.view.read(line.values)));
    words.textContent =
      `got ${got}, due ${due}` +
      (hasFair ? `, fair share ${fair} ` : " ") +
      report.view.readTitle();
  };
  report.view.watch(update);
  update();
  return element(
    "figure",
    {},
    element(
      "h3",
      {},
      element("span", { class: "swatch " + member.shade }),
      member.name,
      top === null ? null : scaleSwitch(chart, member.name, top, null),
    ),
    words,
    chart.svg,
  );
}

/** A button that gives a picture a scale of its own, on which a small queue is visible. */
function scaleSwitch(chart, name, sharedTop, ownTop) {
  const button = element(
    "button",
    {
      type: "button",
      class: "scale-switch",
      "aria-pressed": "false",
      "aria-label": "Own scale for " + name,
      onclick: () => {
        const isOwn = button.getAttribute("aria-pressed") === "false";
        button.setAttribute("aria-pressed", String(isOwn));
        chart.scaleTo(isOwn ? ownTop : sharedTop);
      },
    },
    "own scale",
  );
  return button;
}

/** The queue that was picked by its name, on a scale of its own. */
function queueSection(report) {
  const at = report.queue;
  if (at === null) return null;
  const { name } = report.run.queues[at];
  const lines = (report.run.lines[at] || {})[report.resource];
  const hasFair = Boolean(lines && lines.fair_share);
  const member = { name, shade: "q0", lines };
  return element(
    "section",
    { id: "picked-queue" },
    element("h2", {}, "The queue " + name),
    lines
      ? dueFigure(report, member, null, hasFair)
      : element(
          "p",
          {},
          "There are too many queues for a picture of each; series.csv of the result has it.",
        ),
    element(
      "div",
      { class: "buttons" },
      element("button", { type: "button", onclick: () => report.choose({ queue: null }) }, "Close"),
    ),
  );
}

function dueSection(report, members) {
  const top = Math.max(
    ...members.flatMap((member) =>
      DUE_KINDS.map((kind) => Math.max(0, ...(member.lines[kind] || [0]))),
    ),
  );
  const hasFair = members.some((member) => member.lines.fair_share);
  const figures = members.map((member) => dueFigure(report, member, top, hasFair));
  const key = element(
    "ul",
    { class: "legend" },
    element("li", { class: "q0" }, element("span", { class: "swatch" }), "what it held"),
    element(
      "li",
      {},
      element("span", { class: "swatch due" }),
      "what was due to it: one yardstick for all rules",
    ),
    hasFair
      ? element(
          "li",
          {},
          element("span", { class: "swatch dotted" }),
          "its fair share by the rules themselves, looked at now and then",
        )
      : null,
  );
  return element(
    "section",
    {},
    element("h2", {}, "Each queue against what was due to it"),
    element(
      "p",
      { class: "faint" },
      report.units(2) +
        " on one scale, or each on its own. Below the line a queue had less than its due, above it what others left.",
    ),
    key,
    element("div", { class: "small" }, figures),
  );
}

function pastUseSection(report, members) {
  const lines = members.map((member) => ({
    name: member.name,
    shade: member.shade,
    kind: "line",
    swatch: "line",
    values: member.lines.usage,
  }));
  if (!lines.some((line) => line.values)) return null;
  const caption = "Past use that counts, in percent of the cluster";
  return element(
    "section",
    {},
    element("h2", {}, "Past use"),
    element(
      "p",
      { class: "faint" },
      caption + ": who used more of late is due less of what is left over.",
    ),
    chartOf(report, lines, caption, { height: 180, ticks: 4 }),
  );
}

// Evictions, moves and node losses on the time line, the details of the one that was picked, and
// all in a table.

const MOST_LISTED = 200;
const CAUSES = {
  evicted: ["was evicted", "eviction"],
  moved: ["was moved", "move"],
  "node-lost": ["lost its node", "node loss", "node losses"],
};

function evictionsSection(report, members) {
  const { run } = report;
  const listed = run.evictions;
  const title = element("h2", {}, "Evictions, and why");
  if (!listed.total) return element("section", {}, title, element("p", {}, "There were none."));
  const memberOf = report.memberOf(members);
  const lanes = members.map((member) => ({ name: member.name, shade: member.shade, marks: [] }));
  const elsewhere = { name: "other queues", shade: "others", marks: [] };
  listed.at_ms.forEach((_, mark) => {
    const place = memberOf(listed.queue[mark]);
    (place === null ? elsewhere : lanes[place]).marks.push(mark);
  });
  const filled = [...lanes, elsewhere].filter((lane) => lane.marks.length);
  const atMs = listed.at_ms.map((at) => run.start_ms + at);
  const details = element(
    "div",
    { class: "eviction-details", "aria-live": "polite", id: "eviction-details" },
    element("p", { class: "on-screen" }, "Pick a mark to see why."),
    element(
      "p",
      { class: "on-screen faint" },
      "Click on a mark, or go through them with the arrow keys or the buttons.",
    ),
  );
  const chart = new EvictionLanes(report.view, filled, atMs, (mark) =>
    details.replaceChildren(...detailsOf(report, mark, chart.order.indexOf(mark), chart.order.length)),
  );
  const buttons = element(
    "div",
    { class: "buttons" },
    element("button", { type: "button", onclick: () => chart.go(-1) }, "Previous"),
    element("button", { type: "button", onclick: () => chart.go(1) }, "Next"),
  );
  const causes = Object.entries(CAUSES)
    .map(([cause, [, ...names]]) => [listed.cause.filter((each) => each === cause).length, names])
    .filter(([count]) => count)
    .map(([count, names]) => plural(count, ...names))
    .join(", ");
  const count =
    listed.at_ms.length < listed.total
      ? numberText(listed.at_ms.length) +
        " of " +
        numberText(listed.total) +
        " are shown, spread evenly over time; evictions.csv of the result has all of them."
      : plural(listed.total, "time") + " pods of a job were evicted, moved or lost: " + causes + ".";
  return element(
    "section",
    {},
    title,
    element("p", { class: "faint" }, count + " Each mark is one."),
    element("figure", {}, chart.svg),
    details,
    buttons,
    evictionTable(report, atMs, chart),
  );
}

function detailsOf(report, mark, place, count) {
  const { run } = report;
  const listed = run.evictions;
  const [verb] = CAUSES[listed.cause[mark]];
  const queue = listed.queue[mark] === null ? "" : " of " + run.queues[listed.queue[mark]].name;
  return [
    element(
      "p",
      {},
      element("b", {}, listed.job[mark]),
      queue +
        " " +
        verb +
        " (" +
        plural(listed.pods[mark], "pod") +
        ") at " +
        momentText(run.start_ms + listed.at_ms[mark], run.start_ms) +
        (listed.beneficiary[mark] ? ", for " : "."),
      listed.beneficiary[mark] ? element("b", {}, listed.beneficiary[mark]) : null,
      listed.beneficiary[mark] ? "." : null,
    ),
    element("p", {}, "Why: " + listed.sentences[listed.why[mark]]),
    element("p", { class: "faint" }, numberText(place + 1) + " of " + numberText(count)),
  ];
}

function evictionTable(report, atMs, chart) {
  const { run, view } = report;
  const listed = run.evictions;
  const queueOf = (mark) =>
    listed.queue[mark] === null ? NOTHING : run.queues[listed.queue[mark]].name;
  const line = (mark) =>
    row([
      momentText(atMs[mark], run.start_ms),
      textCell(listed.job[mark]),
      textCell(queueOf(mark)),
      numberText(listed.pods[mark]),
      textCell(listed.cause[mark]),
      textCell(listed.beneficiary[mark] || NOTHING),
      element("td", { class: "long" }, listed.sentences[listed.why[mark]]),
    ]);
  const texts = (...titles) => titles.map((title) => textHead(title));
  const heads = ["When", ...texts("Job", "Queue"), "Pods", ...texts("Cause", "For", "Why")];
  return asTable(view, () => {
    const shown = chart.order.filter((mark) => view.isShown(atMs[mark]));
    const left = `The first ${MOST_LISTED} of ${shown.length} in the time that is shown.`;
    return [
      shown.length > MOST_LISTED ? element("p", { class: "faint" }, left) : null,
      table(heads, shown.slice(0, MOST_LISTED).map(line), "Evictions"),
    ];
  });
}

// What each queue got and what was due: a table with a bar for each queue.

function sharesSection(report, members) {
  const { run } = report;
  const hours = (run.end_ms - run.start_ms) / HOUR_MS || 1;
  const facts = members.map((member) => {
    const sum = (key) =>
      member.queues.reduce((total, at) => total + (report.measure(at, key) || 0), 0);
    return { member, got: sum("allocated") / hours, due: sum("entitled") / hours };
  });
  const top = 1.02 * Math.max(...facts.map((each) => Math.max(each.got, each.due)), 1e-9);
  const rows = facts.map(({ member, got, due }) => {
    const ratio = member.at === null ? null : report.measure(member.at, "received_to_entitled");
    const waits = (key) => (member.at === null ? NOTHING : report.measureText(member.at, key));
    const evictions = member.queues.reduce(
      (total, at) => total + (report.measure(at, "evicted") || 0),
      0,
    );
    return row([
      [element("span", { class: "swatch " + member.shade }), member.name],
      element("td", { class: "wide" }, shareBar(report, member, got, due, top)),
      numberText(got),
      numberText(due),
      element(
        "td",
        { class: ratio !== null && ratio !== undefined && ratio < 0.9 ? "behind" : null },
        percentText(ratio),
      ),
      waits("wait_p50"),
      waits("wait_p90"),
      numberText(evictions),
    ]);
  });
  const used = report.measure(null, "utilisation");
  const capacity = run.capacity[report.resource] || [];
  const has = report.view.average(capacity);
  const settings = Object.entries(run.settings)
    .map(([name, value]) => name + "=" + value)
    .join(", ");
  return element(
    "section",
    {},
    element("h2", {}, "Who got what, and what was due"),
    element(
      "p",
      {},
      "Rules ",
      element("b", {}, run.policy),
      run.variant === run.policy ? "" : " (" + run.variant + ")",
      settings ? " with " + settings : "",
      run.history
        ? `, after ${durationText(run.start_ms - run.history.begins_ms)} of past use ` +
            `(history ${run.history.sha256.slice(0, 8)})`
        : "",
      `, seed ${run.seed}, ${durationText(run.end_ms - run.start_ms)}`,
      run.start_ms < DAY_MS ? "" : " from " + momentText(run.start_ms, run.start_ms) + " UTC",
      `, ${plural(report.measure(null, "submitted"), "job")}. `,
      `The cluster has ${numberText(has)} ${report.units(has)}, of which `,
      element("b", {}, percentText(used)),
      " were in use. Averages over the whole time; the line across a bar is what was due.",
    ),
    table(
      [
        "Queue",
        textHead("Got, against what was due"),
        "Got",
        "Due",
        "Got of due while it waited",
        "Wait, p50",
        "Wait, p90",
        "Evictions",
      ],
      rows,
      "Who got what",
    ),
  );
}

function shareBar(report, member, got, due, top) {
  const filled = element("div", { class: "got " + member.shade });
  filled.style.width = (100 * got) / top + "%";
  const owed = element("div", { class: "owed" });
  owed.style.left = (100 * due) / top + "%";
  const amounts = `${numberText(got)} ${report.unit} on average, due were ${numberText(due)}`;
  const text = `${member.name} got ${amounts}`;
  return element(
    "div",
    { class: "bar", role: "img", "aria-label": text, title: text },
    filled,
    owed,
  );
}

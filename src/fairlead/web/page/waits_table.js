// How long jobs waited: a table with a small picture of the distribution for each queue.

const FEWEST_BINS = 5; // so that bars do not become walls
const BAR_TOP = 20;

function waitsSection(report, members) {
  const { run, page } = report;
  const ends = page.wait_edges_ms.map((edge) => durationText(edge));
  const none = ends.map(() => 0).concat(0);
  const lastUsed = run.waits[""].counts.findLastIndex((count) => count > 0);
  const shown = Math.max(FEWEST_BINS, lastUsed + 1);
  const line = (at, name, shade) => {
    const { counts } = run.waits[at === null ? "" : String(at)] || { counts: none };
    const words = waitsInWords(counts, ends);
    return row([
      [element("span", { class: "swatch " + shade }), name],
      element("td", { class: "wide" }, waitPicture(counts.slice(0, shown), words, name, shade)),
      ...["wait_p50", "wait_p90", "wait_p99", "wait_max"].map((key) => report.measureText(at, key)),
      numberText(report.measure(at, "unstarted")),
    ]);
  };
  const queues = members.filter((member) => member.at !== null);
  const rows = queues.map((member) => line(member.at, member.name, member.shade));
  rows.push(line(null, "all jobs", "q7"));
  const scale = Array.from({ length: shown }, (_, at) => (at % 2 ? ends[at - 1] : ""));
  const head = textHead(
    "How many jobs waited how long",
    element(
      "div",
      { class: "scale", "aria-hidden": "true" },
      scale.map((text) => element("span", {}, text)),
    ),
  );
  const quantiles = ["Half within (p50)", "90 % within (p90)", "99 % within (p99)", "Longest"];
  return element(
    "section",
    {},
    element("h2", {}, "How long jobs waited"),
    element(
      "p",
      { class: "faint" },
      "From submission to the first start. Bins grow from seconds to weeks; ",
      "each row has a scale of its own. A job that never started is in no bin; with \u2265 it counts ",
      "with its age at the end.",
    ),
    table(["Queue", head, ...quantiles, "Never started"], rows, "How long jobs waited"),
  );
}

/** Counts for readers who cannot see bars: "3 under 1s, 2 under 10s, 1 longer". */
function waitsInWords(counts, ends) {
  const words = counts.map(
    (count, at) => `${count} ${at < ends.length ? "under " + ends[at] : "longer"}`,
  );
  return words.filter((_, at) => counts[at]).join(", ") || "no job started";
}

/** A bar for each bin; the most frequent one fills the height. */
function waitPicture(counts, words, name, shade) {
  const most = Math.max(1, ...counts);
  const bars = counts.map((count, at) => {
    if (!count) return null;
    const height = Math.max(1, (BAR_TOP * count) / most);
    return drawn("rect", { x: at + 0.08, width: 0.84, y: BAR_TOP - height, height });
  });
  return drawn(
    "svg",
    {
      class: "bins " + shade,
      viewBox: `0 -1 ${counts.length} ${BAR_TOP + 1}`,
      preserveAspectRatio: "none",
      role: "img",
      "aria-label": `Waits of ${name}: ${words}`,
    },
    drawn("title", {}, words),
    drawn("line", { x1: 0, x2: counts.length, y1: BAR_TOP, y2: BAR_TOP }),
    bars,
  );
}

// Numbers and times as people read them. Everything is of fixed form, whatever the reader's locale.

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const NOTHING = "\u2013";
const AT_LEAST = "\u2265\u2009"; // before a lower bound
const WHERE_TO_READ =
  "What the measures mean is written in docs/reference/measures.md of Fairlead, " +
  "which made this file; it needs no network.";

/** Three digits that count, with thin spaces between thousands: 0.125, 12.5, 3 400. */
function numberText(value) {
  if (value === null || value === undefined) return NOTHING;
  if (value === 0) return "0";
  const size = Math.abs(value);
  const decimals = size >= 100 ? 0 : Math.min(9, 2 - Math.floor(Math.log10(size)));
  let text = size.toFixed(Math.max(0, decimals));
  if (text.includes(".")) text = text.replace(/0+$/, "").replace(/\.$/, "");
  const [whole, part] = text.split(".");
  const spaced = whole.replace(/\B(?=(\d{3})+$)/g, "\u2009");
  const sign = value < 0 && Number(text) !== 0 ? "\u2212" : "";
  return sign + spaced + (part === undefined ? "" : "." + part);
}

function percentText(part) {
  return part === null || part === undefined
    ? NOTHING
    : numberText(part * 100) + "\u2009%";
}

/** The two largest units of a length of time: 1d 4h, 3m 20s, 0.25s. */
function durationText(lengthMs) {
  if (lengthMs === null || lengthMs === undefined) return NOTHING;
  if (lengthMs < 0) {
    const text = durationText(-lengthMs);
    return text === "0s" ? text : "\u2212" + text;
  }
  const seconds = numberText(lengthMs / SECOND_MS);
  if (Number(seconds) < 60) return seconds + "s";
  const units = [
    ["m", MINUTE_MS, "s", SECOND_MS, HOUR_MS],
    ["h", HOUR_MS, "m", MINUTE_MS, DAY_MS],
    ["d", DAY_MS, "h", HOUR_MS, Infinity],
  ];
  const lesserOf = (lesserSize) => Math.floor(lengthMs / lesserSize + 0.5);
  // What is rounded up to a whole one of the next unit is written in that one.
  const [name, size, lesserName, lesserSize] = units.find(
    ([, , , lesser, below]) => lesserOf(lesser) * lesser < below,
  );
  const lesser = lesserOf(lesserSize);
  const whole = Math.floor((lesser * lesserSize) / size);
  const rest = lesser - (whole * size) / lesserSize;
  return whole + name + (rest ? " " + rest + lesserName : "");
}

/** A moment: in UTC, or since the start where a simulation begins at no date of its own. */
function momentText(atMs, startMs) {
  if (startMs < DAY_MS) return clockText(atMs - startMs);
  const date = new Date(atMs);
  const day = date.getUTCDate() + " " + MONTHS[date.getUTCMonth()] + " " + date.getUTCFullYear();
  return day + " " + clockText(((atMs % DAY_MS) + DAY_MS) % DAY_MS);
}

function clockText(sinceMs) {
  const two = (number) => String(number).padStart(2, "0");
  const days = Math.floor(sinceMs / DAY_MS);
  const hours = Math.floor(sinceMs / HOUR_MS) % 24;
  const clock = two(hours) + ":" + two(Math.floor(sinceMs / MINUTE_MS) % 60);
  const seconds = Math.floor(sinceMs / SECOND_MS) % 60;
  return (days ? days + "d " : "") + clock + (seconds ? ":" + two(seconds) : "");
}

function plural(count, one, many) {
  return numberText(count) + " " + (count === 1 ? one : many || one + "s");
}

/** A value of the table of measures in its form. */
function formText(form, value) {
  if (value === null || value === undefined) return NOTHING;
  if (form === "ms") return durationText(value);
  if (form === "percent") return percentText(value);
  if (form === "points") return numberText(value * 100) + " points";
  return numberText(value);
}

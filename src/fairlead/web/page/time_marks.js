// Where the marks of a time axis stand, and what is written at them.

const STEPS_MS = [1, 2, 5, 10, 15, 30]
  .map((each) => each * SECOND_MS)
  .concat(
    [1, 2, 5, 10, 15, 30].map((each) => each * MINUTE_MS),
    [1, 2, 3, 6, 12].map((each) => each * HOUR_MS),
    [1, 2, 7, 14, 28, 56, 91, 182, 364].map((each) => each * DAY_MS),
  );
const YEAR_MS = STEPS_MS[STEPS_MS.length - 1]; // a little less, in whole weeks
const WITH_YEAR_MS = 91 * DAY_MS; // steps so long show more than one year
const MARK_WIDTH = 74; // of a text, with what keeps it from the next
const WITH_YEAR_WIDTH = 96;

/** The marks between two moments, on an axis of *width*: each a moment and its text. */
function timeMarks({ startMs, fromMs, toMs }, width) {
  const step = timeStep((toMs - fromMs) / width);
  const isDated = startMs >= DAY_MS;
  if (isDated && step >= YEAR_MS) return yearMarks(fromMs, toMs, Math.round(step / YEAR_MS));
  const origin = isDated ? 0 : startMs;
  const marks = [];
  for (let at = origin + Math.ceil((fromMs - origin) / step) * step; at <= toMs; at += step)
    marks.push([at, isDated ? markText(at, step) : durationText(at - startMs)]);
  return marks;
}

/** How far apart marks are, so that no text meets the next. */
function timeStep(msOfPixel) {
  const isWide = (each) =>
    each >= msOfPixel * (each >= WITH_YEAR_MS && each < YEAR_MS ? WITH_YEAR_WIDTH : MARK_WIDTH);
  return STEPS_MS.find(isWide) || niceStep((msOfPixel * MARK_WIDTH) / YEAR_MS) * YEAR_MS;
}

/** The beginnings of years, of every one or of each that *years* divides. */
function yearMarks(fromMs, toMs, years) {
  const marks = [];
  const first = Math.ceil(new Date(fromMs).getUTCFullYear() / years) * years;
  for (let year = first; Date.UTC(year, 0, 1) <= toMs; year += years)
    if (Date.UTC(year, 0, 1) >= fromMs) marks.push([Date.UTC(year, 0, 1), String(year)]);
  return marks;
}

function markText(atMs, stepMs) {
  const date = new Date(atMs);
  const day = date.getUTCDate() + " " + MONTHS[date.getUTCMonth()];
  if (stepMs >= WITH_YEAR_MS) return day + " " + date.getUTCFullYear();
  return atMs % DAY_MS === 0 ? day : clockText(((atMs % DAY_MS) + DAY_MS) % DAY_MS);
}

/** The least step of 1, 2 or 5, times a power of ten, that is not below *rough*. */
function niceStep(rough) {
  const power = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].find((each) => each * power >= rough) * power;
}

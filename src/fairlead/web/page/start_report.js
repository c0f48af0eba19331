const report = new Report(JSON.parse(document.getElementById("document").textContent));
window.addEventListener("hashchange", () => report.follow());
report.follow();

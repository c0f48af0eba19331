new Report(JSON.parse(document.getElementById("document").textContent)).render();

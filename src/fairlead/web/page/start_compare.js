new ComparePage(JSON.parse(document.getElementById("document").textContent)).render();

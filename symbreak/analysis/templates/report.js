"use strict";
(function () {
  const specs = JSON.parse(document.getElementById("specs").textContent);
  const charts = [...document.querySelectorAll(".chart")];
  const LARGEST = 1.3; // times the natural size: charts fill their cards, but do not shout
  window.views = {};
  async function draw(element) {
    if (element.dataset.state) return;
    element.dataset.state = "drawing";
    const id = element.dataset.chart;
    try {
      const { title, ...spec } = specs[id]; // the card has the title already
      const result = await vegaEmbed(element, spec, {
        actions: { export: true, source: false, compiled: false, editor: false },
        renderer: "svg", downloadFileName: id });
      const svg = element.querySelector("svg.marks");
      svg.style.maxWidth = `${LARGEST * svg.viewBox.baseVal.width}px`;
      window.views[id] = result.view;
      element.dataset.state = "drawn";
    } catch (error) {
      element.dataset.state = "failed";
      console.error(id, error);
    }
  }
  // What is seen is drawn first, the rest when there is time.
  const observer = new IntersectionObserver((entries) => {
    for (const entry of entries) if (entry.isIntersecting) draw(entry.target);
  }, { rootMargin: "400px" });
  charts.forEach((element) => observer.observe(element));
  const idle = window.requestIdleCallback || ((work) => setTimeout(work, 50));
  async function drawNext() {
    const next = charts.find((element) => !element.dataset.state);
    if (next) { await draw(next); idle(drawNext); }
  }
  idle(drawNext);
}());

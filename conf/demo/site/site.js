"use strict";

// The line under the menu: load, level and savings, read from the status page every second.
(function () {
  const line = document.getElementById("live");
  const pause = 1000;

  function percent(share) {
    return Math.round(Number(share) * 100) + " %";
  }

  function bytes(count) {
    const units = ["B", "KB", "MB", "GB"];
    let value = Number(count);
    let unit = 0;
    while (value >= 1024 && unit < units.length - 1) {
      value /= 1024;
      unit += 1;
    }
    return value.toFixed(unit === 0 ? 0 : 1) + " " + units[unit];
  }

  function parse(text) {
    const values = {};
    text.split("\n").forEach(function (row) {
      const colon = row.indexOf(": ");
      if (colon > 0) {
        values[row.slice(0, colon)] = row.slice(colon + 2).trim();
      }
    });
    return values;
  }

  function show(values) {
    const saved = Number(values.ElasticBytesIn) - Number(values.ElasticBytesOut);
    line.textContent =
      "CPU " + percent(values.ElasticCPU) +
      ", gzip level " + values.ElasticLevelGzip +
      ", br level " + values.ElasticLevelBr +
      ", " + values.ElasticCompressed + " responses compressed" +
      ", " + bytes(saved) + " saved";
  }

  async function refresh() {
    try {
      const answer = await fetch("/elastic-status?auto", { cache: "no-store" });
      show(parse(await answer.text()));
    } catch (error) {
      line.textContent = "The status page does not answer: " + error.message;
    }
    setTimeout(refresh, pause);
  }

  if (line) {
    refresh();
  }
})();

#if Page
  /// The script of the page.
  ///
  /// It receives events, and inserts their content as text, never as markup.
  enum PageScript {
    static let text = #"""
      "use strict";
      const byID = (id) => document.getElementById(id);
      const empty = { rows: [], leftOut: 0 };
      const data = { sums: {}, types: empty, observers: empty, registrations: empty, posts: empty };
      // For each event the counts that came with it, for rates: what a few seconds have added.
      let history = [];
      let source = null;

      function element(name, text, kind) {
        const made = document.createElement(name);
        if (text !== undefined) made.textContent = text;
        if (kind) made.className = kind;
        return made;
      }

      const number = (value) => value.toLocaleString("en");

      function time(microseconds) {
        if (microseconds === undefined || microseconds === null) return "running";
        if (microseconds < 1e3) return microseconds.toFixed(1) + " µs";
        if (microseconds < 1e6) return (microseconds / 1e3).toFixed(1) + " ms";
        return (microseconds / 1e6).toFixed(2) + " s";
      }

      const words = () => byID("search").value.toLowerCase().split(/\s+/).filter((word) => word);
      const fits = (text) => words().every((word) => text.toLowerCase().includes(word));

      // What takes longer than a screen takes to show its next picture is marked.
      const frame = 16000;
      const marked = (text, isMarked) => [text, isMarked ? "number marked" : "number"];

      // Rows are arrays of cells; a cell is a text, or a text and its class.
      function fill(id, rows) {
        const made = [];
        for (const row of rows) {
          const cells = row.map((cell) => (Array.isArray(cell) ? cell : [cell, ""]));
          if (!fits(cells.map((cell) => cell[0]).join(" "))) continue;
          const line = element("tr");
          for (const [text, kind] of cells) line.append(element("td", text, kind));
          made.push(line);
        }
        byID(id).replaceChildren(...made);
        const count = rows.length + data[id].leftOut;
        byID(id + "-count").textContent =
          made.length === count ? count : made.length + " of " + count;
      }

      const losses = (row, names) =>
        names.map((name) => marked(number(row[name]), row[name] > 0 && name !== "skipped"));

      // Several sources may have one name.
      const key = (row) => row.sourceNumber + "\n" + row.type;

      // What a second has added on average, over the last three; empty while nothing is known, as of a
      // row that was not among those shown then.
      function rate(row, name) {
        if (history.length === 0) return "";
        const first = history[0];
        const before = first.rows.get(key(row));
        const seconds = (performance.now() - first.time) / 1000;
        if (seconds < 0.5 || !before) return "";
        return number(Math.round((row[name] - before[name]) / seconds));
      }

      function noteTypes() {
        const rows = new Map(data.types.rows.map((row) => [key(row), row]));
        history.push({ time: performance.now(), rows });
      }

      function forgetHistory() {
        const limit = performance.now() - 3000;
        // One that is older stays, to measure from.
        while (history.length > 1 && history[1].time < limit) history.shift();
        if (history.length === 1 && history[0].time < limit) history[0].time = limit;
      }

      function showTypes() {
        forgetHistory();
        fill("types", data.types.rows.map((row) => [
          [row.type, "type"], row.source, [number(row.posts), "number"],
          [rate(row, "posts"), "number"], [number(row.calls), "number"],
          [rate(row, "calls"), "number"], ...losses(row, ["dropped", "skipped", "failed"]),
        ]));
      }

      function showSums() {
        const sums = ["posts", "calls", "dropped", "skipped", "failed"].map((name) => {
          const pair = element("div");
          pair.append(element("dt", name), element("dd", number(data.sums[name] ?? 0)));
          return pair;
        });
        byID("sums").replaceChildren(...sums);
      }

      function showObservers() {
        fill("observers", data.observers.rows.map((row) => [
          [row.place, "place"], row.owner ?? "", row.delivery, [number(row.calls), "number"],
          marked(row.calls ? time(row.own) : "", row.own > row.calls * frame),
          [row.calls ? time(row.mean) : "", "number"], [row.calls ? time(row.worst) : "", "number"],
          marked(row.calls ? time(row.waited) : "", row.waited > frame),
          ...losses(row, ["dropped", "skipped", "failed"]),
        ]));
      }

      function showRegistrations() {
        fill("registrations", data.registrations.rows.map((row) => [
          [row.type, "type"], row.source, row.owner ?? "", row.delivery, [row.place, "place"],
          [number(row.count), "number"], [number(row.aboutSubject), "number"],
          [number(row.waiting), "number"], ...losses(row, ["dropped"]), [number(row.paused), "number"],
        ]));
      }

      function post(row, children) {
        const item = element("li");
        item.append(element("span", "#" + row.number + " ", "faint"));
        item.append(element("span", row.value ?? row.type, "type"));
        if (row.place) item.append(element("span", " from " + row.place, "place"));
        const list = element("ul");
        for (const call of row.calls) {
          const line = element("li");
          line.append(element("span", call.place, "place"));
          line.append(element("span", " took " + time(call.took), "took"));
          line.append(element("span", ", waited " + time(call.waited), "faint"));
          list.append(line);
        }
        if (row.leftOut > 0) list.append(element("li", number(row.leftOut) + " more calls", "faint"));
        for (const child of children.get(row.number) ?? []) list.append(post(child, children));
        if (list.childElementCount > 0) item.append(list);
        return item;
      }

      function showPosts() {
        const known = new Set(data.posts.rows.map((row) => row.number));
        const children = new Map();
        const roots = [];
        for (const row of data.posts.rows) {
          if (!known.has(row.parent)) { roots.push(row); continue; }
          if (!children.has(row.parent)) children.set(row.parent, []);
          children.get(row.parent).push(row);
        }
        const trees = roots.reverse().map((row) => post(row, children));
        const shown = trees.filter((tree) => fits(tree.textContent));
        byID("posts").replaceChildren(...shown);
        byID("posts-count").textContent =
          shown.length === trees.length ? trees.length : shown.length + " of " + trees.length;
      }

      const show = {
        sums: showSums, types: showTypes, observers: showObservers,
        registrations: showRegistrations, posts: showPosts,
      };

      function status(text, lost) {
        if (byID("status").textContent !== text) byID("status").textContent = text;
        byID("status").className = lost ? "lost" : "";
      }

      // While paused there is no connection: the program computes nothing for this page.
      function connect() {
        history = [];
        status("connecting", false);
        source = new EventSource("events");
        source.onopen = () => status("live", false);
        const opened = source;
        opened.onerror = () => {
          status("connection lost; trying again", true);
          // After a refusal a browser does not try again by itself.
          if (opened.readyState !== EventSource.CLOSED) return;
          setTimeout(() => { if (source === opened) connect(); }, 2000);
        };
        for (const name of Object.keys(show)) {
          source.addEventListener(name, (event) => {
            data[name] = JSON.parse(event.data);
            if (name === "types") noteTypes();
            show[name]();
          });
        }
      }

      byID("pause").addEventListener("click", () => {
        const paused = source !== null;
        byID("pause").setAttribute("aria-pressed", String(paused));
        if (!paused) { connect(); return; }
        source.close();
        source = null;
        status("paused", false);
      });
      byID("search").addEventListener("input", () => Object.values(show).forEach((one) => one()));
      // Rates fall while nothing comes.
      setInterval(() => { if (source !== null) showTypes(); }, 1000);
      connect();
      """#
  }
#endif

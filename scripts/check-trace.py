"""Finds the planted faults of Tests/Traced in Perfetto's interface: check-trace.py TRACE SOURCE."""

import pathlib
import socket
import subprocess
import sys
import time

import browser

QUERY = """async (sql) => {
  const result = await window.app.trace.engine.query(sql);
  const rows = [];
  for (const it = result.iter({}); it.valid(); it.next()) {
    const row = {};
    for (const column of result.columns()) {
      const value = it.get(column);
      row[column] = typeof value === 'bigint' ? Number(value) : value;
    }
    rows.push(row);
  }
  return rows;
}"""


def line(source, mark):
    """The line of the source that a comment marks."""
    lines = pathlib.Path(source).read_text().splitlines()
    return next(n for n, text in enumerate(lines, 1) if "planted: " + mark in text)


def expect(condition, what, found):
    """Ends the program if something was not found."""
    if not condition:
        sys.exit(f"error: {what}; found: {found}")
    print("found:", what)


def check(query, source):
    """Asks for each of the faults."""
    # The observer was registered in the line before the one that is marked.
    slow = f"traced/main.swift:{line(source, 'slow') - 1}"
    rows = query(
        "select name, count(*) as calls, max(dur) / 1e6 as worst from slice"
        " where category = 'call' and name not in (select s.name from slice s"
        " join thread_track t on s.track_id = t.id join thread using (utid)"
        " where thread.name like '%in tasks%')"
        " group by name order by sum(dur) desc")
    # Two observers take long; of those that run in threads the planted one takes longest.
    expect(rows[0]["name"] == slow and rows[0]["calls"] == 5 and rows[0]["worst"] >= 12,
           f"the slow observer, {slow}", rows[:3])

    tasks = f"traced/main.swift:{line(source, 'in tasks') - 1}"
    rows = query(
        "select thread.name as thread, thread.is_main_thread as main, count(*) as calls"
        " from slice s join thread_track t on s.track_id = t.id join thread using (utid)"
        f" where s.name = '{tasks}' group by utid")
    expect(sum(row["calls"] for row in rows) == 5
           and all("in tasks" in (row["thread"] or "") and not row["main"] for row in rows),
           f"the observer in tasks, {tasks}, on tracks of its own", rows)
    rows = query("select value from stats where name = 'slice_drop_overlapping_complete_event'")
    expect([row["value"] for row in rows] == [0], "no slice that was dropped", rows)

    rows = query(
        "select extract_arg(arg_set_id, 'args.from') as place, count(*) as posts from slice"
        " where name = 'post TitleChanged' group by place order by place")
    posters = [f"main.swift:{line(source, mark)} " for mark in
               ("the first title", "the second title")]
    expect(len(rows) == 2 and all(row["place"].startswith(poster)
                                  for row, poster in zip(rows, posters)),
           "the two lines that post the title", rows)

    rows = query(
        "select out.name as post, call.name as call from flow"
        " join slice out on flow.slice_out = out.id join slice call on flow.slice_in = call.id"
        f" where call.name = '{slow}'")
    expect(len(rows) == 5 and all(row["post"] == "post LevelChanged" for row in rows),
           "an arrow from each post to its queued call", rows)

    rows = query(
        "select parent.name as parent, child.name as child from slice child"
        " join slice parent on child.parent_id = parent.id where child.name = 'post TitleChanged'")
    expect(len(rows) == 2 and all(row["parent"].startswith("traced/main.swift:") for row in rows),
           "each title's post inside the observer that made it", rows)

    rows = query(
        "select counter_track.name as name, max(value) as most from counter"
        " join counter_track on counter.track_id = counter_track.id group by 1")
    expect(any("waiting on .queue(levels)" in row["name"] and row["most"] >= 1 for row in rows),
           "a counter of what waits on the queue", rows)


def main():
    trace, source = sys.argv[1:]
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    viewer = pathlib.Path(sys.executable).parent / "vizviewer"
    server = subprocess.Popen([viewer, "--server_only", "--port", str(port), trace],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        with browser.chromium() as chromium:
            page = chromium.new_page()
            deadline = time.monotonic() + 300
            while True:
                try:
                    page.goto(f"http://localhost:{port}/")
                    break
                except Exception:  # The server is not there yet.
                    if server.poll() is not None or time.monotonic() > deadline:
                        raise
                    page.wait_for_timeout(100)
            page.wait_for_function(
                "() => window.app && window.app.trace && window.app.trace.engine", timeout=300000)
            check(lambda sql: page.evaluate(QUERY, sql), source)
    finally:
        server.terminate()
    print("The faults are found in Perfetto.")


main()

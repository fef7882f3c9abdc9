#if Page
  /// The style of the page, in light and in dark mode.
  enum PageStyle {
    static let text = """
      :root {
        color-scheme: light dark;
        --back: #f6f7f9; --card: #ffffff; --text: #1b1f24; --faint: #57606a;
        --line: #d8dee4; --mark: #0a58ca; --slow: #a1260d; --bar: #cfe2ff;
      }
      @media (prefers-color-scheme: dark) {
        :root {
          --back: #14171b; --card: #1c2026; --text: #e6e9ed; --faint: #9aa4af;
          --line: #353c45; --mark: #7db4ff; --slow: #ff9a85; --bar: #1d3a63;
        }
      }
      * { box-sizing: border-box; }
      body {
        margin: 0; background: var(--back); color: var(--text);
        font: 14px/1.45 system-ui, -apple-system, "Segoe UI", sans-serif;
      }
      header {
        position: sticky; top: 0; z-index: 1; display: flex; flex-wrap: wrap; gap: 4px 16px;
        align-items: center; padding: 8px 20px; background: var(--card);
        border-bottom: 1px solid var(--line);
      }
      h1 { margin: 0; font-size: 16px; }
      h2 { margin: 0 0 6px; font-size: 14px; }
      .count { color: var(--faint); font-weight: normal; }
      #status { margin: 0; color: var(--faint); }
      #status.lost { color: var(--slow); }
      .tools { display: flex; gap: 8px; align-items: center; margin-left: auto; }
      input, button {
        font: inherit; color: inherit; background: var(--back); padding: 4px 10px;
        border: 1px solid var(--line); border-radius: 6px;
      }
      button { cursor: pointer; }
      button[aria-pressed="true"] { border-color: var(--mark); color: var(--mark); }
      :focus-visible { outline: 2px solid var(--mark); outline-offset: 1px; }
      main { display: grid; gap: 16px; padding: 16px 20px; }
      section {
        min-width: 0; background: var(--card); border: 1px solid var(--line); border-radius: 8px;
        padding: 12px 14px;
      }
      .scroll { overflow: auto; max-height: 22rem; }
      dl { display: flex; flex-wrap: wrap; gap: 8px 28px; margin: 0; }
      dl div { display: flex; gap: 8px; align-items: baseline; }
      dt { color: var(--faint); }
      dd { margin: 0; font-size: 18px; font-variant-numeric: tabular-nums; }
      table { border-collapse: collapse; width: 100%; }
      th, td {
        padding: 3px 14px 3px 0; text-align: left; white-space: nowrap; vertical-align: top;
        border-bottom: 1px solid var(--line);
      }
      th {
        position: sticky; top: 0; background: var(--card); color: var(--faint); font-weight: 500;
      }
      th.number, td.number { text-align: right; font-variant-numeric: tabular-nums; }
      .place, .type { font-family: ui-monospace, "DejaVu Sans Mono", monospace; font-size: 12.5px; }
      td.marked { color: var(--slow); font-weight: 600; }
      ul { list-style: none; margin: 0; padding: 0; }
      ul ul { padding-left: 18px; border-left: 2px solid var(--bar); margin-left: 4px; }
      #posts > li { padding: 4px 0; border-bottom: 1px solid var(--line); }
      .type { font-weight: 600; }
      li .place, .faint { color: var(--faint); }
      .took { color: var(--text); font-variant-numeric: tabular-nums; }
      """
  }
#endif

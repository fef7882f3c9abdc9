#if Page
  /// The page: one HTML file that loads no other.
  enum PageDocument {
    static func html(nonce: String) -> String {
      """
      <!DOCTYPE html>
      <html lang="en">
      <head>
      <meta charset="utf-8">
      <meta name="viewport" content="width=device-width, initial-scale=1">
      <meta name="color-scheme" content="light dark">
      <title>Campanile Inspector</title>
      <link rel="icon" href="data:,">
      <style nonce="\(nonce)">
      \(PageStyle.text)
      </style>
      </head>
      <body>
      <header>
      <h1>Campanile Inspector</h1>
      <p id="status" role="status">connecting</p>
      <div class="tools">
      <label for="search">Search</label>
      <input id="search" type="search" autocomplete="off" spellcheck="false">
      <button id="pause" type="button" aria-pressed="false">Pause</button>
      </div>
      </header>
      <main>
      <dl id="sums"></dl>
      \(tables)
      <section aria-labelledby="posts-title">
      <h2 id="posts-title">Last posts <span class="count" id="posts-count"></span></h2>
      <div class="scroll" tabindex="0" role="region" aria-labelledby="posts-title">
      <ul id="posts"></ul>
      </div>
      </section>
      </main>
      <script nonce="\(nonce)">
      \(PageScript.text)
      </script>
      </body>
      </html>

      """
    }

    private static var tables: String {
      let types = table(
        "types", "What is posted", texts: ["Type", "Source"],
        numbers: ["Posts", "Posts/s", "Calls", "Calls/s", "Dropped", "Skipped", "Failed"])
      let observers = table(
        "observers", "Slow observers", texts: ["Observer", "Owner", "Delivery"],
        numbers: [
          "Calls", "Own time", "Mean", "Worst", "Longest wait", "Dropped", "Skipped", "Failed",
        ])
      let registrations = table(
        "registrations", "Registrations",
        texts: ["Type", "Source", "Owner", "Delivery", "Place"],
        numbers: ["Count", "One subject", "Waiting", "Dropped", "Paused"])
      return [types, observers, registrations].joined(separator: "\n")
    }

    /// A table without rows.
    ///
    /// The first columns contain text, and the others numbers.
    private static func table(
      _ name: String, _ title: String, texts: [String], numbers: [String]
    ) -> String {
      let cells =
        texts.map { "<th scope=\"col\">\($0)</th>" }
        + numbers.map { "<th scope=\"col\" class=\"number\">\($0)</th>" }
      return """
        <section aria-labelledby="\(name)-title">
        <h2 id="\(name)-title">\(title) <span class="count" id="\(name)-count"></span></h2>
        <div class="scroll" tabindex="0" role="region" aria-labelledby="\(name)-title">
        <table>
        <thead><tr>\(cells.joined())</tr></thead>
        <tbody id="\(name)"></tbody>
        </table>
        </div>
        </section>
        """
    }
  }
#endif

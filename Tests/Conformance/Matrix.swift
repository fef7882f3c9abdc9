/// What became of every scenario with every implementation.
struct Matrix: Sendable {
  struct Row: Sendable {
    let scenario: Scenario
    /// In the order of ``Implementation/all``.
    let verdicts: [Verdict]
  }

  let rows: [Row]

  /// Plays everything.
  static func make() -> Matrix {
    let scenarios = Scenario.all.enumerated().sorted {
      ($0.element.promise, $0.offset) < ($1.element.promise, $1.offset)
    }
    return Matrix(
      rows: scenarios.map { _, scenario in
        Row(
          scenario: scenario, verdicts: Implementation.all.map { scenario.verdict(on: $0) })
      })
  }

  /// The matrix as a Markdown table, and below it how each promise is broken that is.
  var markdown: String {
    var lines = [
      "| | promise | " + Implementation.all.map(\.name).joined(separator: " | ") + " |",
      "|" + String(repeating: "---|", count: Implementation.all.count + 2),
    ]
    for row in rows {
      let cells = row.verdicts.map(\.cell).joined(separator: " | ")
      lines.append("| K\(row.scenario.promise) | \(row.scenario.sentence) | \(cells) |")
    }
    lines.append("")
    for (index, implementation) in Implementation.all.enumerated() {
      let broken = rows.compactMap { row -> String? in
        guard case .broken(let sentence) = row.verdicts[index] else { return nil }
        return "- K\(row.scenario.promise), \(row.scenario.sentence): \(sentence)."
      }
      if broken.isEmpty { continue }
      lines += ["**\(implementation.name)** breaks:", ""] + broken + [""]
    }
    return lines.joined(separator: "\n")
  }
}

extension Verdict {
  fileprivate var cell: String {
    switch self {
    case .kept: "kept"
    case .broken: "**broken**"
    case .notApplicable: "–"
    }
  }
}

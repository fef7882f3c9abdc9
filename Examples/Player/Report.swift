/// The table at the end: what was posted or set, how often and where each observer was called, and
/// what the numbers count.
struct Report {
  let posted: [Tally]
  let observers: [Tally]

  var lines: [String] {
    ["", row("posted or set", "times", "what is counted")]
      + posted.map { row($0.name, "\($0.count)", $0.counts) }
      + ["", row("observer", "calls", column("ran on", "what is counted"))]
      + observers.map { tally in
        row(
          tally.name, "\(tally.count)",
          column(tally.places.joined(separator: ", "), tally.counts))
      } + [""]
  }

  private func row(_ name: String, _ count: String, _ rest: String) -> String {
    name + spaces(26 - name.count - count.count) + count + "  " + rest
  }

  private func column(_ place: String, _ counts: String) -> String {
    place + spaces(16 - place.count) + "  " + counts
  }

  private func spaces(_ count: Int) -> String { String(repeating: " ", count: max(0, count)) }
}

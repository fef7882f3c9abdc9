/// The lines that are printed.
enum Table {
  static let header = """
    Each rival's time over ours, with the middle half of the rounds in brackets.

    \(line("case", "ns", "allocs", ""))
    """

  /// The lines of one case: what is ours, then the rivals, as many to a line as fit.
  static func lines(_ result: CaseResult) -> String {
    var cells = result.rivals.map { rival in
      let spread = "\(number(rival.spread.lowerBound))-\(number(rival.spread.upperBound))"
      let bytes = rival.bytes.map { ", \(number($0)) bytes" } ?? ""
      return "\(rival.name) \(number(rival.ratio))x (\(spread))\(bytes)"
    }
    if let bytes = result.bytes { cells.insert("\(number(bytes)) bytes", at: 0) }
    cells += result.notes
    var rows: [String] = [""]
    for cell in cells {
      let row = rows[rows.count - 1]
      if row.isEmpty {
        rows[rows.count - 1] = cell
      } else if row.count + cell.count + 3 <= 100 {
        rows[rows.count - 1] = "\(row) | \(cell)"
      } else {
        rows.append(cell)
      }
    }
    let allocations = result.allocations.map(number) ?? "-"
    let first = line(result.name, number(result.nanoseconds), allocations, rows[0])
    return ([first] + rows.dropFirst().map { line("", "", "", $0) }).joined(separator: "\n")
  }

  /// A number with about three digits that matter.
  static func number(_ value: Double) -> String {
    let magnitude = value.magnitude
    if magnitude >= 100 || value == value.rounded() { return "\(Int(value.rounded()))" }
    let factor = magnitude >= 10 ? 10.0 : magnitude >= 0.1 ? 100.0 : 1_000.0
    let rounded = (value * factor).rounded() / factor
    return rounded == rounded.rounded() ? "\(Int(rounded))" : "\(rounded)"
  }

  private static func line(
    _ name: String, _ nanoseconds: String, _ allocations: String, _ rest: String
  ) -> String {
    let columns = [left(name, 54), right(nanoseconds, 10), right(allocations, 8), "  " + rest]
    let line = columns.joined()
    return String(line.reversed().drop { $0 == " " }.reversed())
  }

  private static func left(_ text: String, _ width: Int) -> String {
    text + String(repeating: " ", count: max(1, width - text.count))
  }

  private static func right(_ text: String, _ width: Int) -> String {
    String(repeating: " ", count: max(1, width - text.count)) + text
  }
}

/// The size of a terminal, in characters.
struct TerminalSize: Equatable {
  var columns = 80
  var rows = 24
}

/// A few lines that are drawn in place, over those drawn before.
///
/// Moving the cursor back takes the number of rows that the lines fill. So no line may wrap, and no line
/// may scroll away: lines are cut at the terminal's width, and lines beyond its height are left out.
struct Picture {
  private(set) var lines: [String] = []

  /// Replaces the lines by as much of `new` as fits.
  ///
  /// - Returns: What to write.
  mutating func redraw(_ new: [String], in size: TerminalSize) -> String {
    draw(new, below: [], in: size)
  }

  /// Puts a line that stays above the lines.
  ///
  /// - Returns: What to write.
  mutating func insert(_ line: String, in size: TerminalSize) -> String {
    // The terminal may have become narrower, so that the lines are cut once more.
    draw(lines, below: [line], in: size)
  }

  /// Leaves the lines where they are.
  mutating func forget() { lines = [] }

  private mutating func draw(
    _ new: [String], below lasting: [String], in size: TerminalSize
  ) -> String {
    let oldRows = lines.reduce(0) { $0 + rowCount($1, in: size) }
    // The last column stays empty: after a character there, some terminals are in the next row.
    let width = max(1, size.columns - 1)
    lines = new.prefix(max(1, size.rows - 1)).map { String($0.prefix(width)) }
    let all = lasting + lines
    if oldRows == 0 { return all.map { $0 + "\n" }.joined() }
    var text = "\u{1B}[\(oldRows)A\r"
    for line in all {
      // What was there is erased behind the line, unless the line fills its rows.
      let isFull = !line.isEmpty && line.count.isMultiple(of: max(1, size.columns))
      text += line + (isFull ? "\n" : "\u{1B}[K\n")
    }
    let newRows = all.reduce(0) { $0 + rowCount($1, in: size) }
    return newRows < oldRows ? text + "\u{1B}[J" : text
  }

  /// How many rows a line fills: a terminal that has become narrower breaks the lines that it shows.
  private func rowCount(_ line: String, in size: TerminalSize) -> Int {
    let columns = max(1, size.columns)
    return max(1, (line.count + columns - 1) / columns)
  }
}

/// The size of a terminal, in characters.
struct TerminalSize: Equatable {
  var columns = 80
  var rows = 24
}

/// A few lines that are redrawn in place.
///
/// To redraw them, the cursor moves up by the number of rows that the lines fill. So no line may
/// wrap or scroll away. Lines are cut at the terminal's width, and lines beyond its height are left
/// out.
struct Picture {
  private(set) var lines: [String] = []

  /// Replaces the lines with as many of `new` as fit.
  ///
  /// - Returns: The text to write.
  mutating func redraw(_ new: [String], in size: TerminalSize) -> String {
    draw(new, below: [], in: size)
  }

  /// Inserts a permanent line above the lines.
  ///
  /// - Returns: The text to write.
  mutating func insert(_ line: String, in size: TerminalSize) -> String {
    // The terminal may have become narrower, so the lines are cut again.
    draw(lines, below: [line], in: size)
  }

  /// Leaves the lines where they are.
  mutating func forget() { lines = [] }

  private mutating func draw(
    _ new: [String], below lasting: [String], in size: TerminalSize
  ) -> String {
    let oldRows = lines.reduce(0) { $0 + rowCount($1, in: size) }
    // The last column stays empty: after a character there, some terminals move to the next row.
    let width = max(1, size.columns - 1)
    lines = new.prefix(max(1, size.rows - 1)).map { String($0.prefix(width)) }
    let all = lasting + lines
    if oldRows == 0 { return all.map { $0 + "\n" }.joined() }
    var text = "\u{1B}[\(oldRows)A\r"
    for line in all {
      // The rest of the row is erased, unless the line fills it.
      let isFull = !line.isEmpty && line.count.isMultiple(of: max(1, size.columns))
      text += line + (isFull ? "\n" : "\u{1B}[K\n")
    }
    let newRows = all.reduce(0) { $0 + rowCount($1, in: size) }
    return newRows < oldRows ? text + "\u{1B}[J" : text
  }

  /// The number of rows that a line fills.
  ///
  /// A terminal that has become narrower wraps the lines.
  private func rowCount(_ line: String, in size: TerminalSize) -> Int {
    let columns = max(1, size.columns)
    return max(1, (line.count + columns - 1) / columns)
  }
}

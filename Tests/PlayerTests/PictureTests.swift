import Testing

@testable import player

@Suite("Picture")
struct PictureTests {
  private let lines = ["playing [####]", "level [#]", "album screen 3"]
  private let erase = "\u{1B}[K\n"
  private func up(_ rows: Int) -> String { "\u{1B}[\(rows)A\r" }

  @Test("The first picture is written as it is, the next one over it")
  func redraws() {
    var picture = Picture()
    let size = TerminalSize()
    #expect(picture.redraw(lines, in: size) == lines.map { $0 + "\n" }.joined())
    #expect(picture.redraw(["a"], in: size) == up(3) + "a" + erase + "\u{1B}[J")
    #expect(picture.redraw(["b", "c"], in: size) == up(1) + "b" + erase + "c" + erase)
  }

  @Test("No line is as wide as the terminal", arguments: [1, 2, 5, 14, 15, 80])
  func width(columns: Int) {
    var picture = Picture()
    _ = picture.redraw(lines, in: TerminalSize(columns: columns, rows: 24))
    #expect(picture.lines.count == 3)
    for (drawn, line) in zip(picture.lines, lines) {
      #expect(drawn == line.prefix(max(1, columns - 1)))
    }
  }

  @Test("There are fewer lines than the terminal has rows", arguments: [1, 2, 3, 4, 24])
  func height(rows: Int) {
    var picture = Picture()
    _ = picture.redraw(lines, in: TerminalSize(columns: 80, rows: rows))
    #expect(picture.lines == Array(lines.prefix(max(1, rows - 1))))
  }

  @Test("On a terminal that has become narrower, all rows that the lines fill now are drawn over")
  func narrower() {
    var picture = Picture()
    _ = picture.redraw(lines, in: TerminalSize(columns: 80, rows: 24))
    // 14, 9 and 14 characters fill 3, 2 and 3 rows of 6.
    let narrow = TerminalSize(columns: 6, rows: 24)
    let cut = "playi" + erase + "level" + erase + "album" + erase
    #expect(picture.redraw(lines, in: narrow) == up(8) + cut + "\u{1B}[J")
    #expect(picture.redraw(lines, in: TerminalSize()).hasPrefix(up(3) + "playing"))
  }

  @Test("A line that stays is put above the picture, which is cut to the width of that moment")
  func inserts() {
    var picture = Picture()
    #expect(picture.insert("first", in: TerminalSize()) == "first\n")
    _ = picture.redraw(["0123456789"], in: TerminalSize())
    // The picture fills two rows of 5; a line of 10 fills its two rows to the last column.
    let narrow = TerminalSize(columns: 5, rows: 24)
    #expect(picture.insert("ten chars!", in: narrow) == up(2) + "ten chars!\n0123" + erase)
    picture.forget()
    #expect(picture.insert("end", in: narrow) == "end\n")
  }

  @Test("Only a terminal that moves its cursor is drawn on")
  func kinds() {
    #expect(["xterm-256color", "screen", "linux"].allSatisfy { Display.canMoveCursor($0) })
    #expect([nil, "", "dumb"].allSatisfy { !Display.canMoveCursor($0) })
  }
}

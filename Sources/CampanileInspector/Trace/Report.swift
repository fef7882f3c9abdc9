/// Rows that are printed one a line.
public struct Report<Row: Sendable & CustomStringConvertible>: RandomAccessCollection, Sendable,
  CustomStringConvertible
{
  private let rows: [Row]

  init(_ rows: [Row]) { self.rows = rows }

  /// The index of the first row.
  public var startIndex: Int { 0 }
  /// The number of rows.
  public var endIndex: Int { rows.count }
  /// The row at an index.
  public subscript(index: Int) -> Row { rows[index] }

  /// The rows, one a line.
  public var description: String { rows.map(\.description).joined(separator: "\n") }
}

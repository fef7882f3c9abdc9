/// The references between the values of a binary property list.
///
/// Values may refer to the same array, and the arrays in it to the same ones. Foundation makes a value for
/// each reference: some hundred bytes could fill the memory.
///
/// The format is described in the source of Apple's CoreFoundation, in `CFBinaryPList.c`.
struct BinaryPropertyList {
  /// The greatest size of a list.
  ///
  /// A list of a megabyte is smaller if nothing in it is referred to twice.
  static let greatestSize = 1 << 20
  /// That of Foundation on most platforms.
  static let greatestDepth = 512
  private static let trailerSize = 32

  private let bytes: [UInt8]
  private let offsetSize: Int
  private let referenceSize: Int
  private let offsetTable: Int
  /// The size of each object, once known.
  ///
  /// An object counts one, and more if it is long. What it refers to is added, each time.
  private var sizes: [Int?]
  /// The number of references that have been read.
  private(set) var readCount = 0

  /// Checks that Foundation makes no more of a list than memory can hold.
  ///
  /// - Throws: A `DistributedPostError` if the list is too large or too deep, or if a reference leads
  ///   nowhere.
  static func check(_ bytes: [UInt8]) throws(DistributedPostError) {
    var list = try BinaryPropertyList(bytes)
    try list.check()
  }

  mutating func check() throws(DistributedPostError) {
    _ = try size(of: try integer(at: bytes.count - 16, of: 8), depth: 0)
  }

  init(_ bytes: [UInt8]) throws(DistributedPostError) {
    guard bytes.count >= Self.trailerSize else { throw Self.noList }
    self.bytes = bytes
    offsetSize = Int(bytes[bytes.count - 26])
    referenceSize = Int(bytes[bytes.count - 25])
    let objectCount = try Self.integer(in: bytes, at: bytes.count - 24, of: 8)
    offsetTable = try Self.integer(in: bytes, at: bytes.count - 8, of: 8)
    // Each object has an offset in the table.
    guard offsetTable <= bytes.count, objectCount <= bytes.count else { throw Self.noList }
    sizes = Array(repeating: nil, count: objectCount)
  }

  private static let noList = DistributedPostError("A notification is a binary property list.")
  static let tooLarge = DistributedPostError(
    "A notification has more than \(greatestSize) values. Each counts as often as it is referred to, "
      + "and one more for every 16 bytes of a string or of data.")
  static let tooDeep = DistributedPostError(
    "A notification has values nested deeper than \(greatestDepth) levels.")

  /// An integer, its most significant byte first.
  private static func integer(
    in bytes: [UInt8], at place: Int, of size: Int
  ) throws(DistributedPostError) -> Int {
    guard 1...8 ~= size, 0...(bytes.count - size) ~= place else { throw noList }
    let value = bytes[place..<place + size].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    guard let value = Int(exactly: value) else { throw noList }
    return value
  }

  private func integer(at place: Int, of size: Int) throws(DistributedPostError) -> Int {
    try Self.integer(in: bytes, at: place, of: size)
  }

  /// The size of an object with all that it refers to.
  private mutating func size(of object: Int, depth: Int) throws(DistributedPostError) -> Int {
    guard sizes.indices.contains(object) else { throw Self.noList }
    if let known = sizes[object] { return known }
    guard depth <= Self.greatestDepth else { throw Self.tooDeep }
    let (own, place, references) = try content(of: object)
    var sum = own
    for index in 0..<references {
      // Also of objects that refer to themselves.
      readCount += 1
      guard readCount <= Self.greatestSize else { throw Self.tooLarge }
      let other = try integer(at: place + index * referenceSize, of: referenceSize)
      sum += try size(of: other, depth: depth + 1)
      guard sum <= Self.greatestSize else { throw Self.tooLarge }
    }
    sizes[object] = sum
    return sum
  }

  /// The size of an object alone, where its references begin, and how many it has.
  private func content(
    of object: Int
  ) throws(DistributedPostError) -> (size: Int, place: Int, references: Int) {
    let place = try integer(at: offsetTable + object * offsetSize, of: offsetSize)
    let marker = try integer(at: place, of: 1)
    let kind = marker >> 4
    // Numbers, dates and the like.
    guard 0x4...0x6 ~= kind || 0xA...0xD ~= kind else { return (1, place, 0) }
    let (count, first) = try count(marker, at: place)
    switch kind {
    // Data and texts are copied for each reference; UTF-16 has two bytes an element.
    case 0x4, 0x5: return (1 + count / 16, first, 0)
    case 0x6: return (1 + count / 8, first, 0)
    case 0xD: return (1, first, 2 * count)
    default: return (1, first, count)
    }
  }

  /// The number of elements of an object, and where they begin.
  private func count(
    _ marker: Int, at place: Int
  ) throws(DistributedPostError) -> (count: Int, first: Int) {
    var (count, first) = (marker & 0xF, place + 1)
    if count == 0xF {
      // An integer follows, with the binary logarithm of its size.
      let size = try integer(at: first, of: 1)
      guard size >> 4 == 1 else { throw Self.noList }
      count = try integer(at: first + 1, of: 1 << (size & 0xF))
      first += 1 + 1 << (size & 0xF)
    }
    guard count <= bytes.count else { throw Self.noList }
    return (count, first)
  }
}
